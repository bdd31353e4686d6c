"""Measures the errors of a judge on pairs with human labels and on anchors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.judges.anchor_claims import negate_fact
from eval.synthlink.judges.judge_items import JudgeItem, list_anchors, list_step_anchors
from eval.synthlink.judges.judge_run import JudgeOptions, collect_verdicts
from eval.synthlink.judges.judge_view import JudgeView
from eval.synthlink.judges.labelled_pairs import LabelledPair, read_labelled_pairs, select_pairs
from eval.synthlink.verdicts.judge_report import measure_errors
from eval.synthlink.verdicts.record import (
    ItemKind,
    JudgeReliability,
    VerdictLine,
)
from kg.base.errors import DuplicateIdError
from kg.base.files import to_json_bytes, write_bytes_atomic
from retrieval.corpus import read_corpus

CALIBRATION_FILE: Final = "calibration.json"
ANCHOR_SET: Final = "anchors"
STEP_ANCHOR_SET: Final = "anchors of steps"
_QUESTION: Final = "What is reported?"


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of a judge.

    Attributes:
        models: ``provider/model`` of each judge.
        params: settings that influence verdicts.
        sets: name of a set of claims → the errors on it; those of anchors are made from
            the catalogue.
    """

    models: tuple[str, ...]
    params: dict[str, Any]
    sets: dict[str, JudgeReliability]


def calibrate_judge(
    pair_paths: Sequence[Path], n_questions: int, limit: int, out: Path, judge: JudgeOptions
) -> Calibration:
    """Asks a judge about labelled pairs and anchors, and writes its error rates.

    Args:
        pair_paths: folders or files of labelled pairs.
        n_questions: number of questions of the shipped catalogue with whose anchors it is tested.
        limit: maximum number of true and of wrong pairs of each set.
        out: folder of the journal and of ``calibration.json``.
        judge: the judge.

    Raises:
        MissingFileError, RecordError: pairs cannot be read.
        DuplicateIdError: two files or folders of pairs have the same name.
        EpocheError: as ``collect_verdicts``.
    """
    items: dict[str, list[JudgeItem]] = {}
    if n_questions:
        questions = read_catalog().questions
        pages = SourcePages(read_corpus())
        # Questions of all categories, however few there are.
        step = max(1, len(questions) // n_questions)
        tested = questions[::step][:n_questions]
        items[ANCHOR_SET] = list_anchors(tested, questions, pages)
        items[STEP_ANCHOR_SET] = list_step_anchors(tested, questions, pages)
    for path in pair_paths:
        pairs = select_pairs(read_labelled_pairs(path), limit, path.name)
        name = path.name
        if name in items:
            raise DuplicateIdError(
                f"two sets of claims are called {name!r}",
                where=str(path),
                hint="Rename one of the files or folders of pairs.",
            )
        items[name] = _list_pair_items(name, pairs)
    every_item = list(
        {item.compute_key({}): item for found in items.values() for item in found}.values()
    )
    out.mkdir(parents=True, exist_ok=True)
    judgement = collect_verdicts(every_item, out, judge)
    lines = {
        item.compute_key({}): line for item, line in zip(every_item, judgement.lines, strict=True)
    }
    calibration = Calibration(
        models=judgement.models,
        params=judgement.params,
        sets={
            name: _measure_set([lines[item.compute_key({})] for item in found])
            for name, found in items.items()
        },
    )
    write_bytes_atomic(out / CALIBRATION_FILE, to_json_bytes(calibration, indent=2) + b"\n")
    return calibration


def _list_pair_items(name: str, pairs: Sequence[LabelledPair]) -> list[JudgeItem]:
    """Lists the pairs, and for each piece of evidence its denial, which must not be supported."""
    items = []
    denied: dict[str, JudgeItem] = {}
    for pair in pairs:
        kind: ItemKind = "true pair" if pair.is_true else "wrong pair"
        items.append(JudgeItem(kind, name, JudgeView(_QUESTION, pair.claim, (pair.evidence,))))
        if len(pair.evidence) < 400:
            view = JudgeView(_QUESTION, negate_fact(pair.evidence), (pair.evidence,))
            denied[pair.evidence] = JudgeItem("negated", name, view)
    return [item for item in (*items, *denied.values()) if item.view.is_within_limits]


def _measure_set(lines: Sequence[VerdictLine]) -> JudgeReliability:
    verdicts: dict[str, list[str | None]] = {}
    for line in lines:
        verdicts.setdefault(line.kind, []).append(line.verdict or ("split" if line.split else None))
    return measure_errors(verdicts)
