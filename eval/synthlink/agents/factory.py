"""Opens an agent by its name, or a custom one given as ``module:Class``.

| name | how the agent answers |
|---|---|
| ``graph_walk`` | from licensed paths of the graph only; no model, no network |
| ``extractive`` | with the best sentences it found; no model, no network |
| ``agent`` | a model that searches, reads, takes notes and answers |
| ``raw`` | a model that answers from memory |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from eval.synthlink.agents.trail import MAX_ROUNDS, Agent
from kg.base.errors import SettingError, SystemNotFoundError

if TYPE_CHECKING:
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
    """

    library: Library | None
    client: ClientOptions
    rounds: int = MAX_ROUNDS
    max_tokens: int | None = None


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
        name: one of ``SYSTEMS``, or the ``module:Class`` or ``module:function`` that makes the
            agent; it is called with ``options`` if it takes an argument.
        options: the options that the agent is built from.

    Raises:
        SystemNotFoundError: the name is unknown, cannot be imported, or does not give an agent.
        EpocheError: a model cannot be used, or the agent rejects the options.
    """
    if ":" in name:
        return _open_custom_agent(name, options)
    if name in MODEL_SYSTEMS:
        return _open_model_agent(name, options)
    if name == "graph_walk":
        from eval.synthlink.agents.graph_walk import GraphWalk

        walk = GraphWalk(_require_library(name, options), rounds=options.rounds)
        return OpenedAgent(agent=walk, name=walk.name)
    if name == "extractive":
        from eval.synthlink.agents.extractive import Extractive

        extractive = Extractive(_require_library(name, options), rounds=options.rounds)
        return OpenedAgent(agent=extractive, name=extractive.name)
    raise SystemNotFoundError(
        f"there is no agent {name!r}",
        where=f"--system {name}",
        hint=f"Agents are {', '.join(SYSTEMS)}; for your own, give --system mypkg.mod:Class.",
    )


def _require_library(name: str, options: AgentOptions) -> Library:
    if options.library is None:
        raise SettingError(f"{name} needs a library to search", where="library")
    return options.library


def _open_model_agent(name: str, options: AgentOptions) -> OpenedAgent:
    from eval.synthlink.agents.model_replies import MAX_TOKENS, open_client

    # With a cache of replies there may be no server to call, so nothing is warmed up.
    cache = options.client.cache
    has_cache = cache is not None and cache.exists()
    tokens = MAX_TOKENS if options.max_tokens is None else options.max_tokens
    client = open_client(options.client, tokens)
    agent: Agent
    if name == "raw":
        from eval.synthlink.agents.closed_book import ClosedBook

        agent = ClosedBook(client)
    else:
        from eval.synthlink.agents.model_agent import ModelAgent

        agent = ModelAgent(client, _require_library(name, options), rounds=options.rounds)
    return OpenedAgent(
        agent=agent,
        name=name,
        model=client.model,
        # The warm-up must not use the cache: a cached reply would not load the model.
        warmup_clients=() if has_cache else (msgspec.structs.replace(options.client, cache=None),),
        observed=client.observed,
        on_close=(client.aclose,),
    )


def _open_custom_agent(name: str, options: AgentOptions) -> OpenedAgent:
    from eval.registry import call_factory, import_factory
    from eval.system_description import collect_observed, find_model

    agent: Any = call_factory(import_factory(name), options)
    agent_name = getattr(agent, "name", None)
    required = ("answer(question)", "params()", "name")
    problem = ""
    if not (callable(getattr(agent, "answer", None)) and callable(getattr(agent, "params", None))):
        problem = f"--system does not name an agent: an agent has {', '.join(required)}"
    elif not isinstance(agent_name, str) or not agent_name.strip():
        problem = "the agent's name is not a non-empty string"
    if problem:
        raise SystemNotFoundError(
            problem, where=f"{name}: {type(agent).__name__}", hint="See docs/synthlink.md."
        )
    close = getattr(agent, "aclose", None)
    return OpenedAgent(
        agent=agent,
        name=str(agent_name),
        model=find_model([agent]),
        observed=lambda: collect_observed([agent], ["agent"]).get("agent", {}),
        on_close=(close,) if callable(close) else (),
    )
