"""SimLLM's truth: what a flawless model answers, from the task and the prompt alone.

Law 1. Pure: the same task and prompt have the same answer in every seed, process and order.
Law 2. Total: any prompt, in any script, is answered in the form its task asks for.
Law 3. Nothing inside an input chooses the task, and no parser of the memory finds anything to drop.
Law 4. The tables are frozen: a changed cue changes recorded runs.

  prompts      prompts read, answers written
  cues, names  frozen tables: what a phrase tells, what a name looks like
  extraction, routing, evolution, expansion, rewriting    one file per task
  references, phrases, mentions, chinese    what a query refers to, what a talk mentions
  grammar, chinese_words    their frozen tables
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from umi_sim.model.evolution import evolve
from umi_sim.model.expansion import expand
from umi_sim.model.extraction import extract
from umi_sim.model.prompts import Inputs, inputs
from umi_sim.model.rewriting import rewrite
from umi_sim.model.routing import route

__all__ = ["truth"]


@lru_cache(maxsize=256)  # a shrinker asks the same again and again
def truth(task: str, prompt: str) -> str:
    """The truthful answer; an empty array for a task that has none."""
    answer = ANSWERS.get(task)
    return answer(inputs(prompt)) if answer else "[]"


ANSWERS: Final[dict[str, Callable[[Inputs], str]]] = {
    "extract": extract, "route": route, "evolve": evolve, "expand": expand, "rewrite": rewrite,
}  # fmt: skip
