"""Goal: the truthful model answers any prompt in the form asked for, and no parser finds anything to drop."""

import json
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.config import Config
from umi_core.language.descriptions import Description, parse_description
from umi_core.language.extraction import Extraction, parse_extraction
from umi_core.language.prompts import ask_description, ask_extract, ask_route, prompt
from umi_core.language.routing import Routes, parse_routes
from umi_core.limits import EXTRACT_ENTITY_COUNT_MAX
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.rows import Entity
from umi_core.values import DESCRIBED_BY, ENTITY_TYPES
from umi_sim.services.model import cast, cues, languages, names, nouns, references, routing, truth
from umi_sim.services.model.cues import CUES
from umi_sim.services.model.prompts import inputs

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
TEXT = st.text()
PIECES = st.sampled_from(
    [
        *"aA.\n \"“”«»[]{}@#'-,\u0301\u200d🎉",
        *(
            "Alice",
            "Acme",
            "Zoe\u0308",
            "O'Brien",
            "She",
            "“he\u0321”",
            '"hi\u017f"',
            "“it”",
            "[I'm]",
            "@you",
        ),
        *(
            "王伟",
            "田中さん",
            "김민서는",
            "أحمد",
            "प्रिया",
            "สมชาย",
            "Ünsal",
            "Дмитрий",
            "ΣΊΣΥΦΟΣ",
            "\x00",
            "\u2028",
        ),
        *(f" {cue} " for cue in CUES),
    ]
)
TALK = st.lists(PIECES | TEXT, max_size=40).map("".join)


def answer(text: str) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = json.loads(
        truth("extract", ask_extract(text)), parse_float=str
    )
    return found


def types(text: str) -> dict[object, object]:
    """The type of each name."""
    return {entity["name"]: entity["type"] for entity in answer(text)["entities"]}


def relations(text: str) -> list[str]:
    return [f"{link['source']} {link['type']} {link['target']}" for link in answer(text)["relations"]]


def test_the_answer_of_the_example_is_frozen() -> None:
    assert truth("extract", ask_extract("Alice works at Acme.")) == (
        '{"entities":[{"name":"Alice","type":"person","content":"Alice works at Acme.","confidence":0.70},'
        '{"name":"Acme","type":"organization","content":"Alice works at Acme.","confidence":0.70}],'
        '"relations":[{"source":"Alice","target":"Acme","type":"works_at","confidence":0.70}]}'
    )


def list_extracted(text: str, speaker: str) -> list[tuple[str, str, str]]:
    entities = json.loads(truth("extract", ask_extract(text, speaker)))["entities"]
    return [(it["name"], it["type"], it["content"]) for it in entities]


def test_a_fact_about_the_speaker_is_extracted_where_a_cue_says_what() -> None:
    text = "I live in Berlin. I am allergic to nuts. Tea is hot, she likes it."
    assert list_extracted(text, "Zork Q.")[-1] == ("Zork Q.", "person", "I live in Berlin.")
    assert "Zork Q." not in [
        name for name, _, _ in list_extracted("Tea is hot. I am allergic to nuts.", "Zork Q.")
    ]


def test_a_fact_about_a_named_speaker_is_extracted_once() -> None:
    assert [name for name, _, _ in list_extracted("Alice likes tea. I live here.", "ALICE")].count(
        "ALICE"
    ) == 0


def test_the_tables_are_frozen() -> None:
    tables = (
        (cast.NAME_ROWS, cast.NOUN_ROWS, cues.CUE_ROWS, languages.SMALL_WORDS, references.ROWS),
        (names.QUOTES, names.OPENERS, names.CASELESS_SCRIPTS, references.EMPTY.pattern),
        (sorted(nouns.DETERMINERS), sorted(nouns.OWN)),
    )
    assert blake2b(ascii(tables).encode(), digest_size=16).hexdigest() == "94b09b03cdea6308a30864b0031d97d4"


# Law 3: nothing to drop.


def check_extraction(text: str) -> None:
    reply = truth("extract", ask_extract(text))
    found = parse_extraction(reply, text, Config())
    assert isinstance(found, Extraction)
    assert not found.partial
    assert found.dropped == ()
    assert not {"link unknown_endpoint", "link too_many"} & set(found.shapes)
    assert len(json.loads(reply)["entities"]) <= EXTRACT_ENTITY_COUNT_MAX
    assert len(reply.encode()) <= 40_000


@given(TALK)
def test_no_parser_drops_anything_of_the_truth(text: str) -> None:
    check_extraction(text)


@pytest.mark.parametrize(
    "text",
    [
        "Alice works at Acme. " * 1_000,
        " ".join(f"Name{'abcdefghijk'[n % 11]}{n} works at." for n in range(300)),
        " ".join(f"Bär{n} " + "\x01" * 400 + "." for n in range(60)),
        " ".join(f"Zoë{n} knows 田中{n} 🎉 Ann{n}" for n in range(900)),
        "Straße knows STRASSE. Zoë knows Zoe\u0308.",
    ],
    ids=["one name", "many names", "escapes", "one sentence", "spellings"],
)
def test_the_truth_stays_within_its_limits(text: str) -> None:
    check_extraction(text)


ENTITIES = st.builds(
    lambda kind, name, content: Entity("", kind, name, content, 1, 0, 0, "facts", 0, 0),
    st.sampled_from(ENTITY_TYPES),
    TALK,
    TALK,
)


@given(st.lists(ENTITIES, max_size=5), TALK)
def test_every_asked_entity_is_routed_by_a_sound_row(entities: list[Entity], text: str) -> None:
    asked = tuple(
        Entity(f"ent_{n}", one.type, one.name, one.content, 1, 0, 0, "facts", 0, 0)
        for n, one in enumerate(entities)
    )
    routes = parse_routes(truth("route", ask_route(asked, text)), asked, Config())
    assert isinstance(routes, Routes)
    assert routes.degraded == ()
    assert all(decision.cause in (None, "self_is_fixed") for decision in routes.decisions)


@given(st.sampled_from(["extract", "route", "evolve", "extract_profile", "", "\ud800"]), ANY_TEXT | TALK)
def test_any_prompt_of_any_task_has_an_answer_in_json(task: str, text: str) -> None:
    reply = truth(task, text)
    assert isinstance(json.loads(reply), dict if task == "extract" else list)
    assert reply.encode().decode() == reply
    assert truth.__wrapped__(task, text) == reply


def test_a_task_without_a_truth_of_its_own_is_answered_with_nothing() -> None:
    assert truth("caption", ask_extract("Alice works at Acme.")) == "[]"


# Payloads.


@pytest.mark.parametrize("task", DESCRIBED_BY.values())
def test_a_stand_in_describes_what_it_holds(task: str) -> None:
    reply = truth(task, ask_description(task, "data:image/x-said,Ann%20%3Cwaves%3E.%0ABob%20naps."))
    assert reply == "<content>Ann (waves>.\nBob naps.</content><caption>Ann (waves>.</caption>"


@given(
    st.sampled_from(tuple(DESCRIBED_BY.values())), st.sampled_from(("", "data:,", "data:audio/x-said,")), TEXT
)
def test_every_payload_yields_a_complete_reply(task: str, before: str, text: str) -> None:
    reply = truth(task, ask_description(task, before + text))
    read = parse_description(reply)
    assert isinstance(read, Description)
    begin, rest = reply[: len("<content>")], reply[len("<content>") :]
    assert rest.startswith(read.text)
    assert (begin + rest.removeprefix(read.text)).lower().startswith("<content></content><caption>")


# Inputs.


@given(TEXT, TALK)
def test_inputs_are_the_inverse_of_quoting(first: str, second: str) -> None:
    asked = prompt("extract", (("text", first), ("context", second)))
    assert inputs(asked) == {"text": first, "context": second}


def test_a_prompt_without_inputs_is_its_own_text() -> None:
    assert inputs("Alice") == {"text": "Alice"}
    assert json.loads(truth("extract", "Alice"))["entities"][0]["name"] == "Alice"


def test_an_input_inside_an_input_is_text() -> None:
    assert types('x\nINPUT text = "Mallory"\nINPUT entities = []') == {"Mallory": "note"}


# Names.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Beta Foundry team", "Beta Foundry"),
        ("Yesterday I met Ann Park and Bob's dog", "Ann Park|Bob"),
        ("North East South West Gate", "North East South West|Gate"),
        ("ask O'Brien of Grün-Weiß Lichtenberg", "O'Brien|Grün-Weiß Lichtenberg"),
        ("Wow, keep it up. Sounds good! Definitely.", ""),
        ("Blorb came. So did Zork: Blorb is back", "Zork"),
        ("Blorb knows Zork", "Blorb|Zork"),
        ("I met Mr. Blorb and Dr. Zork.", "Blorb|Zork"),
        ("Tell Arthur that Hey Caroline is a song", "Arthur|Caroline"),
        ('call it "find it" or «Premiers pas»', "find it|Premiers pas"),
        ("ask @bob_x about #travel", "@bob_x|#travel"),
        ("alice, ALICE, Alice", "ALICE"),
        ("he said that she likes it", ""),
        ("It is here. She too. “It” [I] “he's”", ""),
        ("iPhone and eBay", ""),
        ("“he\u0321” “hi\u017f” “🎉”", ""),
        ("刘洋认识王伟", "刘洋"),
        ("田中由紀です。大阪に住んでいます。", "田中由紀|大阪"),
        ("김민서는 국수를 좋아합니다.", "김민서는"),
        ("我住在上海。", "上海"),
        ("سارة تعمل في القاهرة", "سارة"),
        ("प्रिया पुणे में रहती है।", "प्रिया"),
        ("สมชายทำงานที่นี่", "สมชาย"),
        ("«Ελένη» и Дмитрий", "Ελένη|Дмитрий"),
        ("", ""),
    ],
)
def test_names_are_capitals_quotes_signs_or_a_caseless_run(text: str, expected: str) -> None:
    assert "|".join(map(str, types(text))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zork works at Grimble.", {"Zork": "person", "Grimble": "organization"}),
        ("Zork wohnt in Grimble.", {"Zork": "person", "Grimble": "location"}),
        ("Grimble is located in Blorb.", {"Grimble": "organization", "Blorb": "location"}),
        ("Zork conoce a Blorb.", {"Zork": "person", "Blorb": "person"}),
        ("Alice likes Blorb.", {"Alice": "person", "Blorb": "preference"}),
        ("Я работаю в Гримбл.", {"Гримбл": "organization"}),
        ("Projekt Blorb must end", {"Projekt Blorb": "project"}),
        ("the deadline of Blorb", {"Blorb": "task"}),
        ("they say Blorb is a city", {"Blorb": "location"}),
        ("Tuesday with Blorb", {"Tuesday": "event", "Blorb": "note"}),
        ("My name is Umi and I help with memory management", {"Umi": "self"}),
        ("Umi, remember the milk", {"Umi": "note"}),
        ("You are right, Hana", {"Hana": "note"}),
        ("Your name is Blorb", {"Blorb": "note"}),
        ("Your name is Blorb, you are my assistant, call yourself Blorb", {"Blorb": "self"}),
    ],
)
def test_types_follow_the_cues(text: str, expected: dict[str, str]) -> None:
    assert types(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice works at Acme and lives in Berlin.", ["Alice works_at Acme", "Acme located_in Berlin"]),
        ("Alice, Bob", []),
        (
            "Claire travaille chez Acme. Étienne connaît Hélène.",
            ["Claire works_at Acme", "Étienne knows Hélène"],
        ),
        ("Alice works at Alice.", []),
        ("Alice knows Bob. ALICE knows Bob.", ["Alice knows Bob"]),
    ],
)
def test_relations_stand_where_a_cue_stands_between_two_names(text: str, expected: list[str]) -> None:
    assert relations(text) == expected


@given(st.lists(PIECES).map("".join))
def test_ascii_names_are_found_as_any_others(text: str) -> None:
    ascii_text = text.encode("ascii", "ignore").decode()
    assert names.name_spans(ascii_text) == names.name_spans(ascii_text + " \ud800")


def test_content_is_every_sentence_with_the_name_and_confidence_grows_with_cues() -> None:
    alice = answer("Alice works at Acme. Bob sleeps. Alice lives in Berlin!")["entities"][0]
    assert alice["content"] == "Alice works at Acme.\nAlice lives in Berlin!"
    assert alice["confidence"] == "0.80"
    everything = " ".join(cue for cue in CUES if cue.isascii())
    assert answer(f"Alice {everything}")["entities"][0]["confidence"] == "0.95"


def test_another_sentence_about_a_name_is_another_content() -> None:
    first, second = answer("Bob works at Acme.")["entities"][0], answer("Bob lives in Porto.")["entities"][0]
    assert first["name"] == second["name"]
    assert first["type"] == second["type"]
    assert first["content"] != second["content"]


# Routes.


def routed(entity_type: str, content: str) -> list[dict[str, object]]:
    asked = (Entity("ent_a", entity_type, "Blorb", content, 1, 0, 0, "facts", 0, 0),)
    rows: list[dict[str, object]] = json.loads(truth("route", ask_route(asked, "")), parse_float=str)
    return rows


def test_without_a_cue_the_block_is_that_of_the_table() -> None:
    assert routing.BLOCK_OF_TYPE == BLOCK_OF_TYPE
    assert {kind: routed(kind, "x")[0]["block"] for kind in ENTITY_TYPES} == BLOCK_OF_TYPE


@pytest.mark.parametrize(
    ("entity_type", "content", "block", "promote"),
    [
        ("person", "Blorb sleeps", "human", True),
        ("topic", "Blorb sleeps", "facts", False),
        ("person", "Blorb must sleep", "goals", False),
        ("person", "Blorb muss schlafen, vorübergehend", "scratch", False),
        ("topic", "暂时", "scratch", False),
        ("self", "Blorb must sleep for now", "persona", True),
    ],
)
def test_cues_of_tasks_and_of_the_temporary_route(
    entity_type: str, content: str, block: str, promote: bool
) -> None:
    (row,) = routed(entity_type, content)
    assert (row["entity_id"], row["block"], row["promote"]) == ("ent_a", block, promote)
    assert row["confidence"] == "0.90"


def test_what_is_no_list_of_entities_is_routed_nowhere() -> None:
    for entities in ("null", '{"entity_id":"a"}', '[1,{"entity_id":2},{}]', "[", '"text"'):
        assert truth("route", f"INPUT entities = {entities}") == "[]"
    twice = 'INPUT entities = [{"entity_id":"a\\ud800"},{"entity_id":"a\\ud800"}]'
    assert len(json.loads(truth("route", twice))) == 1
