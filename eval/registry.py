"""Finds systems by name: built-in ones, those of installed packages, and any ``module:Class``.

A factory takes ``SystemOptions`` and returns one system (or several, as the controls do). Built-in
factories are in the modules of ``eval.systems``; other packages register theirs as entry points:

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
from kg.base.errors import EXIT_TERMINATED, EpocheError, SystemNotFoundError

AnySystem = System | ClaimOracle
AnyFactory = TypeVar("AnyFactory", bound=Callable[..., Any])

ENTRY_POINT_GROUP = "epoche.systems"

_factories: dict[str, Callable[..., Any]] = {}


def register(name: str) -> Callable[[AnyFactory], AnyFactory]:
    """Registers a factory (a function or a class) under ``name``.

    ``epoche systems`` shows the first line of its docstring.

    Raises:
        ValueError: another factory already has the name.
    """

    def add_factory(factory: AnyFactory) -> AnyFactory:
        existing = _factories.get(name)
        if existing is not None and _identify_factory(existing) != _identify_factory(factory):
            raise ValueError(f"two systems are called {name!r}")
        _factories[name] = factory
        return factory

    return add_factory


def system_names() -> dict[str, str]:
    """Returns all registered names with a one-line description, built-in systems first.

    A system whose entry point cannot be imported is listed with the reason.
    """
    _load_builtin_systems()
    names = {name: _get_first_line(_factories[name]) for name in _factories}
    for point in _list_entry_points():
        if point.name not in names:
            try:
                names[point.name] = _get_first_line(point.load())
            except Exception as error:  # importing another package may raise anything
                names[point.name] = f"(cannot be imported: {type(error).__name__}: {error})"
    return names


def make_systems(name: str, options: SystemOptions) -> tuple[AnySystem, ...]:
    """Creates the systems that ``--system`` names.

    Args:
        name: a registered name, or ``module:Class`` / ``module:function``; modules in the current
            folder are found, as with ``python -m``.
        options: passed to the factory if it takes an argument.

    Raises:
        SystemNotFoundError: the name is unknown, cannot be imported, or does not create a system.
        EpocheError: the factory refuses its options, such as a setting or the graph.
    """
    factory = import_factory(name) if ":" in name else _find_registered(name)
    product = call_factory(factory, options)
    if isinstance(product, (System, ClaimOracle)):
        systems: tuple[Any, ...] = (product,)
    elif isinstance(product, list | tuple) and product:
        systems = tuple(product)
    else:
        systems = (product,)
    for system in systems:
        _require_system(system, name)
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise SystemNotFoundError(f"two systems of {name} share a name", where=", ".join(names))
    return systems


def _require_system(system: object, name: str) -> None:
    problem = ""
    if not isinstance(system, (System, ClaimOracle)):
        required = ("answer(card), or answer_claim(claim)", "params()", "name")
        problem = f"what --system names is not a system: it needs {', '.join(required)}"
    elif not isinstance(system.name, str) or not system.name.strip():
        problem = "the system's name is not a text"
    if problem:
        raise SystemNotFoundError(
            problem, where=f"{name}: {type(system).__name__}", hint="See docs/adapters.md."
        )


def call_factory(factory: Callable[..., Any], options: object) -> Any:
    """Calls a factory, with the options if it takes a positional argument.

    Exceptions of the factory itself are not caught, so that its author sees the traceback.

    Args:
        factory: a function or a class; a class's ``create`` takes precedence over its constructor.
        options: passed to the factory.

    Raises:
        SystemNotFoundError: the factory calls ``sys.exit``, which would end the run silently.
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
    except SystemExit as system_exit:
        name = getattr(factory, "__qualname__", type(factory).__name__)
        raise _make_exit_error(
            system_exit, name, "called", "--system", "It must return a system."
        ) from system_exit


def _make_exit_error(
    system_exit: SystemExit, subject: str, action: str, where: str, hint: str
) -> SystemNotFoundError:
    """Builds the error for a user's code that calls ``sys.exit``.

    Args:
        system_exit: the exit that was caught.
        subject: the code that called it, for the message.
        action: what was done with the code, as a participle: ``called`` or ``imported``.
        where: the flag that named the code.
        hint: what to do about it.

    Raises:
        SystemExit: the exit is that of SIGTERM, which stops this program.
    """
    if system_exit.code == EXIT_TERMINATED:
        raise system_exit
    return SystemNotFoundError(
        f"{subject} calls sys.exit({system_exit.code!r}) when it is {action}",
        where=where,
        hint=hint,
    )


def _find_registered(name: str) -> Callable[..., Any]:
    _load_builtin_systems(name)
    if name in _factories:
        return _factories[name]
    for point in _list_entry_points():
        if point.name == name:
            try:
                factory: Callable[..., Any] = point.load()
            except (ImportError, AttributeError) as error:
                raise SystemNotFoundError(
                    f"system {name} is registered but cannot be imported: {error}",
                    where=point.value,
                    hint="Its package is broken or a dependency is missing; install it again.",
                ) from error
            return factory
    from rapidfuzz.distance import OSA

    names = sorted(system_names(), key=lambda candidate: (OSA.distance(name, candidate), candidate))
    raise SystemNotFoundError(
        f"no system is called {name!r}",
        where=f"--system {name}",
        hint=f"Nearest first: {', '.join(names)}. Your own: --system mypkg.mod:Class.",
    )


def import_factory(name: str) -> Callable[..., Any]:
    """Imports the class or function that ``module:Class`` names, also from the current folder.

    Raises:
        SystemNotFoundError: the module cannot be imported, or has no such class or function.
        EpocheError: raised by the module while it is imported.
    """
    module_name, _, attribute = name.partition(":")
    where = f"--system {name}"
    current_folder = str(Path.cwd())
    if current_folder not in sys.path and "" not in sys.path:
        # At the end, so that a folder of the user cannot shadow a library.
        sys.path.append(current_folder)
    try:
        target: Any = importlib.import_module(module_name)
    except EpocheError:
        raise
    except (ImportError, ValueError) as error:  # ValueError: an empty or malformed name
        raise SystemNotFoundError(
            f"module {module_name!r} cannot be imported: {error}",
            where=where,
            hint=f"Looked in installed packages and in {Path.cwd().name}/.",
        ) from error
    except SystemExit as system_exit:
        hint = 'Put what it runs as a script under `if __name__ == "__main__":`.'
        raise _make_exit_error(
            system_exit, f"module {module_name!r}", "imported", where, hint
        ) from system_exit
    for part in attribute.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        class_names = [
            key
            for key, value in vars(importlib.import_module(module_name)).items()
            if inspect.isclass(value) and value.__module__ == module_name
        ]
        raise SystemNotFoundError(
            f"{module_name} has no class or function {attribute!r}",
            where=where,
            hint=f"It has: {', '.join(class_names)}." if class_names else "It defines no class.",
        )
    factory: Callable[..., Any] = target
    return factory


def _load_builtin_systems(system_name: str = "") -> None:
    """Imports the built-in systems.

    If a module has the name of the requested system and registers it, only that module is imported.
    """
    import eval.systems

    modules = {module_info.name for module_info in pkgutil.iter_modules(eval.systems.__path__)}
    if system_name in modules:
        importlib.import_module(f"eval.systems.{system_name}")
    if system_name not in _factories:
        for module in sorted(modules):
            importlib.import_module(f"eval.systems.{module}")


def _list_entry_points() -> list[EntryPoint]:
    return sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)


def _get_first_line(factory: object) -> str:
    lines = (inspect.getdoc(factory) or "").strip().splitlines()
    return lines[0] if lines else ""


def _identify_factory(factory: Callable[..., Any]) -> tuple[str, str]:
    # Compared by name, not by identity: a module that is imported twice (as a script and by name)
    # registers equal but not identical factories.
    return getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")
