"""Frames: whether code of the target or of the simulator raised an exception."""

from typing import Final

TARGETS: Final = ("umi_core.", "umi_sim.machines.subject.", "umi_sim.machines.process.", "umi_sim.mutants.")
"""An exception from one of these modules is a failure of the target; from any other, of the simulator."""


def is_of_target(raised: BaseException) -> bool:
    return blamed_frame(raised).startswith(TARGETS)


def blamed_frame(raised: BaseException) -> str:
    """Return module and qualified name of the innermost function of umi_core or umi_sim in a traceback.

    For example, a KeyError that numpy raises in a call of storage is blamed on storage, and one that a store
    raises in a call of a subject is blamed on the subject.
    """
    frame, tb = "", raised.__traceback__
    while tb is not None:
        code, module = tb.tb_frame.f_code, str(tb.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in ("umi_core", "umi_sim"):
            frame = f"{module}.{code.co_qualname}"
        tb = tb.tb_next
    return frame
