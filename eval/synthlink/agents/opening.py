"""Agents by name, and any ``module:Class`` that answers questions.

| name | |
|---|---|
| ``graph_walk`` | answers from licensed paths of the graph only; no model, no network |
| ``extractive`` | the best sentences of what it found; no model, no network |
| ``agent`` | a model that searches, reads, notes and answers |
| ``raw`` | a model that answers from memory |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from eval.synthlink.agents.trail import MOST_ROUNDS, Agent
from kg.base.errors import SettingError, SystemNotFoundError

if TYPE_CHECKING:
    from eval.model.options import ClientOptions
    from eval.synthlink.agents.library import Library

SYSTEMS: Final = ("graph_walk", "extractive", "agent", "raw")
WITH_MODEL: Final = ("agent", "raw")
"""Those of them that ask a model."""
WITHOUT_LIBRARY: Final = ("raw",)
"""Those of them that look nothing up."""


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """What an agent is made of; nothing here knows of any question.

    Attributes:
        library: where it may look things up; null for one that looks nothing up.
        client: how models are called.
        rounds: iterations it has, from 1 to ``MOST_ROUNDS``.
        max_tokens: most tokens of a model's reply; null for the usual number.
    """

    library: Library | None
    client: ClientOptions
    rounds: int = MOST_ROUNDS
    max_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Opened:
    """An agent, ready to be asked.

    Attributes:
        agent: itself.
        name: of it, as rows name it.
        model: ``provider/model`` that answers; null for none that is known of.
        warmed: the models to be called once before anything is measured, by how they are called.
        observed: what its model turned out to do.
        closing: what to await when the run ends.
    """

    agent: Agent
    name: str
    model: str | None = None
    warmed: tuple[ClientOptions, ...] = ()
    observed: Callable[[], dict[str, Any]] = field(default=dict)
    closing: tuple[Callable[[], Awaitable[object]], ...] = ()


def open_agent(name: str, options: AgentOptions) -> Opened:
    """Makes an agent.

    Args:
        name: one of ``SYSTEMS``, or ``module:Class`` / ``module:function``; what is named is called
            with the options if it takes an argument.
        options: what it is made of.

    Raises:
        SystemNotFoundError: no such name; nothing there to import; or what was made is no agent.
        EpocheError: a model cannot be used, or whatever else the agent refuses.
    """
    if ":" in name:
        return _foreign(name, options)
    if name in WITH_MODEL:
        return _with_model(name, options)
    if name == "graph_walk":
        from eval.synthlink.agents.graph_walk import GraphWalk

        walk = GraphWalk(_library(name, options), rounds=options.rounds)
        return Opened(agent=walk, name=walk.name)
    if name == "extractive":
        from eval.synthlink.agents.extractive import Extractive

        extractive = Extractive(_library(name, options), rounds=options.rounds)
        return Opened(agent=extractive, name=extractive.name)
    raise SystemNotFoundError(
        f"no agent is called {name!r}",
        where=f"--system {name}",
        hint=f"There are {', '.join(SYSTEMS)}. Your own: --system mypkg.mod:Class.",
    )


def _library(name: str, options: AgentOptions) -> Library:
    if options.library is None:
        raise SettingError(f"{name} needs something to search", where="library")
    return options.library


def _with_model(name: str, options: AgentOptions) -> Opened:
    from eval.synthlink.agents.replying import MAX_TOKENS, open_client

    # Replies that are kept already need no server, and so none that is warm.
    cache = options.client.cache
    kept = cache is not None and cache.exists()
    tokens = MAX_TOKENS if options.max_tokens is None else options.max_tokens
    client = open_client(options.client, tokens)
    agent: Agent
    if name == "raw":
        from eval.synthlink.agents.closed_book import ClosedBook

        agent = ClosedBook(client)
    else:
        from eval.synthlink.agents.model_agent import ModelAgent

        agent = ModelAgent(client, _library(name, options), rounds=options.rounds)
    return Opened(
        agent=agent,
        name=name,
        model=client.model,
        warmed=() if kept else (msgspec.structs.replace(options.client, cache=None),),
        observed=client.observed,
        closing=(client.aclose,),
    )


def _foreign(name: str, options: AgentOptions) -> Opened:
    from eval.described import model_of, observed_of
    from eval.registry import imported, made_by

    made: Any = made_by(imported(name), options)
    called = getattr(made, "name", None)
    wanted = ("answer(question)", "params()", "name")
    problem = ""
    if not (callable(getattr(made, "answer", None)) and callable(getattr(made, "params", None))):
        problem = f"what --system names is no agent: it needs {', '.join(wanted)}"
    elif not isinstance(called, str) or not called.strip():
        problem = "the agent's name is not a text"
    if problem:
        raise SystemNotFoundError(
            problem, where=f"{name}: {type(made).__name__}", hint="See docs/synthlink.md."
        )
    close = getattr(made, "aclose", None)
    return Opened(
        agent=made,
        name=str(called),
        model=model_of([made]),
        observed=lambda: observed_of([made], ["agent"]).get("agent", {}),
        closing=(close,) if callable(close) else (),
    )
