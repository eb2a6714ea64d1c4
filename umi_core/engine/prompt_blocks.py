"""Prompt blocks: an interceptor that replaces, adds or leaves out fixed blocks in the prompts of one task.

Law 1. Blocks have names and are ordered by ORDINALS; the inputs of a prompt come last and stay unchanged.
Law 2. No replaced block can look like an input, and every prompt states the form of the answer.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import structs

from umi_core.engine.middleware import HookContext, Interceptor, Pass, Rewrite, Verdict
from umi_core.errors import BadOption, Rejected
from umi_core.language.prompts import FIXED
from umi_core.limits import PROMPT_BYTES_MAX
from umi_core.messages.effects import AskModel
from umi_core.text import is_text, show_value, size

ORDINALS: Final = {"objective": 10, "workflow": 20, "rules": 30, "category": 40, "output": 50, "examples": 60}
BUILT_IN: Final = ("objective", "rules", "output")  # the blocks of the built-in prompts, in this order

Blocks = Mapping[str, str | None]


def prompt_blocks(task: str, blocks: Blocks, name: str = "") -> Interceptor:
    """Return an interceptor that puts these blocks into every prompt of the task; None leaves a block out.

    Raises Rejected(BadOption) for an unknown task or block, and for a text that the block must not have.
    """
    if errors := tuple(bad_blocks(task, blocks)):
        raise Rejected(*errors)
    wording: dict[str, str | None] = {**dict(zip(BUILT_IN, FIXED[task], strict=True)), **blocks}
    texts = [
        text for block in sorted(wording, key=ORDINALS.__getitem__) if (text := wording[block]) is not None
    ]
    before, after = "\n\n".join(FIXED[task]), "\n\n".join(texts)

    def put(context: HookContext, request: AskModel) -> Verdict:
        prompt = after + request.prompt.removeprefix(before)
        # A prompt that another hook has rewritten may not begin with the fixed blocks; it is left unchanged.
        is_fitting = request.prompt.startswith(before) and size(prompt) <= PROMPT_BYTES_MAX
        return Rewrite(structs.replace(request, prompt=prompt)) if is_fitting else Pass()

    return Interceptor(name or f"blocks of {task}", before=put, effects=("model",), tasks=(task,))


def bad_blocks(task: str, blocks: Blocks) -> list[BadOption]:
    if task not in FIXED:
        return [BadOption("task", show_value(task), f"one of {' '.join(FIXED)}")]
    problems = [(block, show_value(text), name_requirement(block, text)) for block, text in blocks.items()]
    return [BadOption(block, text, what) for block, text, what in problems if what]


def name_requirement(block: str, text: object) -> str:
    """Return the requirement that this text breaks, for an error message; empty if it breaks none."""
    if block not in ORDINALS:
        return f"one of {' '.join(ORDINALS)}"
    if text is None:
        return "a text, since no answer has a form without it" if block == "output" else ""
    if not is_text(text) or not text.strip() or size(text) > PROMPT_BYTES_MAX:
        return f"a text of at most {PROMPT_BYTES_MAX} bytes that is not blank"
    return "no line that begins with INPUT" if "\nINPUT " in f"\n{text}" else ""
