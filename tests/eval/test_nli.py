"""The entailment model: a tiny random cross-encoder, created here without a download."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_models import write_cross_encoder

from cards.card import CardView
from eval.registry import make_systems
from eval.result import read_results
from eval.runner import run
from eval.system import SystemOptions
from eval.systems.nli import RELATIONS, Nli, Thresholds, load_encoder, parse_relations
from kg.base.errors import MissingFileError, SettingError, WeightsError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        labels = ["CONTRADICTION", "entailment", "Neutral"]
        return write_cross_encoder(
            tmp_path_factory.mktemp("nli") / "tiny",
            7,
            id2label=dict(enumerate(labels)),
            label2id={label: place for place, label in enumerate(labels)},
        )


def relabel_model(folder: Path, to: Path, labels: list[str]) -> Path:
    """Copies the model with other labels."""
    to.mkdir()
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    config = json.loads((to / "config.json").read_text())
    config["id2label"] = dict(enumerate(labels))
    config["label2id"] = {label: place for place, label in enumerate(labels)}
    (to / "config.json").write_text(json.dumps(config))
    return to


VIEWS = [
    CardView((f"The {one} flows into the {two}.", f"The {two} is a river."), ("A rule.",),
             f"Does the {one} flow into the {two}?")
    for one in ("Main", "Elbe", "Rhine", "Po", "Ob")
    for two in ("Neckar", "Inn", "Volga", "Don")
]  # fmt: skip


@pytest.mark.extra("dense")
def test_answers_follow_the_model_probabilities(folder: Path) -> None:
    """Compares with the model called without sentence-transformers."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    system = Nli(load_encoder(str(folder)))
    seen = set()
    for view in VIEWS:
        premise = " ".join((*view.facts, *view.rules))
        hypothesis = view.question.replace("Does the", "The").replace("flow", "flows")[:-1] + "."
        with torch.no_grad():
            logits = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0]
        chances = torch.softmax(logits.double(), dim=0).tolist()
        best = max(range(3), key=lambda place: chances[place])
        answer = system.answer(view)
        assert answer.pred == ("NO", "YES", "UNKNOWN")[best]
        assert answer.confidence == pytest.approx(chances[best], abs=1e-5)
        assert hypothesis in answer.raw
        assert answer.note == ""
        seen.add(answer.pred)
    assert len(seen) > 1, "a model that always says the same would prove little"


@pytest.mark.extra("dense")
def test_label_order_is_taken_from_the_model(folder: Path, tmp_path: Path) -> None:
    other = relabel_model(folder, tmp_path / "other", ["entails", "neutral", "contradicts"])
    one, two = Nli(load_encoder(str(folder))), Nli(load_encoder(str(other)))
    turned = {"NO": "YES", "YES": "UNKNOWN", "UNKNOWN": "NO"}
    for view in VIEWS[:6]:
        assert two.answer(view).pred == turned[one.answer(view).pred]


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
    named = {2: "CONTRADICTION", 0: "Entailment", 1: "_neutral_"}
    assert parse_relations(named, where="m") == ("entailment", "neutral", "contradiction")


@pytest.mark.extra("dense")
def test_a_model_without_labels_is_refused_when_loaded(folder: Path, tmp_path: Path) -> None:
    bare = relabel_model(folder, tmp_path / "bare", ["LABEL_0", "LABEL_1", "LABEL_2"])
    with pytest.raises(WeightsError, match="which of its outputs"):
        load_encoder(str(bare))
    (bare / "config.json").write_text("{")
    with pytest.raises(WeightsError, match="cannot be loaded"):
        load_encoder(str(bare))
    (bare / "model.safetensors").unlink()
    with pytest.raises(WeightsError, match="no model weights"):
        load_encoder(str(bare))
    with pytest.raises(MissingFileError):
        load_encoder("./nothing/here")


@pytest.mark.extra("dense")
def test_thresholds_turn_uncertain_answers_into_unknown(folder: Path) -> None:
    encoder = load_encoder(str(folder))
    plain = [Nli(encoder).answer(view) for view in VIEWS]
    never = Nli(encoder, thresholds=Thresholds(1.0, 1.0))
    held = [never.answer(view) for view in VIEWS]
    assert {answer.pred for answer in held} == {"UNKNOWN"}
    for before, after in zip(plain, held, strict=True):
        assert ("below its threshold" in after.note) == (before.pred != "UNKNOWN")
        assert after.confidence is not None
        assert before.confidence is not None
        assert after.confidence <= before.confidence, "of the class that was answered"
    only_yes = Nli(encoder, thresholds=Thresholds(entailment=1.0))
    for before, view in zip(plain, VIEWS, strict=True):
        assert (only_yes.answer(view).pred == before.pred) == (before.pred != "YES")


@pytest.mark.extra("dense")
def test_premise_and_rule_settings(folder: Path) -> None:
    encoder = load_encoder(str(folder))
    view = VIEWS[0]
    assert "A rule." in Nli(encoder).answer(view).raw
    assert "A rule." not in Nli(encoder, rules=False).answer(view).raw
    # Single facts: the one furthest from neutral decides, as if it were alone.
    each = Nli(encoder, rules=False, per_fact=True)
    single = [each.answer(CardView((fact,), (), view.question)) for fact in view.facts]
    together = each.answer(view)
    assert together.raw in [answer.raw for answer in single]

    def entailment_strength(raw: str) -> float:
        shown = dict(part.split(" ") for part in raw.split(":")[0].split(", "))
        assert math.isclose(sum(float(shown[name]) for name in RELATIONS), 1.0, abs_tol=2e-4)
        return max(float(shown["entailment"]), float(shown["contradiction"]))

    assert entailment_strength(together.raw) == max(
        entailment_strength(answer.raw) for answer in single
    )


@pytest.mark.extra("dense")
def test_truncated_input_is_noted(folder: Path) -> None:
    system = Nli(load_encoder(str(folder)))
    long = system.answer(CardView(("The Main flows into the Rhine. " * 40,), (), VIEWS[0].question))
    assert "longer than the model can read" in long.note
    framed = system.answer(CardView(("Fakt.",), (), "Fließt der Main in den Rhein?"))
    assert "framed" in framed.note
    empty = system.answer(CardView((), (), "?"))
    assert empty.pred in ("YES", "NO", "UNKNOWN")


@pytest.mark.extra("dense")
def test_run_with_command_line_settings(
    folder: Path, card_file: Callable[[int], Path], tmp_path: Path
) -> None:
    settings = {"model": str(folder), "rules": "no", "premise": "each", "contradiction": "0.9"}
    (system,) = make_systems("nli", SystemOptions(settings=settings))
    outs = [tmp_path / f"{name}.jsonl" for name in "ab"]
    for out in outs:
        run(card_file(9), [system], out, system_name="nli")
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert {row.system for row in read_results(outs[0])} == {"nli"}
    params = system.params()
    assert params["model"] == "tiny", "params must not contain a path"
    assert len(params["weights_sha256"]) == 64
    assert (params["rules"], params["premise"], params["contradiction"]) == (False, "each", 0.9)
    with pytest.raises(SettingError):
        make_systems("nli", SystemOptions(settings={**settings, "entailment": "2"}))
