"""Task expand: a query in other words, as a JSON array of at most two strings."""

import re
from typing import Final

from umi_core.limits import QUERY_BYTES_MAX
from umi_core.text import norm
from umi_sim.kernel.characters import lower, word_matches
from umi_sim.services.model.languages import STOP_WORDS
from umi_sim.services.model.names import name_spans
from umi_sim.services.model.prompts import Inputs, quote_json, whole

STOP_DENSE: Final = re.compile("怎么样|什么|多少|怎么|哪里|哪儿|我们|你们|[的了吗呢吧啊是在有和跟我你谁几]")
PAIRS: Final = tuple(
    tuple(pair.split("="))
    for pair in (
        "job=work buy=purchase car=vehicle house=home phone=mobile trip=journey meeting=appointment "
        "doctor=physician movie=film boss=manager kid=child food=meal error=bug repair=fix begin=start "
        "end=finish letter=mail photo=picture shop=store flat=apartment "
        "arbeit=beruf auto=wagen wohnung=zuhause handy=telefon reise=fahrt treffen=termin arzt=doktor "
        "fehler=problem chef=leiter bild=foto "
        "trabajo=empleo coche=carro piso=apartamento móvil=teléfono viaje=trayecto reunión=cita "
        "médico=doctora fallo=avería jefe=director dinero=plata"
    ).split()
)
SYNONYMS: Final = dict([pair for left, right in PAIRS for pair in ((left, right), (right, left))])
# Each word has one synonym, so no word may be in two pairs; the counts would differ.
assert len(PAIRS) == 40
assert len(SYNONYMS) == 80


def expand(given: Inputs) -> str:
    """Return the query without stop words, and its names with synonyms, if they differ from the query."""
    asked = given.get("query", given.get("text"))
    query = whole(asked if isinstance(asked, str) else "")
    words = [match[0] for match in word_matches(STOP_DENSE.sub(" ", query))]
    bare = " ".join(word for word in words if lower(word) not in STOP_WORDS)
    synonyms = [SYNONYMS[lower(word)] for word in words if lower(word) in SYNONYMS]
    names = (name for _, _, name in name_spans(query) if lower(name) not in STOP_WORDS)
    named = " ".join(dict.fromkeys([*names, *synonyms]))
    found = {norm(text): text for text in (named if synonyms else "", bare)}
    texts = [text for key, text in found.items() if key not in ("", norm(query))]
    return (
        f"[{','.join(quote_json(text) for text in reversed(texts) if len(text.encode()) <= QUERY_BYTES_MAX)}]"
    )
