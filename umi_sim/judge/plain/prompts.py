"""What a prompt asks about: the inputs that it shows, each in its line, and the words before them."""

import json
from hashlib import blake2b
from typing import Any, Final

FIXED: Final = {
    "extract": "70703f5fe7cda099",
    "route": "aa5b9d112d69daa3",
    "evolve": "06ed703c37145fa2",
    "rewrite": "6ddfb488a09a9cfa",
    "expand": "592ef650b7f2c0fd",
    "memories": "38d8e80b3996ca5c",
    "segment": "07f64da616680610",
    "summarise_category": "1d50feb0bbdcbac1",
    "reflect": "77963917e8200a82",
    "name_subcategory": "9cea83c188362cb9",
    "decide_need": "5cb538f7998e5f61",
    "decide_enough": "b5f0c12de0cb3ee3",
    "rank": "d8b0c04b7d588daa",
    "describe_image": "da572350a5ba7489",
    "transcribe_audio": "e860175129cd20e4",
    "describe_video": "8da91392671d240f",
}
"""By task the digest of its fixed blocks. Whoever changes the words of one writes the new digest here."""


def digest_of(fixed: str) -> str:
    return blake2b(fixed.encode(), digest_size=8).hexdigest()


def asked_about(prompt: str) -> dict[str, Any]:
    """The inputs by name."""
    lines = (line.removeprefix("INPUT ").partition(" = ") for line in prompt.split("\n") if is_input(line))
    return {name: json.loads(value) for name, _, value in lines}


def is_input(line: str) -> bool:
    return line.startswith("INPUT ")
