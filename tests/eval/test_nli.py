"""Tests the system ``nli`` with a tiny random cross-encoder, created here without a download."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_models import write_cross_encoder

from cards.card import CardView
from eval.abstention.result import read_results
from eval.abstention.runner import run
from eval.abstention.system import SystemOptions
from eval.abstention.systems.nli import RELATIONS, Nli, Thresholds, load_encoder, parse_relations
from eval.abstention.systems.registry import make_systems
from kg.base.errors import MissingFileError, SettingError, WeightsError


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        labels = ["CONTRADICTION", "entailment", "Neutral"]
        return write_cross_encoder(
            tmp_path_factory.mktemp("nli") / "tiny",
            7,
            id2label=dict(enumerate(labels)),
            label2id={label: index for index, label in enumerate(labels)},
        )


def relabel_model(model_folder: Path, copy_folder: Path, labels: list[str]) -> Path:
    """Copies the model with other labels."""
    copy_folder.mkdir()
    for file in model_folder.iterdir():
        (copy_folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((copy_folder / "config.json").read_text())
    config["id2label"] = dict(enumerate(labels))
    config["label2id"] = {label: index for index, label in enumerate(labels)}
    (copy_folder / "config.json").write_text(json.dumps(config))
    return copy_folder


VIEWS = [
    CardView((f"The {river} flows into the {mouth}.", f"The {mouth} is a river."), ("A rule.",),
             f"Does the {river} flow into the {mouth}?")
    for river in ("Main", "Elbe", "Rhine", "Po", "Ob")
    for mouth in ("Neckar", "Inn", "Volga", "Don")
]  # fmt: skip


@pytest.mark.extra("dense")
def test_answers_follow_the_model_probabilities(model_folder: Path) -> None:
    """Compares with the model called without sentence-transformers."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    model = AutoModelForSequenceClassification.from_pretrained(model_folder).eval()
    system = Nli(load_encoder(str(model_folder)))
    predictions = set()
    for view in VIEWS:
        premise = " ".join((*view.facts, *view.rules))
        hypothesis = view.question.replace("Does the", "The").replace("flow", "flows")[:-1] + "."
        with torch.no_grad():
            logits = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0]
        probabilities = torch.softmax(logits.double(), dim=0).tolist()
        best_index = max(range(3), key=lambda index: probabilities[index])
        answer = system.answer(view)
        # Contradiction, entailment and neutral, as in ``model_folder``.
        assert answer.pred == ("NO", "YES", "UNKNOWN")[best_index]
        assert answer.confidence == pytest.approx(probabilities[best_index], abs=1e-5)
        assert hypothesis in answer.raw
        assert answer.note == ""
        predictions.add(answer.pred)
    assert len(predictions) > 1, "the random model should give different answers"


@pytest.mark.extra("dense")
def test_label_order_is_taken_from_the_model(model_folder: Path, tmp_path: Path) -> None:
    relabelled_folder = relabel_model(
        model_folder, tmp_path / "other", ["entails", "neutral", "contradicts"]
    )
    system, relabelled_system = (
        Nli(load_encoder(str(model_folder))),
        Nli(load_encoder(str(relabelled_folder))),
    )
    relabelled_answer = {"NO": "YES", "YES": "UNKNOWN", "UNKNOWN": "NO"}
    for view in VIEWS[:6]:
        assert relabelled_system.answer(view).pred == relabelled_answer[system.answer(view).pred]


@pytest.mark.parametrize(
    "labels",
    [
        ["LABEL_0", "LABEL_1", "LABEL_2"],
        ["entailment", "not_entailment"],
        ["entailment", "entailment", "neutral"],
        ["entailment", "contradiction", "neutral", "other"],
        ["entailment"],
        [],
    ],
)
def test_unknown_labels_are_refused(labels: list[str]) -> None:
    with pytest.raises(WeightsError, match="id2label"):
        parse_relations(dict(enumerate(labels)), where="m")


def test_label_spellings_are_recognised() -> None:
    labels = {2: "CONTRADICTION", 0: "Entailment", 1: "_neutral_"}
    assert parse_relations(labels, where="m") == ("entailment", "neutral", "contradiction")


@pytest.mark.extra("dense")
def test_a_model_without_labels_is_refused_when_loaded(model_folder: Path, tmp_path: Path) -> None:
    unlabelled_folder = relabel_model(
        model_folder, tmp_path / "bare", ["LABEL_0", "LABEL_1", "LABEL_2"]
    )
    with pytest.raises(WeightsError, match="which of its outputs"):
        load_encoder(str(unlabelled_folder))
    (unlabelled_folder / "config.json").write_text("{")
    with pytest.raises(WeightsError, match="cannot be loaded"):
        load_encoder(str(unlabelled_folder))
    (unlabelled_folder / "model.safetensors").unlink()
    with pytest.raises(WeightsError, match="no model weights"):
        load_encoder(str(unlabelled_folder))
    with pytest.raises(MissingFileError):
        load_encoder("./nothing/here")


@pytest.mark.extra("dense")
def test_thresholds_turn_uncertain_answers_into_unknown(model_folder: Path) -> None:
    encoder = load_encoder(str(model_folder))
    answers = [Nli(encoder).answer(view) for view in VIEWS]
    strict_system = Nli(encoder, thresholds=Thresholds(1.0, 1.0))
    strict_answers = [strict_system.answer(view) for view in VIEWS]
    assert {answer.pred for answer in strict_answers} == {"UNKNOWN"}
    for before, after in zip(answers, strict_answers, strict=True):
        assert ("below its threshold" in after.note) == (before.pred != "UNKNOWN")
        assert after.confidence is not None
        assert before.confidence is not None
        # A withheld answer reports the probability of "neutral", which is not above the best.
        assert after.confidence <= before.confidence
    strict_yes_system = Nli(encoder, thresholds=Thresholds(entailment=1.0))
    for before, view in zip(answers, VIEWS, strict=True):
        assert (strict_yes_system.answer(view).pred == before.pred) == (before.pred != "YES")


@pytest.mark.extra("dense")
def test_premise_and_rule_settings(model_folder: Path) -> None:
    encoder = load_encoder(str(model_folder))
    view = VIEWS[0]
    assert "A rule." in Nli(encoder).answer(view).raw
    assert "A rule." not in Nli(encoder, rules=False).answer(view).raw
    # With per_fact, the fact that is furthest from neutral decides alone.
    per_fact_system = Nli(encoder, rules=False, per_fact=True)
    single_answers = [
        per_fact_system.answer(CardView((fact,), (), view.question)) for fact in view.facts
    ]
    combined_answer = per_fact_system.answer(view)
    assert combined_answer.raw in [answer.raw for answer in single_answers]

    def entailment_strength(raw: str) -> float:
        probabilities = dict(part.split(" ") for part in raw.split(":")[0].split(", "))
        assert math.isclose(
            sum(float(probabilities[name]) for name in RELATIONS), 1.0, abs_tol=2e-4
        )
        return max(float(probabilities["entailment"]), float(probabilities["contradiction"]))

    assert entailment_strength(combined_answer.raw) == max(
        entailment_strength(answer.raw) for answer in single_answers
    )


@pytest.mark.extra("dense")
def test_truncated_input_is_noted(model_folder: Path) -> None:
    system = Nli(load_encoder(str(model_folder)))
    truncated_answer = system.answer(
        CardView(("The Main flows into the Rhine. " * 40,), (), VIEWS[0].question)
    )
    assert "longer than the model can read" in truncated_answer.note
    # A question that cannot be turned into a statement is put into a frame.
    framed_answer = system.answer(CardView(("Fakt.",), (), "Fließt der Main in den Rhein?"))
    assert "framed" in framed_answer.note
    empty_answer = system.answer(CardView((), (), "?"))
    assert empty_answer.pred in ("YES", "NO", "UNKNOWN")


@pytest.mark.extra("dense")
def test_run_with_command_line_settings(
    model_folder: Path, card_file: Callable[[int], Path], tmp_path: Path
) -> None:
    settings = {
        "model": str(model_folder),
        "rules": "no",
        "premise": "each",
        "contradiction": "0.9",
    }
    (system,) = make_systems("nli", SystemOptions(settings=settings))
    result_files = [tmp_path / f"{name}.jsonl" for name in "ab"]
    for out in result_files:
        run(card_file(9), [system], out, system_name="nli")
    assert result_files[0].read_bytes() == result_files[1].read_bytes()
    assert {row.system for row in read_results(result_files[0])} == {"nli"}
    params = system.params()
    assert params["model"] == "tiny", "params must not contain a path"
    assert len(params["weights_sha256"]) == 64
    assert (params["rules"], params["premise"], params["contradiction"]) == (False, "each", 0.9)
    with pytest.raises(SettingError):
        make_systems("nli", SystemOptions(settings={**settings, "entailment": "2"}))
