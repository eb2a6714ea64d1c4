"""Places: the line of the program, and of a library below it, at which a task waits."""

import gc
import os
import re
import sys
from types import AsyncGeneratorType, CoroutineType, FrameType
from typing import Any, Final

from umi_sim.targets.clocks import NOT_THEIRS
from umi_sim.targets.threads import PACKAGES

OURS: Final = os.path.dirname(__file__)
LIBRARIES: Final = os.path.dirname(os.__file__), OURS
LOOP: Final = "umi_sim.targets.loop"  # the module whose frames call the callbacks
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
DRIVEN: Final = AsyncGeneratorType, CoroutineType
DRIVERS: Final = "async_generator_asend", "async_generator_athrow", "anext_awaitable", "coroutine_wrapper"
AWAITED: Final = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))


def find_place(task: Any) -> str:
    """Return where a task waits: the innermost line of the program, and of a package below it, if any."""
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


def find_caller() -> str:
    """Return the innermost line of the program on the current stack; "" if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != LOOP:
        if is_of_program(frame):
            return show_place(frame)
        frame = frame.f_back
    return ""


def find_first(error: BaseException) -> BaseException:
    """Return the first error of a group, such as TaskGroup raises; of any other error, itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def find_raised(error: BaseException) -> str:
    """Return the innermost line of the program in the traceback of an error; "" if there is none."""
    at, found = find_first(error).__traceback__, ""
    while at is not None:
        if is_of_program(at.tb_frame):
            found = show_place(at.tb_frame, at.tb_lineno)
        at = at.tb_next
    return found


def is_of_program(frame: FrameType) -> bool:
    module, file = str(frame.f_globals.get("__name__")), frame.f_code.co_filename
    is_foreign = module.partition(".")[0] in NOT_THEIRS or any(each in file for each in PACKAGES)
    return not is_foreign and not file.startswith("<")


def look_into(awaited: Any) -> tuple[FrameType | None, Any]:
    """Return the frame of an awaited object, and the object that it awaits."""
    for frame, deeper in AWAITED:
        if hasattr(awaited, frame):
            return getattr(awaited, frame), getattr(awaited, deeper)
    # `anext(generator)` has no attribute for what it drives, which may be another such object.
    inner = (it for it in gc.get_referents(awaited) if isinstance(it, DRIVEN) or type(it).__name__ in DRIVERS)
    return None, next(inner, None)


def is_own(coroutine: Any) -> bool:
    """Return whether the program itself makes a task now, from a coroutine of its own code.

    Frames of the standard library are skipped: `gather` and TaskGroup make tasks for the program.
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


def show_place(frame: FrameType, line: int = 0) -> str:
    folder, file = os.path.split(frame.f_code.co_filename)
    is_library = any(each in folder for each in PACKAGES)
    name = f"{os.path.basename(folder)}/{file}" if is_library else file
    return f"{name}:{line or frame.f_lineno} ({frame.f_code.co_name})"


def name_task(task: Any) -> str:
    """Return the name of a task: main, or its number and the coroutine that it runs."""
    coroutine = task.get_coro()
    name = getattr(coroutine, "__qualname__", None) or type(coroutine).__name__
    return task.title or f"task {task.number} ({name})"


def hide_addresses(text: str) -> str:
    return ADDRESS.sub("", text)
