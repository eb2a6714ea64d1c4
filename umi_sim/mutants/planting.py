"""Planting: change modules for the time of a run.

Law 1. The code that is changed has no switch for it.
Law 2. A function stays the same object and gets another body, so modules that imported it and tables that
       contain it run the new body. Law 3. At the end everything is restored, even after an exception.
Law 4. Caches are emptied, so that results of the original code do not reach changed code, or vice versa.

A value is bound again, so no other module may have imported it by name; tables and their steps are replaced
in the registry instead.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache
from importlib import import_module
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from msgspec import structs

from umi_core.engine.registry import Registry, validate_workflow
from umi_core.engine.workflow import Step, Workflow
from umi_sim.machines.fence import find_renamed
from umi_sim.mutants.edits import CannotPlant, ModuleChange

ABSENT: Final = object()
CACHED: Final = type(lru_cache(len))  # the type of functions with `cache` or `lru_cache`
USED: Final = ("umi_core", "umi_sim.services", "umi_sim.judge", "umi_sim.workload")  # the modules of a run


@contextmanager
def with_changes(changes: tuple[ModuleChange, ...], registry: Registry) -> Iterator[Registry]:
    """Yield the registry with changed tables; all other changes are in place until the block ends."""
    planted = registry
    with ExitStack() as stack:
        known = caches()  # of the unchanged modules: caches of changed ones start empty
        stack.callback(lambda: empty(caches()))  # includes those of modules loaded by the run
        for change in changes:
            module = import_module(change.module)
            for name, code in change.values.items():
                before, after = stack.enter_context(bind_value(module, name, code))
                planted = with_table(planted, before, after)
            for name, code in change.bodies.items():
                stack.enter_context(exchange_body(function_of(module, name), code))
        empty(known)
        yield planted


def caches() -> list[Any]:
    """List all cached functions of the modules that a run uses."""
    used = [module for name, module in sys.modules.items() if name.startswith(USED)]
    return [function for module in used for function in caches_of(module)]


@cache
def caches_of(module: ModuleType) -> tuple[Any, ...]:
    """List the cached functions of a module; they stay the same while a bug is planted."""
    return tuple(value for value in vars(module).values() if isinstance(value, CACHED))


def empty(functions: list[Any]) -> None:
    for function in functions:
        function.cache_clear()


# Functions.


@contextmanager
def exchange_body(function: FunctionType, code: CodeType) -> Iterator[None]:
    before = function.__code__
    try:
        function.__code__ = code
    except ValueError as error:
        raise CannotPlant(f"{function.__module__}: {function.__qualname__}: {error}") from None
    try:
        yield
    finally:
        function.__code__ = before


def function_of(module: ModuleType, qualified: str) -> FunctionType:
    """Return a function or method of a module, also below decorators. Raises CannotPlant."""
    found: Any = module
    for name in qualified.split("."):
        found = vars(found).get(name)
    # The function that a class method, a property or a cached property wraps.
    found = getattr(found, "__func__", getattr(found, "fget", getattr(found, "func", found)))
    function = unwrap(found) if found is not None else None
    if not isinstance(function, FunctionType) or hasattr(found, "cache_clear"):
        raise CannotPlant(f"{module.__name__}: {qualified} is no function whose body can be exchanged")
    return function


# Values.


@contextmanager
def bind_value(module: ModuleType, name: str, code: CodeType) -> Iterator[tuple[object, object]]:
    """Bind the name again until the block ends; yield the value before, or ABSENT, and the value after."""
    names = vars(module)
    before = names.get(name, ABSENT)
    # `from umi_core.limits import PPM` binds a name in the importing module, which would keep the old value.
    if others := importers(module, name, before):
        raise CannotPlant(f"{module.__name__}: {name} cannot change: {others[0]} has imported it")
    try:
        exec(code, names)
        find_renamed.cache_clear()  # the value may be one that the fence replaces
        yield before, names[name]
    finally:
        names.pop(name, None)
        if before is not ABSENT:
            names[name] = before
        find_renamed.cache_clear()


def importers(module: ModuleType, name: str, value: object) -> list[str]:
    """List the modules that imported this value; none for a table, which the registry replaces."""
    if value is ABSENT or isinstance(value, Workflow | Step):
        return []
    ours = [it for it in sys.modules if it.startswith(("umi_core.", "umi_sim.")) and it != module.__name__]
    return [it for it in ours if vars(sys.modules[it]).get(name, ABSENT) is value]


def with_table(registry: Registry, before: object, after: object) -> Registry:
    """Return the registry with the table or step `after` in place of `before`."""
    revisions = dict(registry.revisions)
    for name, (*earlier, latest) in registry.revisions.items():
        if latest is before:
            assert isinstance(after, Workflow)
            revisions[name] = (*earlier, validate_workflow(after))
        elif any(step is before for step in latest.steps):
            assert isinstance(after, Step)
            # Tables may share a step: in each of them it is replaced.
            steps = tuple(after if step is before else step for step in latest.steps)
            revisions[name] = (*earlier, validate_workflow(structs.replace(latest, steps=steps)))
    return structs.replace(registry, revisions=revisions)
