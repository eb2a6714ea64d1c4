"""Stepping through a recorded run, forwards and back, with one-letter commands.

Law 1. The state after a step is computed by repeating the run up to it, so going back is exact.
Law 2. An answer never has more than LINE_COUNT_MAX lines.
Law 3. An impossible command is refused with one line, and the current step stays the same.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final

from umi_sim.explain import why, why_page
from umi_sim.explain.playback import Course, PausedRun, Playback, look
from umi_sim.explain.records import in_column
from umi_sim.kernel.literals import literal
from umi_sim.kernel.report import Line, Report, row
from umi_sim.kernel.wording import cut, escape_text, group_digits
from umi_sim.record.state_tree import Branch, NoSuchPath, Tree, TreeChange, changes, describe_tree
from umi_sim.seedfile.files import SeedFile

Shown = str | Line
LINE_COUNT_MAX: Final = 30
HANG: Final = 4
LINE_CHARS_MAX: Final = 160
VALUE_CHARS_MAX: Final = 2_000  # a value is shown in full, unless it would fill the screen by itself
NAME_COLUMN_MAX: Final = 32

HELP: Final = {
    "n [COUNT]": "the next step; so does an empty line", "p [COUNT]": "the step before",
    "g STEP": "go to a step; 0 is before the first",
    "e EVENT": "go to the step that delivers an event, such as o7/commit#1, or that sent it",
    "s [PATH]": "the state after this step: memory, storage, oracle, world, config",
    "d": "what this step changed", "f PATH": "go to the next step that changes what stands at a path",
    "w": "why: what the failure needs", "q": "quit",
}  # fmt: skip


class CannotDo(ValueError):
    """A command that makes no sense here; the message is one line."""


class Stepper:
    """The step of a run that the user looks at."""

    def __init__(self, playback: Playback, seed: SeedFile | None = None) -> None:
        self.step = 0
        self.is_over = False
        self._playback = playback
        self._seed = seed
        self._paused: PausedRun | None = None
        self._commands: dict[str, Callable[[str], Iterator[Shown]]] = {
            "n": self.next, "p": self.previous, "g": self.go, "e": self.event, "s": self.state,
            "d": self.delta, "f": self.find, "w": self.why, "q": self.quit, "h": self.help, "?": self.help,
        }  # fmt: skip

    @cached_property
    def course(self) -> Course:
        return self._playback.course()

    @property
    def step_count(self) -> int:
        return len(self.course.events)

    @property
    def paused(self) -> PausedRun:
        if self._paused is None:
            self._paused = self._playback.at(self.step)
        return self._paused

    def prompt(self) -> str:
        """Return the prompt: 31/412 o7/commit#1>"""
        event = self.course.events[self.step - 1] if self.step else "start"
        return escape_text(f"{self.step}/{self.step_count} {cut(event, LINE_CHARS_MAX)}> ")

    def do(self, line: str) -> tuple[Report, bool]:
        """Carry out a command; return its output, and False if that was impossible."""
        words = line.split(maxsplit=1) or ["n"]
        name, rest = words[0], words[1].strip() if len(words) > 1 else ""
        try:
            if name not in self._commands:
                raise CannotDo(f"{cut(name)}: no such command; h lists them")
            lines = list(self._commands[name](rest))
        except (CannotDo, NoSuchPath) as error:
            return Report(cut(str(error), VALUE_CHARS_MAX)), False
        return Report("", limit_lines([line_of(each) for each in lines])), True

    # Moving.

    def next(self, rest: str) -> Iterator[Shown]:
        return self.go(str(self.step + number_in(rest or "1")))

    def previous(self, rest: str) -> Iterator[Shown]:
        return self.go(str(self.step - number_in(rest or "1")))

    def go(self, rest: str) -> Iterator[Shown]:
        step = number_in(rest)
        if not 0 <= step <= self.step_count:
            raise CannotDo(f"there is no step {step}: the run has steps 0 to {self.step_count}")
        if step != self.step:
            self.step, self._paused = step, None
        yield from self.here()

    def event(self, rest: str) -> Iterator[Shown]:
        if not rest:
            raise CannotDo("write the name of an event, such as e o7/commit#1")
        events = self.course.events
        # Try delivered events first: "o7/commit#1" more often means its answer than the step that sent it.
        step = events.index(rest) + 1 if rest in events else self.course.sent.get(rest)
        if step is None:
            near = [event for event in dict.fromkeys(events) if event.startswith(rest)][:5]
            raise CannotDo(f"{cut(rest)}: no such event{'; there are ' + ', '.join(near) if near else ''}")
        yield from self.go(str(step))

    def find(self, rest: str) -> Iterator[Shown]:
        if not rest:
            raise CannotDo("write a path, such as f memory.a.counters")
        step = self._playback.first_change(rest, self.step)
        if step is None:
            look(self.paused.run, rest)  # raises NoSuchPath if there is no such path
            yield f"{cut(rest)} does not change after step {self.step}"
            return
        yield from self.go(str(step))
        yield from (
            str(it) for it in self.list_changes() if it.path == rest or it.path.startswith(f"{rest}.")
        )

    def here(self) -> Iterator[Shown]:
        """Return the records of the step, and the failure if this is the failing step."""
        for record in self.paused.records:
            yield f"{group_digits(int(str(record[1]))):>12} ms {in_column(record)}"
        failure = self.course.failure
        if failure is not None and failure.step == self.step:
            yield f"FAIL {failure.named} at step {failure.step}: {failure.message}"

    # Looking.

    def state(self, rest: str) -> Iterator[Shown]:
        yield from show_tree(look(self.paused.run, rest))

    def delta(self, rest: str) -> Iterator[Shown]:
        found = [str(change) for change in self.list_changes()] if self.step else []
        yield from found or ["nothing"]

    def list_changes(self) -> Iterator[TreeChange]:
        return changes(self.paused.before, look(self.paused.run))

    def why(self, rest: str) -> Iterator[Shown]:
        if self._seed is None:
            raise CannotDo("only a seed file can be asked why; umi-sim run leaves one for a failure")
        try:
            page = why_page.page(why.why(self._seed, 0))
        except why.NothingToExplain as error:
            raise CannotDo(str(error)) from None
        yield from (page.head, *page.lines)

    def help(self, rest: str) -> Iterator[Shown]:
        yield from (row(name, what, column=11) for name, what in HELP.items())

    def quit(self, rest: str) -> Iterator[Shown]:
        self.is_over = True
        return iter(())


def show_tree(tree: Tree) -> Iterator[Shown]:
    """Yield the parts of the value at a path, a line each; a value in full."""
    if not isinstance(tree, Branch):
        yield literal(tree, lambda text: cut(text, VALUE_CHARS_MAX))
    elif not tree.parts:
        yield describe_tree(tree)
    else:
        column = min(NAME_COLUMN_MAX, max(map(len, tree.parts))) + 2
        yield from (row(name, describe_tree(part), column=column) for name, part in tree.parts.items())


def number_in(text: str) -> int:
    """Read a whole number. Raises CannotDo."""
    # int() would also take "1_000", "+5" and digits of other scripts, and run long on very long ones.
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 9:
        raise CannotDo(f"expected a whole number, got {cut(text) or 'nothing'}")
    return int(text)


def line_of(reply: Shown) -> Line:
    return row("", cut(reply, VALUE_CHARS_MAX), hang=HANG, column=0) if isinstance(reply, str) else reply


def limit_lines(lines: Sequence[Line]) -> list[Line]:
    if len(lines) <= LINE_COUNT_MAX:
        return list(lines)
    return [*lines[: LINE_COUNT_MAX - 1], line_of(f"and {len(lines) - LINE_COUNT_MAX + 1} more")]
