"""Opens an agent by its name, or somebody else's.

| name | how the agent answers |
|---|---|
| ``graph_walk`` | from licensed paths of the graph only; no model, no network |
| ``extractive`` | with the best sentences it found; no model, no network |
| ``agent`` | a model that searches, reads, takes notes and answers |
| ``raw`` | a model that answers from memory |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from eval.harness.systems.description import collect_observed, find_model
from eval.harness.systems.settings import Settings
from eval.harness.systems.system_registry import SystemRegistry
from eval.synthlink.agents.trail import MAX_ROUNDS, Agent
from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.options import ClientOptions
    from eval.synthlink.agents.library import Library

SYSTEMS: Final = ("graph_walk", "extractive", "agent", "raw")
MODEL_SYSTEMS: Final = ("agent", "raw")
"""Agents that ask a model."""
NO_SEARCH_SYSTEMS: Final = ("raw",)
"""Agents that do not search."""


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """The options that an agent is built from; they do not depend on the questions.

    Attributes:
        library: the library that the agent searches; None for an agent that does not search.
        client: which model is called, and how.
        rounds: maximum number of rounds, from 1 to ``MAX_ROUNDS``.
        max_tokens: maximum number of tokens of a model's reply; None for the default.
        seed: the run's seed.
        settings: ``--set key=value`` pairs.
    """

    library: Library | None
    client: ClientOptions
    rounds: int = MAX_ROUNDS
    max_tokens: int | None = None
    seed: int = 12345
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OpenedAgent:
    """An agent that is ready to answer questions.

    Attributes:
        agent: the agent.
        name: its name, as written in rows.
        model: ``provider/model`` that answers; None if there is no model or it is not known.
        warmup_clients: clients to call once before latencies are measured, so that models are
            loaded.
        observed: returns what was observed of its model, such as the model version that answered.
        on_close: functions to await when the run ends.
    """

    agent: Agent
    name: str
    model: str | None = None
    warmup_clients: tuple[ClientOptions, ...] = ()
    observed: Callable[[], dict[str, Any]] = field(default=dict)
    on_close: tuple[Callable[[], Awaitable[object]], ...] = ()


def open_agent(name: str, options: AgentOptions) -> OpenedAgent:
    """Opens an agent.

    Args:
        name: one of ``SYSTEMS``, or another system as ``SystemRegistry`` describes.
        options: the options that the agent is built from.

    Raises:
        SystemNotFoundError: the name is unknown, cannot be imported, or does not give one agent.
        EpocheError: a model cannot be used, or the agent rejects the options.
    """
    agent = AGENTS.make_system(name, options)
    is_model_agent = name in MODEL_SYSTEMS
    # With a cache of replies there may be no server to call, so nothing is warmed up.
    cache = options.client.cache
    needs_warmup = is_model_agent and not (cache is not None and cache.exists())
    close = agent.client.aclose if is_model_agent else getattr(agent, "aclose", None)
    return OpenedAgent(
        agent=agent,
        name=agent.name,
        model=find_model([agent]),
        # The warm-up must not use the cache: a cached reply would not load the model.
        warmup_clients=(msgspec.structs.replace(options.client, cache=None),)
        if needs_warmup
        else (),
        observed=lambda: collect_observed([agent], ["agent"]).get("agent", {}),
        on_close=(close,) if callable(close) else (),
    )


def _require_library(name: str, options: AgentOptions) -> Library:
    if options.library is None:
        raise SettingError(f"{name} needs a library to search", where="library")
    return options.library


def _open_client(name: str, options: AgentOptions) -> ModelClient:
    from eval.synthlink.agents.model_replies import MAX_TOKENS, open_client

    _refuse_settings(name, options)
    return open_client(
        options.client, MAX_TOKENS if options.max_tokens is None else options.max_tokens
    )


def _make_graph_walk(options: AgentOptions) -> Agent:
    """Answers from licensed paths of the graph only; no model, no network."""
    from eval.synthlink.agents.graph_walk import GraphWalk

    _refuse_settings("graph_walk", options)
    return GraphWalk(_require_library("graph_walk", options), rounds=options.rounds)


def _make_extractive(options: AgentOptions) -> Agent:
    """Answers with the best sentences it found; no model, no network."""
    from eval.synthlink.agents.extractive import Extractive

    _refuse_settings("extractive", options)
    return Extractive(_require_library("extractive", options), rounds=options.rounds)


def _make_model_agent(options: AgentOptions) -> Agent:
    """Lets a model search, read, take notes and answer."""
    from eval.synthlink.agents.model_agent import ModelAgent

    library = _require_library("agent", options)
    return ModelAgent(_open_client("agent", options), library, rounds=options.rounds)


def _make_closed_book(options: AgentOptions) -> Agent:
    """Lets a model answer from memory."""
    from eval.synthlink.agents.closed_book import ClosedBook

    return ClosedBook(_open_client("raw", options))


def _refuse_settings(name: str, options: AgentOptions) -> None:
    Settings(options.settings, name).refuse_unknown()


_FACTORIES: Final[dict[str, Callable[[AgentOptions], Agent]]] = {
    "graph_walk": _make_graph_walk,
    "extractive": _make_extractive,
    "agent": _make_model_agent,
    "raw": _make_closed_book,
}
AGENTS: Final = SystemRegistry(
    noun="agent", answer="answer(question)", load_built_in=lambda _name: _FACTORIES
)
