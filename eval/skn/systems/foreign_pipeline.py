"""Runs somebody else's system in the place of a whole pipeline."""

from __future__ import annotations

import inspect
from typing import Any, Final

from eval.harness.reply import Reply
from eval.harness.systems.description import read_params
from eval.harness.systems.system_options import SystemOptions
from eval.harness.systems.system_registry import SystemRegistry
from eval.skn.options import RunOptions
from eval.skn.systems.view import SknView

REGISTRY: Final = SystemRegistry(noun="system")
"""The built-in pipelines are chosen with other flags."""


class ForeignPipeline:
    """A system that answers from the search results itself, without extractor and agent.

    Args:
        system: the system.
        spec: what ``--system`` names.

    Attributes:
        name: name of the system.
        system: the system.
    """

    def __init__(self, system: Any, spec: str) -> None:
        self.name: str = system.name
        self.system = system
        self._spec = spec

    def params(self) -> dict[str, Any]:
        """Returns what ``--system`` names, and the system's own parameters.

        Raises:
            SystemNotFoundError: as ``read_params``.
        """
        return {"system": self._spec, **read_params(self.system, self.name)}

    async def answer(self, view: SknView) -> Any:
        """Returns what the system returns; a failed search is an error, as for all pipelines."""
        if view.search_error is not None:
            return Reply(status="error", stage="search", problem=view.search_error)
        returned = self.system.answer(view)
        return await returned if inspect.isawaitable(returned) else returned


def make_foreign_pipelines(options: RunOptions) -> tuple[ForeignPipeline, ...]:
    """Makes the systems that the options name.

    Raises:
        SystemNotFoundError: a system cannot be made.
        EpocheError: a system refuses its options.
    """
    system_options = SystemOptions(
        seed=options.seed, settings=options.settings, client=options.client_options()
    )
    return tuple(
        ForeignPipeline(system, spec)
        for spec in options.systems
        for system in REGISTRY.make_systems(spec, system_options)
    )
