"""Groups of commands that import one command only: the one that is run.

To import all commands and read their flags takes longer than many commands do.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

import typer
from typer.core import TyperGroup

from kg.base.console import wrap_command

Stage = tuple[str, str, str]
"""Name of a command, its function as ``module:function``, and its short help."""


class _CommandTable(MutableMapping[str, Any]):
    """Commands by name; one of a stage is built when it is first looked up.

    Args:
        stages: the commands that are built late, first in order.
        groups: commands that are built, after them.
    """

    def __init__(self, stages: Iterable[Stage], groups: MutableMapping[str, Any]) -> None:
        self._stages = {stage[0]: stage for stage in stages}
        self._built = groups
        self._names = dict.fromkeys([*self._stages, *groups])

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _build_command(*self._stages[name])
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._names[name] = None
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self._stages.pop(name, None)
        self._built.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def make_group_class(stages: tuple[Stage, ...]) -> type[TyperGroup]:
    """Makes the class of a group with these commands, for ``typer.Typer(cls=…)``."""

    class StageGroup(TyperGroup):
        def __init__(self, *, commands: MutableMapping[str, Any], **settings: Any) -> None:
            super().__init__(commands=_CommandTable(stages, commands), **settings)  # type: ignore[arg-type]

    return StageGroup


def _build_command(name: str, target: str, short_help: str) -> Any:
    module, _, function = target.partition(":")
    action = getattr(importlib.import_module(module), function)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(name, short_help=short_help)(wrap_command(action))
    return typer.main.get_command(app)
