"""Places: where a task waits, in the code of the program and of the library that it waits in."""

import os
import re
import sys
from types import FrameType
from typing import Any, Final

from umi_sim.targets.clocks import NOT_THEIRS
from umi_sim.targets.threads import PACKAGES

OURS: Final = os.path.dirname(__file__)
LIBRARIES: Final = os.path.dirname(os.__file__), OURS
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
AWAITED: Final = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))


def find_place(task: Any) -> str:
    """Return where a task is: the innermost line of the program, and of the library below if there is one."""
    own = library = ""
    at = task.get_coro()
    while at is not None:
        frame, at = look_into(at)
        if frame is None or str(frame.f_globals.get("__name__")).partition(".")[0] in NOT_THEIRS:
            continue
        file = frame.f_code.co_filename
        if any(each in file for each in PACKAGES):
            library = show_place(frame)
        else:
            own, library = show_place(frame), ""
    return ", in ".join(filter(None, (own, library)))


def look_into(awaited: Any) -> tuple[FrameType | None, Any]:
    """Return the frame of what is awaited, and what it awaits itself."""
    for frame, deeper in AWAITED:
        if hasattr(awaited, frame):
            return getattr(awaited, frame), getattr(awaited, deeper)
    return None, None


def is_own(coroutine: Any) -> bool:
    """Return whether a coroutine of the program becomes a task by the program, as it is made now.

    Of the frames that make it, those of the standard library do not count: they are gather and TaskGroup.
    """
    code, maker = getattr(coroutine, "cr_code", None), sys._getframe(1)
    while maker.f_back is not None and is_standard(maker):
        maker = maker.f_back
    return code is not None and not any(
        file.startswith((*LIBRARIES, "<")) or any(each in file for each in PACKAGES)
        for file in (code.co_filename, maker.f_code.co_filename)
    )


def is_standard(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(LIBRARIES) and not any(each in file for each in PACKAGES)


def show_place(frame: FrameType) -> str:
    folder, file = os.path.split(frame.f_code.co_filename)
    is_library = any(each in folder for each in PACKAGES)
    name = f"{os.path.basename(folder)}/{file}" if is_library else file
    return f"{name}:{frame.f_lineno} ({frame.f_code.co_name})"


def name_task(task: Any) -> str:
    """Return the name of a task: main, or its number and the coroutine that it runs."""
    coroutine = task.get_coro()
    name = getattr(coroutine, "__qualname__", None) or type(coroutine).__name__
    return task.title or f"task {task.number} ({name})"


def hide_addresses(text: str) -> str:
    return ADDRESS.sub("", text)
