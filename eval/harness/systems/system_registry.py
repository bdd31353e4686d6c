"""Finds the systems that ``--system`` names, for every benchmark.

| ``--system`` | what is meant |
|---|---|
| ``name`` | a built-in system of the benchmark, or an entry point of another package |
| ``module:Class`` | ``Class.create(options)``, ``Class(options)`` or ``Class()`` |
| ``module:function`` | a factory: ``function(options)`` or ``function()`` |
| ``callable:module:function`` | the function itself answers; it may be an ``async def`` |

Other packages register their factories as entry points:

    [project.entry-points."epoche.systems"]
    my_reader = "mypkg.reader:create"

Modules and factories are third-party code. Whatever they raise becomes one short message.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from eval.harness.function_system import FunctionSystem
from eval.model.foreign_values import describe_error
from eval.model.redaction import hide_secrets
from kg.base.errors import EXIT_TERMINATED, EpocheError, SettingError, SystemNotFoundError

ENTRY_POINT_GROUP: Final = "epoche.systems"
CALLABLE_PREFIX: Final = "callable:"
OBJECT_PREFIX: Final = "object:"
"""Marks a system that a program in this process gives as an object, see ``register_object``."""

_TARGET = re.compile(r"[\w.]*:[\w.]*")
"""``module:name``; a URL or a path is none."""
MAX_LISTED_TARGETS = 10
"""Maximum number of a module's classes and functions that a message lists."""

Factory = Callable[..., Any]

_objects: dict[str, Any] = {}

_DEBUG_HINT = "`epoche --debug …` prints the traceback."


@dataclass(frozen=True, kw_only=True)
class SystemRegistry:
    """The systems of one benchmark.

    Attributes:
        noun: what messages call a system.
        answer: how messages name the method that answers, with what it is given.
        load_built_in: returns the built-in factories by name. It is given the name that is looked
            for, so that not all of them must be imported; empty for all.
        is_exempt: whether an object without ``answer`` is a system of this benchmark all the same.
        list_command: the command that lists the systems; empty if there is none.
    """

    noun: str = "system"
    answer: str = "answer(view)"
    load_built_in: Callable[[str], Mapping[str, Factory]] = lambda _name: {}
    is_exempt: Callable[[object], bool] = lambda _product: False
    list_command: str = ""

    def list_names(self) -> dict[str, str]:
        """Returns all names with a one-line description, built-in systems first.

        A system whose entry point cannot be imported is listed with the reason.
        """
        built_in = self.load_built_in("")
        names = {name: _get_first_line(factory) for name, factory in built_in.items()}
        for point in list_entry_points():
            if point.name not in names:
                try:
                    names[point.name] = _get_first_line(point.load())
                except Exception as error:  # importing another package may raise anything
                    names[point.name] = f"(cannot be imported: {describe_error(error)})"
        return names

    def make_systems(self, spec: str, options: Any) -> tuple[Any, ...]:
        """Makes the systems that ``--system`` names.

        Args:
            spec: a name, ``module:Class``, ``module:function`` or ``callable:module:function``.
                Modules in the current folder are found, as with ``python -m``.
            options: passed to the factory if it takes an argument. Its ``settings`` are passed to
                a ``callable:`` as keyword arguments.

        Raises:
            SystemNotFoundError: the name is unknown, cannot be imported, or does not make a system.
            EpocheError: the factory refuses its options, such as a setting or the graph.
        """
        if spec.startswith(CALLABLE_PREFIX):
            product: Any = self._make_function_system(spec, options)
        elif spec.startswith(OBJECT_PREFIX):
            product = _make_from_object(spec, options)
        else:
            is_import = _TARGET.fullmatch(spec) is not None
            factory = import_target(spec) if is_import else self._find_named(spec)
            product = call_factory(factory, options, spec)
        is_several = isinstance(product, list | tuple) and product
        systems = tuple(product) if is_several else (product,)
        for system in systems:
            self._require_system(system, spec)
        names = [system.name for system in systems]
        if len(set(names)) < len(names):
            raise SystemNotFoundError(f"two systems of {spec} share a name", where=", ".join(names))
        return systems

    def make_system(self, spec: str, options: Any) -> Any:
        """Makes the one system that ``--system`` names.

        Raises:
            SystemNotFoundError: as ``make_systems``, or it names several systems.
            EpocheError: as ``make_systems``.
        """
        systems = self.make_systems(spec, options)
        if len(systems) > 1:
            names = ", ".join(system.name for system in systems)
            raise SystemNotFoundError(
                f"{spec} makes {len(systems)} {self.noun}s, and a run has one",
                where=names,
                hint="Name a class or function that makes one of them.",
            )
        return systems[0]

    def _make_function_system(self, spec: str, options: Any) -> FunctionSystem:
        target = spec.removeprefix(CALLABLE_PREFIX)
        if ":" not in target:
            raise SystemNotFoundError(
                "no function is named",
                where=f"--system {spec}",
                hint=f"Give it as {CALLABLE_PREFIX}module:function.",
            )
        function = import_target(target)
        settings: Mapping[str, str] = getattr(options, "settings", None) or {}
        try:
            inspect.signature(function).bind(object(), **settings)
        except ValueError:  # a callable written in C that has no signature
            pass
        except TypeError as error:
            given = f" and the settings {', '.join(settings)}" if settings else ""
            raise SystemNotFoundError(
                f"the function cannot be called with one argument{given}: {error}",
                where=f"--system {spec}",
                hint=f"It needs the signature of {self.answer}; settings are keyword arguments.",
            ) from error
        return FunctionSystem(function, target, settings)

    def _find_named(self, name: str) -> Factory:
        built_in = self.load_built_in(name)
        if name in built_in:
            return built_in[name]
        for point in list_entry_points():
            if point.name == name:
                return _load_entry_point(point)
        from rapidfuzz.distance import OSA

        names = sorted(self.list_names(), key=lambda known: (OSA.distance(name, known), known))
        hints = []
        if names and OSA.distance(name, names[0]) <= min(max(2, len(name) // 3), len(name) - 1):
            hints.append(f"Did you mean {names[0]}?")
        if self.list_command:
            hints.append(f"`{self.list_command}` lists all {self.noun}s.")
        elif names:
            hints.append(f"The {self.noun}s are {', '.join(names)}.")
        raise SystemNotFoundError(
            f"no {self.noun} is called {name!r}",
            where=f"--system {name}",
            hint=" ".join((*hints, "Your own: --system mypkg.mod:Class.")),
        )

    def _require_system(self, product: object, spec: str) -> None:
        """Refuses what is no system, and says what it lacks."""
        where = f"{spec}: {type(product).__name__}"
        try:
            lacks = [] if hasattr(product, "name") else ["name"]
            lacks += [] if callable(getattr(product, "params", None)) else ["params()"]
            if not callable(getattr(product, "answer", None)) and not self.is_exempt(product):
                lacks.insert(0, self.answer)
            name = None if lacks else product.name  # type: ignore[attr-defined]
        except Exception as error:  # a property may raise anything
            raise SystemNotFoundError(
                f"the {self.noun} cannot be used: {describe_error(error)}",
                where=where,
                hint=_DEBUG_HINT,
            ) from error
        problem = ""
        if lacks:
            problem = f"what --system names is not a {self.noun}: it lacks {', '.join(lacks)}"
        elif not isinstance(name, str) or not name.strip():
            problem = f"the {self.noun}'s name is not a text"
        if problem:
            hint = "See docs/how-to/systems.md."
            if ":" in spec and len(lacks) == 3:  # What a function that answers would return.
                hint = f"If the function itself answers: --system {CALLABLE_PREFIX}{spec}. {hint}"
            raise SystemNotFoundError(problem, where=where, hint=hint)


def register_object(system: Any) -> str:
    """Makes an object of this process available to runs, and returns how ``--system`` names it.

    Args:
        system: a system, a class that makes one, or a function that answers.
    """
    # A class may define its name as a property, and a property may raise anything.
    name = getattr(system, "__name__", None) or type(system).__name__
    _objects[name] = system
    return f"{OBJECT_PREFIX}{name}"


def _make_from_object(spec: str, options: Any) -> Any:
    system = _objects.get(spec.removeprefix(OBJECT_PREFIX))
    if system is None:
        raise SystemNotFoundError(
            "no object of this name was given in this process",
            where=f"--system {spec}",
            hint="Give the system from Python again, or name it as module:Class.",
        )
    if inspect.isclass(system):
        return call_factory(system, options, spec)
    if not callable(system) or hasattr(system, "answer") or hasattr(system, "answer_claim"):
        _refuse_settings(options, f"the program that gives the {type(system).__name__}")
        return system
    settings: Mapping[str, str] = getattr(options, "settings", None) or {}
    source = f"{system.__module__}:{getattr(system, '__qualname__', type(system).__name__)}"
    return FunctionSystem(system, source, settings)


def list_entry_points() -> list[EntryPoint]:
    """Returns the entry points of other packages, by name."""
    return sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)


def import_target(spec: str) -> Factory:
    """Imports the class or function that ``module:name`` names, also from the current folder.

    Raises:
        SystemNotFoundError: the module cannot be imported, or has no such class or function.
        EpocheError: raised by the module while it is imported.
    """
    module_name, _, attribute = spec.partition(":")
    where = f"--system {spec}"
    current_folder = str(Path.cwd())
    if current_folder not in sys.path and "" not in sys.path:
        # At the end, so that a folder of the user cannot shadow a library.
        sys.path.append(current_folder)
    try:
        module = importlib.import_module(module_name)
    except EpocheError:
        raise
    except (ImportError, ValueError) as error:  # ValueError: an empty or malformed name
        raise SystemNotFoundError(
            f"module {module_name!r} cannot be imported: {describe_cause(error)}",
            where=where,
            hint=f"Looked in installed packages and in {Path.cwd().name}/. {_DEBUG_HINT}",
        ) from error
    except Exception as error:  # whatever a stranger's module does when it is imported
        raise SystemNotFoundError(
            f"module {module_name!r} cannot be imported: {describe_cause(error)}",
            where=where,
            hint=_DEBUG_HINT,
        ) from error
    except SystemExit as system_exit:
        hint = 'Put what it runs as a script under `if __name__ == "__main__":`.'
        raise _make_exit_error(
            system_exit, f"module {module_name!r}", "imported", where, hint
        ) from system_exit
    target: Any = module
    for part in attribute.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        names = [
            key
            for key, value in vars(module).items()
            if (inspect.isclass(value) or inspect.isfunction(value))
            and value.__module__ == module_name
            and not key.startswith("_")
        ]
        raise SystemNotFoundError(
            f"{module_name} has no class or function {attribute!r}",
            where=where,
            hint=_list_targets(names),
        )
    found: Factory = target
    return found


def _list_targets(names: list[str]) -> str:
    if not names:
        return "It defines none."
    more = f" and {len(names) - MAX_LISTED_TARGETS} more" if len(names) > MAX_LISTED_TARGETS else ""
    return f"It has: {', '.join(names[:MAX_LISTED_TARGETS])}{more}."


def call_factory(factory: Factory, options: object, spec: str) -> Any:
    """Calls a factory, with the options if it takes one positional argument.

    Args:
        factory: a function or a class; a class's ``create`` takes precedence over its constructor.
        options: passed to the factory.
        spec: what ``--system`` names, for messages.

    Raises:
        SystemNotFoundError: the factory raises an exception, or calls ``sys.exit``.
        SettingError: there are settings, and the factory takes no options.
        EpocheError: raised by the factory, for example because of a setting.
    """
    create = getattr(factory, "create", None)
    if inspect.isclass(factory) and callable(create):
        factory = create
    arguments: tuple[object, ...] = (options,)
    name = getattr(factory, "__qualname__", type(factory).__name__)
    try:
        signature = inspect.signature(factory)
        signature.bind(options)
    except TypeError:
        _refuse_settings(options, f"{name}{signature}")
        arguments = ()
    except ValueError:  # a callable written in C that has no signature
        pass
    where = f"--system {spec}"
    try:
        return factory(*arguments)
    except EpocheError:
        raise
    except Exception as error:  # third-party code
        raise SystemNotFoundError(
            f"{name} cannot make the system: {describe_cause(error)}", where=where, hint=_DEBUG_HINT
        ) from error
    except SystemExit as system_exit:
        raise _make_exit_error(
            system_exit, name, "called", where, "It must return a system."
        ) from system_exit


def _refuse_settings(options: object, taken: str) -> None:
    """Refuses settings for a system that cannot be given any.

    Args:
        options: the options of the system.
        taken: what it takes instead: a name with a signature.

    Raises:
        SettingError: there are settings.
    """
    settings: Mapping[str, str] = getattr(options, "settings", None) or {}
    if settings:
        raise SettingError(
            f"the system takes no settings: it is made by {taken}",
            where=", ".join(f"--set {key}" for key in settings),
            hint="Give it one argument `options` and read options.settings, or leave them out.",
        )


def describe_cause(error: BaseException) -> str:
    """Returns class, text and innermost line of an exception of third-party code."""
    frames = traceback.extract_tb(error.__traceback__)
    text = describe_error(error)
    # An import that fails because there is no such file ends in the import machinery itself.
    if not frames or frames[-1].filename.startswith("<frozen ") or isinstance(error, SyntaxError):
        return text
    return hide_secrets(f"{text} [{Path(frames[-1].filename).name}:{frames[-1].lineno}]")


def _load_entry_point(point: EntryPoint) -> Factory:
    try:
        factory: Factory = point.load()
    except EpocheError:
        raise
    except Exception as error:  # importing another package may raise anything
        raise SystemNotFoundError(
            f"system {point.name} is registered but cannot be imported: {describe_cause(error)}",
            where=point.value,
            hint="Its package is broken or a dependency is missing; install it again. "
            f"{_DEBUG_HINT}",
        ) from error
    return factory


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


def _get_first_line(factory: object) -> str:
    lines = (inspect.getdoc(factory) or "").strip().splitlines()
    return lines[0] if lines else ""
