"""What a prompt asks about: the inputs that it shows, each in its line."""

import json
from typing import Any


def asked_about(prompt: str) -> dict[str, Any]:
    """The inputs by name."""
    lines = (line.removeprefix("INPUT ").partition(" = ") for line in prompt.split("\n") if is_input(line))
    return {name: json.loads(value) for name, _, value in lines}


def is_input(line: str) -> bool:
    return line.startswith("INPUT ")
