"""Task route: one row for each entity of the prompt, by the table of types and a few cues."""

from collections.abc import Mapping
from typing import Final

from umi_sim.services.model.cues import TEMPORARY, placed_cues
from umi_sim.services.model.prompts import Inputs, fitting, quote_json, whole

ROUTES_BYTES_MAX: Final = 39_900

BLOCK_OF_TYPE: Final = {
    "self": "persona", "person": "human", "preference": "human", "organization": "facts", "project": "facts",
    "topic": "facts", "location": "facts", "event": "goals", "task": "goals", "note": "scratch",
}  # fmt: skip
PROMOTED_BLOCKS: Final = ("persona", "human")


def route(given: Inputs) -> str:
    """Answer with one row for each entity of the prompt, in order."""
    asked = given.get("entities")
    by_id = {
        entity_id: element
        for element in (asked if isinstance(asked, list) else ())
        if isinstance(element, dict) and isinstance(entity_id := element.get("entity_id"), str)
    }
    rows = (route_row(entity_id, element) for entity_id, element in by_id.items())
    return f"[{','.join(fitting(rows, ROUTES_BYTES_MAX))}]"


def route_row(entity_id: str, element: Mapping[str, object]) -> str:
    """Write one row: the block of the table, or `goals` or `scratch` after a cue of tasks or short time."""
    entity_type = str(element.get("type"))
    block, reason = BLOCK_OF_TYPE.get(entity_type, "scratch"), f"the block of every {quote_json(entity_type)}"
    for _, _, cue in placed_cues(f"{element.get('name')} {element.get('content')}"):
        if entity_type != "self" and (cue.before == "task" or cue.phrase in TEMPORARY):
            block, reason = ("scratch" if cue.phrase in TEMPORARY else "goals"), f'it says "{cue.phrase}"'
    promote = "true" if block in PROMOTED_BLOCKS else "false"
    return (
        f'{{"entity_id":{quote_json(whole(entity_id))},"block":"{block}","promote":{promote},'
        f'"confidence":0.90,"reason":{quote_json(whole(reason))}}}'
    )
