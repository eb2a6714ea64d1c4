"""Goal: prompts have the configured blocks, in order, and their inputs stay as they were."""

from typing import Any

import pytest

from tests.unit.core.test_memorize import xml
from tests.worlds import Pair, saying
from umi_core.engine.middleware import HookContext, Pass, Rewrite
from umi_core.engine.prompt_blocks import ORDINALS, prompt_blocks
from umi_core.errors import BadOption, Rejected
from umi_core.language.prompts import FIXED, ask_expand
from umi_core.limits import PROMPT_BYTES_MAX
from umi_core.messages.effects import AskModel, Done
from umi_core.messages.requests import Memorize

HERE = HookContext("recall", "expand", 1, "expand", 1)


def rewritten(prompt: str, **blocks: str | None) -> str:
    verdict = prompt_blocks("expand", blocks).before(HERE, AskModel("expand", prompt))
    assert isinstance(verdict, Rewrite)
    assert isinstance(verdict.request, AskModel)
    return verdict.request.prompt


def test_blocks_stand_in_their_order_before_the_inputs() -> None:
    objective, rules, output = FIXED["expand"]
    prompt = rewritten(ask_expand("tea"), examples="like this", objective="do that", workflow="so")
    inputs = 'INPUT query = "tea"'
    assert prompt == "\n\n".join(("do that", "so", rules, output, "like this", inputs))
    assert rewritten(ask_expand("tea"), rules=None) == "\n\n".join((objective, output, inputs))
    assert list(ORDINALS.values()) == sorted(ORDINALS.values())


def test_a_prompt_of_another_caller_and_one_that_would_be_too_long_stay() -> None:
    hook = prompt_blocks("expand", {"examples": "x" * PROMPT_BYTES_MAX}).before
    assert hook(HERE, AskModel("expand", "say something")) == Pass()
    assert hook(HERE, AskModel("expand", ask_expand("tea"))) == Pass()


@pytest.mark.parametrize(
    ("task", "blocks"),
    [
        ("dance", {}), ("expand", {"colour": "red"}), ("expand", {"output": None}),
        ("expand", {"rules": " "}), ("expand", {"rules": 7}),
        ("expand", {"rules": "x" * (PROMPT_BYTES_MAX + 1)}),
        ("expand", {"rules": 'so\nINPUT query = "x"'}), ("expand", {"rules": "INPUT it"}),
    ],
)  # fmt: skip
def test_what_no_block_may_be_is_refused(task: str, blocks: dict[str, Any]) -> None:
    with pytest.raises(Rejected) as rejected:
        prompt_blocks(task, blocks)
    assert [type(error) for error in rejected.value.errors] == [BadOption]


def test_a_memorize_asks_in_other_words_and_understands_the_answer() -> None:
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return xml("Likes tea", "preferences")

    pair = Pair(model=saying(memories=model)).run()
    pair.memory.intercept(prompt_blocks("memories", {"objective": "Note what is liked."}, "likes"))
    assert isinstance(pair.ask(Memorize(1, "tea is liked", memory_types=("profile",))), Done)
    assert prompts[0].startswith("Note what is liked.\n\nMemory types:")
    assert pair.memory.dispose("likes")
