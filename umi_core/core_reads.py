"""Reads of the core tier and of the last routing decisions, answered at once from the state."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from umi_core.declared import complete
from umi_core.kelpie.requests import BuildSystemPrompt
from umi_core.kelpie.results import Prompt
from umi_core.messages import requests
from umi_core.messages.effects import Done
from umi_core.state import State
from umi_core.text import size
from umi_core.tiers.rendering import render_markdown, render_tagged, render_xml


def answer(request: requests.CoreRead, state: State) -> Done:
    """Return the outcome of the request, whose fields must be in their domains."""
    return Done(ANSWERS[type(request)](request, state))


def rendering(request: requests.Render, state: State) -> str:
    return (render_xml if request.form == "xml" else render_markdown)(state.tiers.core)


def prompt(request: BuildSystemPrompt, state: State) -> Prompt:
    """Return the system text, a blank line and the rendered core, uncut."""
    core = state.tiers.core
    text = "\n\n".join(part for part in (request.system, FORMS[request.form](core)) if part)
    return Prompt(text, size(text), core.guard_version)


FORMS: Final = {"xml": render_xml, "markdown": render_markdown, "tagged": render_tagged}

ANSWERS: Final[Mapping[type, Callable[[Any, State], object]]] = complete(
    "answer",
    (cls for cls in requests.ALL if issubclass(cls, requests.CoreRead)),
    {
        requests.GetBlock: lambda request, state: state.tiers.core.find(request.kind, request.label),
        requests.Blocks: lambda request, state: state.tiers.core.blocks,
        requests.CoreBytes: lambda request, state: state.tiers.core.used_bytes,
        requests.InCore: lambda request, state: state.tiers.core.locate(request.entity_id) is not None,
        requests.Render: rendering,
        BuildSystemPrompt: prompt,
        requests.LastRoutingDecisions: lambda request, state: state.tiers.decisions,
    },
    "umi_core/core_reads.py",
)
