"""Lists the systems that answer cards, and makes those that ``--system`` names.

Built-in factories are in the modules of this package. They take ``SystemOptions`` and return one
system (or several, as the controls do). ``eval.harness.systems.system_registry`` describes how
systems of others are named.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from eval.abstention.system import AnySystem, ClaimOracle, SystemOptions
from eval.harness.function_system import FunctionSystem
from eval.harness.systems.system_registry import Factory, SystemRegistry
from kg.base.errors import SettingError

AnyFactory = TypeVar("AnyFactory", bound=Callable[..., Any])

_factories: dict[str, Factory] = {}
_model_systems: set[str] = set()


def register(name: str, *, asks_model: bool = False) -> Callable[[AnyFactory], AnyFactory]:
    """Registers a factory (a function or a class) under ``name``.

    ``epoche systems`` shows the first line of its docstring.

    Args:
        name: the name.
        asks_model: whether the system asks the model of ``--model``, at least with some settings.

    Raises:
        ValueError: another factory already has the name.
    """

    def add_factory(factory: AnyFactory) -> AnyFactory:
        existing = _factories.get(name)
        if existing is not None and _identify_factory(existing) != _identify_factory(factory):
            raise ValueError(f"two systems are called {name!r}")
        _factories[name] = factory
        if asks_model:
            _model_systems.add(name)
        return factory

    return add_factory


def system_names() -> dict[str, str]:
    """Returns all names with a one-line description, built-in systems first."""
    return CARD_SYSTEMS.list_names()


def make_systems(name: str, options: SystemOptions) -> tuple[AnySystem, ...]:
    """Makes the systems that ``--system`` names; see ``SystemRegistry.make_systems``."""
    return CARD_SYSTEMS.make_systems(name, options)


def refuse_unused_model(options: SystemOptions, systems: Mapping[str, Sequence[AnySystem]]) -> None:
    """Refuses a model that was named for systems that ask none, instead of ignoring it.

    Whether a system of others asks a model is not known, unless it is a function.

    Args:
        options: the options that the systems were made with.
        systems: the systems by what ``--system`` names.

    Raises:
        SettingError: a model was named, and no system asks one.
    """
    if options.client.model is None:
        return
    for spec, made in systems.items():
        is_function = all(isinstance(system, FunctionSystem) for system in made)
        is_known = is_function or spec in _load_built_in(spec)
        if not is_known or any(getattr(system, "client", None) is not None for system in made):
            return
    _load_built_in("")
    askers = ", ".join(sorted(_model_systems))
    raise SettingError(
        f"{', '.join(systems)} {'asks' if len(systems) == 1 else 'ask'} no model",
        where=f"--model {options.client.model}",
        hint=f"Leave --model out, or name a system that asks one: {askers} (formats with --set "
        "by=model).",
    )


def _load_built_in(system_name: str) -> Mapping[str, Factory]:
    """Imports the built-in systems.

    If a module has the name of the requested system and registers it, only that module is imported.
    """
    from eval.abstention import systems

    modules = {module_info.name for module_info in pkgutil.iter_modules(systems.__path__)}
    if system_name in modules:
        importlib.import_module(f"{systems.__name__}.{system_name}")
    if system_name not in _factories:
        for module in sorted(modules):
            importlib.import_module(f"{systems.__name__}.{module}")
    return _factories


CARD_SYSTEMS: Final = SystemRegistry(
    answer="answer(card)",
    load_built_in=_load_built_in,
    is_exempt=lambda product: isinstance(product, ClaimOracle),
    list_command="epoche systems",
)


def _identify_factory(factory: Factory) -> tuple[str, str]:
    # Compared by name, not by identity: a module that is imported twice (as a script and by name)
    # registers equal but not identical factories.
    return getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")
