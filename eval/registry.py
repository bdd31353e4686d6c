"""The systems that can be named: ours, those of installed packages, and any ``module:Class``.

A factory takes ``SystemOptions`` and returns one system (or several, as the controls do). Ours
are the modules of ``eval.systems``; other packages announce theirs as entry points:

    [project.entry-points."epoche.systems"]
    my_reader = "mypkg.reader:create"
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from eval.system import ClaimOracle, System, SystemOptions
from kg.base.errors import TERMINATED, EpocheError, SystemNotFoundError

AnySystem = System | ClaimOracle
AnyFactory = TypeVar("AnyFactory", bound=Callable[..., Any])

ENTRY_POINT_GROUP = "epoche.systems"

_factories: dict[str, Callable[..., Any]] = {}


def register(name: str) -> Callable[[AnyFactory], AnyFactory]:
    """Registers a factory (a function or a class) under ``name``.

    Its docstring's first line is what ``epoche systems`` shows.

    Raises:
        ValueError: another factory already bears the name.
    """

    def enter(factory: AnyFactory) -> AnyFactory:
        present = _factories.get(name)
        if present is not None and _place(present) != _place(factory):
            raise ValueError(f"two systems are called {name!r}")
        _factories[name] = factory
        return factory

    return enter


def system_names() -> dict[str, str]:
    """All registered names with one line on each, ours first, then those of other packages.

    A package whose entry point cannot be imported is listed with the reason rather than
    breaking the list.
    """
    _load_ours()
    names = {name: _first_line(_factories[name]) for name in _factories}
    for point in _entry_points():
        if point.name not in names:
            try:
                names[point.name] = _first_line(point.load())
            except Exception as error:  # whatever a stranger's import raises
                names[point.name] = f"(cannot be imported: {type(error).__name__}: {error})"
    return names


def make_systems(name: str, options: SystemOptions) -> tuple[AnySystem, ...]:
    """Makes what ``--system`` names.

    Args:
        name: a registered name, or ``module:Class`` / ``module:function``; modules of the current
            folder can be named, as with ``python -m``.
        options: handed to the factory if it takes an argument.

    Raises:
        SystemNotFoundError: no such name; nothing there to import; or what was made is no system.
        EpocheError: whatever the factory refuses (settings, graph, shapes …).
    """
    factory = imported(name) if ":" in name else _registered(name)
    made = made_by(factory, options)
    if isinstance(made, (System, ClaimOracle)):
        systems: tuple[Any, ...] = (made,)
    elif isinstance(made, list | tuple) and made:
        systems = tuple(made)
    else:
        systems = (made,)
    for system in systems:
        _require_system(system, name)
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise SystemNotFoundError(f"two systems of {name} share a name", where=", ".join(names))
    return systems


def _require_system(system: object, name: str) -> None:
    problem = ""
    if not isinstance(system, (System, ClaimOracle)):
        wanted = ("answer(card), or answer_claim(claim)", "params()", "name")
        problem = f"what --system names is no system: it needs {', '.join(wanted)}"
    elif not isinstance(system.name, str) or not system.name.strip():
        problem = "the system's name is not a text"
    if problem:
        raise SystemNotFoundError(
            problem, where=f"{name}: {type(system).__name__}", hint="See docs/adapters.md."
        )


def made_by(factory: Callable[..., Any], options: object) -> Any:
    """Calls a factory with the options if it takes a positional argument, else without.

    An error of the factory's own comes through as it is, with its traceback, for its author to see.

    Args:
        factory: a function, or a class, whose ``create`` goes before its constructor.
        options: what is handed over.

    Raises:
        SystemNotFoundError: the factory calls ``sys.exit``, which would end a run without a word.
    """
    create = getattr(factory, "create", None)
    if inspect.isclass(factory) and callable(create):
        factory = create
    arguments: tuple[object, ...] = (options,)
    try:
        inspect.signature(factory).bind(options)
    except TypeError:
        arguments = ()
    except ValueError:  # a callable written in C that has no signature
        pass
    try:
        return factory(*arguments)
    except SystemExit as stop:
        name = getattr(factory, "__qualname__", type(factory).__name__)
        raise _left(stop, name, "called", "--system", "It must return a system.") from stop


def _left(stop: SystemExit, who: str, when: str, where: str, hint: str) -> SystemNotFoundError:
    """The error for code of somebody's that leaves the program, naming it.

    Raises:
        SystemExit: it was somebody that stopped us, and not that code.
    """
    if stop.code == TERMINATED:
        raise stop
    return SystemNotFoundError(
        f"{who} calls sys.exit({stop.code!r}) when it is {when}", where=where, hint=hint
    )


def _registered(name: str) -> Callable[..., Any]:
    _load_ours(name)
    if name in _factories:
        return _factories[name]
    for point in _entry_points():
        if point.name == name:
            try:
                loaded: Callable[..., Any] = point.load()
            except (ImportError, AttributeError) as error:
                raise SystemNotFoundError(
                    f"system {name} is announced but cannot be imported: {error}",
                    where=point.value,
                    hint="Its package is broken or lacks a dependency; install it again.",
                ) from error
            return loaded
    from rapidfuzz.distance import OSA

    names = sorted(system_names(), key=lambda known: (OSA.distance(name, known), known))
    raise SystemNotFoundError(
        f"no system is called {name!r}",
        where=f"--system {name}",
        hint=f"Nearest first: {', '.join(names)}. Your own: --system mypkg.mod:Class.",
    )


def imported(name: str) -> Callable[..., Any]:
    """The class or function that ``module:Class`` names; modules of the current folder count.

    Raises:
        SystemNotFoundError: there is no such module, or no such thing in it.
        EpocheError: whatever the module raises of that kind when it is imported.
    """
    module_name, _, attribute = name.partition(":")
    where = f"--system {name}"
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        # At the end: a folder of the user's must not shadow the libraries.
        sys.path.append(here)
    try:
        found: Any = importlib.import_module(module_name)
    except EpocheError:
        raise
    except (ImportError, ValueError) as error:  # ValueError: an empty or malformed name
        raise SystemNotFoundError(
            f"module {module_name!r} cannot be imported: {error}",
            where=where,
            hint=f"Looked in installed packages and in {Path.cwd().name}/.",
        ) from error
    except SystemExit as stop:
        hint = 'Put what it runs as a script under `if __name__ == "__main__":`.'
        raise _left(stop, f"module {module_name!r}", "imported", where, hint) from stop
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        own = [
            key
            for key, value in vars(importlib.import_module(module_name)).items()
            if inspect.isclass(value) and value.__module__ == module_name
        ]
        raise SystemNotFoundError(
            f"{module_name} has no class or function {attribute!r}",
            where=where,
            hint=f"It has: {', '.join(own)}." if own else "It defines no class.",
        )
    factory: Callable[..., Any] = found
    return factory


def _load_ours(wanted: str = "") -> None:
    """Imports our systems; only one module if it is named like the system wanted, and has it."""
    import eval.systems

    modules = {found.name for found in pkgutil.iter_modules(eval.systems.__path__)}
    if wanted in modules:
        importlib.import_module(f"eval.systems.{wanted}")
    if wanted not in _factories:
        for module in sorted(modules):
            importlib.import_module(f"eval.systems.{module}")


def _entry_points() -> list[EntryPoint]:
    return sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)


def _first_line(factory: object) -> str:
    lines = (inspect.getdoc(factory) or "").strip().splitlines()
    return lines[0] if lines else ""


def _place(factory: Callable[..., Any]) -> tuple[str, str]:
    # A module imported twice (as a script and by name) registers the same factory twice.
    return getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")
