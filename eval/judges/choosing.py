"""Who judges: another model than the one that answers, unless it is asked for in so many words.

A model that judges its own answers favours them (Panickssery, Bowman, Feng: LLM evaluators
recognize and favor their own generations, NeurIPS 2024), and its errors as a judge go with its
errors as an answerer.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from eval.model.environment import Variables, read_variables
from eval.model.providers import Endpoint, find_endpoint
from kg.base.errors import SettingError

SAME = "same"
"""``--judge-model same``: the answering model judges too, and every output says so."""
VARIABLE = "EPOCHE_JUDGE_MODEL"
_FLAG = "--judge-model"


class Chosen(msgspec.Struct, frozen=True):
    """The judging models.

    Attributes:
        models: ``provider/model`` of each.
        same: whether the answering model is one of them.
    """

    models: tuple[str, ...]
    same: bool


def choose_judges(named: Sequence[str], answerer: str | None, *, by_model: bool = True) -> Chosen:
    """Finds out who judges.

    Args:
        named: as given with ``--judge-model``, which may be repeated or name several with commas
            in between; if it is not given, ``EPOCHE_JUDGE_MODEL`` from the environment or ``.env``.
        answerer: the model that answers; None means ``EPOCHE_MODEL``, and where that is not set
            either, that whoever answered is not known here.
        by_model: whether a model answered at all; if none did, every model may judge.

    Raises:
        SettingError: none is named, one is named twice, or one is the answering model though
            ``same`` was not said.
        ModelAccessError: a name is none, or its address or key is not set.
    """
    variables = read_variables()
    known = answerer or variables.get("EPOCHE_MODEL") if by_model else None
    answering = find_endpoint(known, variables) if known else None
    wanted = _names(named) or _names([variables.get(VARIABLE) or ""])
    if not wanted:
        raise SettingError(
            "no model is named as judge, and the one that answers does not judge itself by default",
            where=_FLAG,
            hint=f"Name another as provider/model, or set {VARIABLE}; "
            f"{_FLAG} {SAME} lets the answering model judge itself, which is then said.",
        )
    judges = [_judge(name, answering, variables) for name in wanted]
    for place, judge in enumerate(judges):
        if any(_is_same(judge, earlier) for earlier in judges[:place]):
            raise SettingError(
                f"judge {judge.name} is named twice, and would only repeat itself",
                where=_FLAG,
                hint="Raise --judge-repeats for more votes of one model.",
            )
    return Chosen(
        tuple(judge.name for judge in judges),
        any(_is_same(judge, answering) for judge in judges),
    )


def _judge(name: str, answering: Endpoint | None, variables: Variables) -> Endpoint:
    if name == SAME:
        return answering or find_endpoint(None, variables)
    judge = find_endpoint(name, variables)
    if _is_same(judge, answering):
        raise SettingError(
            f"judge {judge.name} is the model that answers",
            where=_FLAG,
            hint=f"Name another, or say {_FLAG} {SAME} if it is to judge its own answers.",
        )
    return judge


def _names(named: Sequence[str]) -> list[str]:
    return [name for text in named for part in text.split(",") if (name := part.strip())]


def _is_same(one: Endpoint, other: Endpoint | None) -> bool:
    """Whether two names reach one model on one server, whatever they call the provider."""
    return other is not None and (one.base_url, one.model) == (other.base_url, other.model)
