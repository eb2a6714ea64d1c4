"""SimLLM's truth: what a flawless model answers, from the task and the prompt alone.

Law 1. Pure: the same task and prompt have the same answer in every seed, process and order.
Law 2. Total: any prompt, in any script, gets an answer in the format of its task.
Law 3. Nothing inside an input chooses the task, and the parsers of the memory accept every part of an answer.
Law 4. The tables are frozen, since a changed cue would change recorded runs.

  prompts    reading prompts, writing answers
  cast, cues, languages    frozen tables: known names and nouns, meanings of phrases, small words
  names, nouns, mentions, references    the names in a text, and the references in a query
  extraction, routing, evolution, expansion, rewriting, memories, segmentation    one file per task
  summaries    summaries, reflections, and names of groups of facts
  descriptions    the content of an image, an audio or a video
  decisions    whether a search is needed, whether its hits are enough, and which of them help most

Names of the workload's cast are looked up, in any language. In other text only quotes, capitals inside a
sentence and a few cues show names and relations; without them the answer is empty.
"""

from collections.abc import Callable
from functools import cache, lru_cache

from umi_sim.services.model.prompts import Inputs, inputs

__all__ = ["truth"]


@lru_cache(maxsize=256)  # shrinking asks the same questions again and again
def truth(task: str, prompt: str) -> str:
    """Return the truthful answer; an empty array for an unknown task."""
    answer = answer_of(task)
    return answer(inputs(prompt)) if answer else "[]"


@cache
def answer_of(task: str) -> Callable[[Inputs], str] | None:
    """Return the function that answers a task, or None; modules with large tables are imported on demand."""
    match task:
        case "extract":
            from umi_sim.services.model.extraction import extract as answer
        case "route":
            from umi_sim.services.model.routing import route as answer
        case "evolve":
            from umi_sim.services.model.evolution import evolve as answer
        case "expand":
            from umi_sim.services.model.expansion import expand as answer
        case "rewrite":
            from umi_sim.services.model.rewriting import rewrite as answer
        case "memories":
            from umi_sim.services.model.memories import memories as answer
        case "summarise_category":
            from umi_sim.services.model.summaries import summarise_category as answer
        case "reflect":
            from umi_sim.services.model.summaries import reflect as answer
        case "name_subcategory":
            from umi_sim.services.model.summaries import name_subcategory as answer
        case "decide_need":
            from umi_sim.services.model.decisions import decide_need as answer
        case "decide_enough":
            from umi_sim.services.model.decisions import decide_enough as answer
        case "rank":
            from umi_sim.services.model.decisions import rank as answer
        case "describe_image" | "transcribe_audio" | "describe_video":
            from umi_sim.services.model.descriptions import describe as answer
        case "segment":
            from umi_sim.services.model.segmentation import segment as answer
        case _:
            return None
    return answer
