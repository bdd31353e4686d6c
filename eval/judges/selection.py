"""Selects the judge models: by default a model may not judge its own answers.

A model that judges its own answers favours them (Panickssery, Bowman, Feng: LLM evaluators
recognize and favor their own generations, NeurIPS 2024), and its errors as a judge correlate with
its errors as an answerer.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from eval.model.environment import Variables, read_variables
from eval.model.providers import Endpoint, find_endpoint
from kg.base.errors import SettingError
from kg.base.plain_text import split_names

SAME_MODEL = "same"
"""``--judge-model same``: the answering model is also the judge, and every output says so."""
JUDGE_MODEL_VARIABLE = "EPOCHE_JUDGE_MODEL"
_FLAG = "--judge-model"


class JudgeSelection(msgspec.Struct, frozen=True):
    """The selected judge models.

    Attributes:
        models: ``provider/model`` of each.
        same: whether the answering model is one of them.
    """

    models: tuple[str, ...]
    same: bool


def choose_judges(
    flag_values: Sequence[str],
    answerer: str | None,
    *,
    answered_by_model: bool = True,
    other_way: str = "",
) -> JudgeSelection:
    """Selects the judge models.

    Args:
        flag_values: values of ``--judge-model``, each with one model or several separated by
            commas; if empty, ``EPOCHE_JUDGE_MODEL`` from the environment or ``.env`` is used.
        answerer: the model that answers; if None, ``EPOCHE_MODEL`` is used. If that is not set
            either, the answering model is unknown and every model may judge.
        answered_by_model: whether a model answered; if not, every model may judge.
        other_way: what can be done without a judge, as a sentence; it ends the error's hint.

    Raises:
        SettingError: no model is named; a model is named twice; or the answering model is named,
            instead of ``same``.
        ModelAccessError: a name is malformed, or its address or key is not set.
    """
    variables = read_variables()
    answering_model = answerer or variables.get("EPOCHE_MODEL") if answered_by_model else None
    answering_endpoint = find_endpoint(answering_model, variables) if answering_model else None
    judge_names = split_names(",".join(flag_values)) or split_names(
        variables.get(JUDGE_MODEL_VARIABLE)
    )
    if not judge_names:
        raise SettingError(
            "no judge model is named, and by default a model does not judge its own answers",
            where=_FLAG,
            hint=f"Name another model as provider/model, or set {JUDGE_MODEL_VARIABLE}; {_FLAG} "
            f"{SAME_MODEL} lets the answering model judge its own answers, and every output then "
            f"says so.{other_way and ' '}{other_way}",
        )
    is_assumed = answerer is None and answering_model is not None
    judges = [
        _resolve_judge(name, answering_endpoint, variables, is_assumed=is_assumed)
        for name in judge_names
    ]
    for index, judge in enumerate(judges):
        if any(_is_same_model(judge, earlier) for earlier in judges[:index]):
            raise SettingError(
                f"judge {judge.name} is named twice",
                where=_FLAG,
                hint="Raise --judge-repeats for more votes of one model.",
            )
    return JudgeSelection(
        tuple(judge.name for judge in judges),
        any(_is_same_model(judge, answering_endpoint) for judge in judges),
    )


def _resolve_judge(
    name: str, answering_endpoint: Endpoint | None, variables: Variables, *, is_assumed: bool
) -> Endpoint:
    if name == SAME_MODEL:
        return answering_endpoint or find_endpoint(None, variables)
    judge = find_endpoint(name, variables)
    if _is_same_model(judge, answering_endpoint):
        raise SettingError(
            f"judge {judge.name} is the model that answers",
            where=_FLAG,
            hint=f"Name another model, or give {_FLAG} {SAME_MODEL} to let it judge its own "
            f"answers.{' Unset EPOCHE_MODEL if another model answered.' if is_assumed else ''}",
        )
    return judge


def _is_same_model(endpoint: Endpoint, other: Endpoint | None) -> bool:
    """Returns whether two endpoints are the same model on the same server."""
    return other is not None and (endpoint.base_url, endpoint.model) == (
        other.base_url,
        other.model,
    )
