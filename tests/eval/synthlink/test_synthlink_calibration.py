"""Tests the error rates of judges on labelled pairs and anchors, and the NLI cross-encoder."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from servers import behaviours
from servers.behaviours import Behaviour, ChatRequest
from servers.scripted_server import ScriptedServer
from stage_calls import check_error_line, run_epoche
from synthlink_judge_parts import make_score_command, read_block, read_journal

from eval.synthlink.catalog import read_catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.judges.anchor_claims import (
    negate_fact,
    reverse_fact,
    reverse_question,
    swap_term,
)
from eval.synthlink.judges.judge_items import JudgeItem, list_anchors, list_step_anchors
from eval.synthlink.judges.judge_view import JudgeView, collect_evidence
from eval.synthlink.judges.labelled_pairs import LabelledPair, read_labelled_pairs, select_pairs
from eval.synthlink.judges.nli_judge import NliJudge
from eval.synthlink.scoring.outputs import read_scores
from eval.synthlink.verdicts.judge_report import measure_anchors, measure_errors
from eval.synthlink.verdicts.record import (
    ANCHOR_KINDS,
    JUDGED_FILE,
    MIN_ANCHORS,
    STEP_ANCHOR_KINDS,
    WRONG_STEP_KINDS,
    VerdictLine,
)
from kg.base.errors import MissingFileError, RecordError
from kg.base.files import to_json_bytes
from retrieval.corpus import read_corpus

# --- anchors ----------------------------------------------------------------------------------


def test_wrong_claims_are_made_from_true_ones() -> None:
    fact = "Robert Peel repealed the Corn Laws in 1846."
    assert negate_fact(fact) == "It is not true that Robert Peel repealed the Corn Laws in 1846."
    assert negate_fact("The law passed.") == "It is not true that the law passed."
    assert reverse_fact(fact) == "Corn Laws repealed the Robert Peel in 1846."
    assert reverse_fact("Spiders are numerous.") is None
    assert reverse_fact("Watson and Crick") is None
    other = "The Longitude Act of 1714 offered rewards."
    assert swap_term(fact, other, [fact]) == "Robert Peel repealed the Corn Laws in 1714."
    assert swap_term(fact, other, [fact, "It was 1714."]) is None or "Longitude" in str(
        swap_term(fact, other, [fact, "It was 1714."])
    )


def test_every_shipped_question_has_anchors_of_all_kinds() -> None:
    questions = read_catalog().questions
    pages = SourcePages(read_corpus())
    anchors = list_anchors(questions, questions, pages)
    counts = {kind: sum(item.kind == kind for item in anchors) for kind in ANCHOR_KINDS}
    assert counts["own fact"] > 200
    assert counts["other fact"] == counts["negated"] == counts["reversed"] == 60
    assert counts["swapped"] >= 50
    facts = {step.fact for question in questions for step in question.steps}
    for item in anchors:
        if item.kind in ("negated", "reversed", "swapped"):
            assert item.view.claim not in facts
    for question in questions:
        claim = reverse_question(question)
        assert claim is not None
        assert claim not in collect_evidence(question, pages)


# --- pairs with human labels ------------------------------------------------------------------


def write_frank(folder: Path, *, with_texts: bool = True) -> Path:
    labels = [
        {"hash": "a", "model_name": "x", "Factuality": 1.0},
        {"hash": "a", "model_name": "y", "Factuality": 0.0},
        {"hash": "b", "model_name": "x", "Factuality": 0.5},
    ]
    folder.mkdir()
    with gzip.open(folder / "human_annotations.json.gz", "wt") as handle:
        json.dump(labels, handle)
    if with_texts:
        texts = [
            {"hash": row["hash"], "model_name": row["model_name"], "article": f"On {row['hash']}.",
             "summary": f"By {row['model_name']}."}
            for row in labels
        ]  # fmt: skip
        (folder / "benchmark_data.json").write_text(json.dumps(texts))
    return folder


def test_frank_needs_its_texts(tmp_path: Path) -> None:
    pairs = read_labelled_pairs(write_frank(tmp_path / "frank"))
    assert pairs == [LabelledPair("On a.", "By x.", True), LabelledPair("On a.", "By y.", False)]
    with pytest.raises(MissingFileError, match=r"benchmark_data\.json"):
        read_labelled_pairs(write_frank(tmp_path / "labels", with_texts=False))


def test_pairs_are_read_from_lines(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"evidence": "A.", "claim": "B.", "label": "supported"}\n')
    assert read_labelled_pairs(path) == [LabelledPair("A.", "B.", True)]
    # A line separator in a text is no end of a line, and labels may be in any case.
    rows = [
        {"evidence": "A\u2028is.", "claim": "B.", "label": label}
        for label in ("SUPPORTED", "Entailment", True, "Not supported", "NEUTRAL", False)
    ]
    lines = "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(lines, encoding="utf-8")
    assert [pair.is_true for pair in read_labelled_pairs(path)] == [True] * 3 + [False] * 3
    for label in ("suported", 1, None, ["supported"]):
        path.write_text(json.dumps({"evidence": "A.", "claim": "B.", "label": label}))
        with pytest.raises(RecordError, match=r"label .* is not known"):
            read_labelled_pairs(path)
    path.write_text('{"evidence": "A."}\n')
    with pytest.raises(RecordError, match=r"not an object with evidence"):
        read_labelled_pairs(path)
    with pytest.raises(MissingFileError, match="neither"):
        read_labelled_pairs(tmp_path)


def test_public_pairs_have_both_labels(public_data: Path) -> None:
    pairs = read_labelled_pairs(public_data / "foreign" / "claims" / "xsum-factuality")
    assert sum(pair.is_true for pair in pairs) >= 20
    assert sum(not pair.is_true for pair in pairs) >= 100
    assert all(pair.evidence != pair.claim for pair in pairs)
    chosen = select_pairs(pairs, 10, "x")
    assert [pair.is_true for pair in chosen] == [True] * 10 + [False] * 10
    assert chosen == select_pairs(pairs, 10, "x")
    with pytest.raises(MissingFileError, match=r"labels only"):
        read_labelled_pairs(public_data / "foreign" / "claims" / "frank")


def test_error_rates_are_shares_of_true_and_wrong_claims() -> None:
    errors = measure_errors(
        {
            "true pair": ["supported", "not_told", None],
            "wrong pair": ["supported", "contradicted", "not_told", "split"],
        }
    )
    assert (errors.false_rejection.value, errors.false_rejection.n) == (0.5, 2)
    assert (errors.false_acceptance.value, errors.false_acceptance.n) == (0.25, 4)
    assert errors.false_rejection.unjudged == 1
    assert not errors.passed


def make_lines(**n_supported: tuple[int, int]) -> list[VerdictLine]:
    """Makes the lines of a judge: kind, with _ for a space → number supported, number of all."""
    return [
        VerdictLine(
            key=f"{kind} {number}", kind=kind.replace("_", " "), question_id="HIA-01", claim=kind,
            verdict="supported" if number < n_right else "contradicted", planned=1,
            votes=("contradicted",),
        )
        for kind, (n_right, n_all) in n_supported.items()
        for number in range(n_all)
    ]  # fmt: skip


def test_a_judge_passes_only_if_it_is_tested_enough() -> None:
    good = make_lines(own_fact=(10, 10), negated=(0, 5), swapped=(0, 5))
    assert measure_anchors(good).passed
    assert not measure_anchors(good[1:]).passed, "nine true anchors"
    assert not measure_anchors(good[:-1]).passed, "nine wrong anchors"
    one_of_each = make_lines(own_fact=(1, 1), negated=(0, 1), reversed=(0, 1), swapped=(0, 1))
    assert not measure_anchors(one_of_each).passed
    lost = [replace(line, verdict=None) for line in make_lines(reversed=(0, 3))]
    assert not measure_anchors([*good, *lost]).passed, "it said nothing of reversed facts"


def test_a_judge_of_steps_is_tested_on_steps() -> None:
    good = make_lines(own_fact=(10, 10), negated=(0, 10))
    step = make_lines(step=(1, 1))
    assert not measure_anchors([*good, *step]).passed, "nothing is known of it on steps"
    tested = make_lines(stated_step=(10, 10), denied_step=(0, 5), absent_step=(0, 5))
    assert measure_anchors([*good, *step, *tested]).passed
    generous = make_lines(stated_step=(10, 10), denied_step=(5, 5), absent_step=(0, 5))
    found = measure_anchors([*good, *step, *generous])
    assert not found.passed, "it calls stated what the answer denies"
    assert found.supported["denied step"].value == 1


def test_anchors_of_steps_are_told_or_not_by_their_answer() -> None:
    questions = read_catalog().questions
    anchors = list_step_anchors(questions[:2], questions, SourcePages(read_corpus()))
    counts = Counter(item.kind for item in anchors)
    assert counts["stated step"] >= MIN_ANCHORS
    assert sum(counts[kind] for kind in WRONG_STEP_KINDS) >= MIN_ANCHORS
    assert set(counts) == set(STEP_ANCHOR_KINDS)
    for item in anchors:
        (answer,) = item.view.evidence
        is_told = item.view.claim in answer and "not true" not in answer
        assert is_told == (item.kind == "stated step"), item


# --- the command ------------------------------------------------------------------------------


def judge_by_words(request: ChatRequest) -> Behaviour:
    """A judge that knows denials, and otherwise looks for the claim in the evidence."""
    claim, evidence = read_block(request, "claim"), read_block(request, "evidence")
    if claim.startswith("It is not true"):
        verdict = "contradicted"
    else:
        verdict = "supported" if claim in evidence else "not_told"
    return behaviours.normal_reply(lambda _: json.dumps({"verdict": verdict}))


def write_pairs(path: Path) -> Path:
    rows = [
        {"evidence": "The canal opened in 1825 at last.", "claim": claim, "label": label}
        for claim, label in (
            ("The canal opened in 1825", "supported"),
            ("In 1825 a waterway was opened", "supported"),
            ("The canal opened in 1925", "contradicted"),
            ("canal opened", "not_supported"),
        )
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_sets_of_pairs_have_different_names(
    scripted_server: ScriptedServer, scripted_model: str, tmp_path: Path
) -> None:
    flags: list[object] = ["--judge-model", scripted_model, "--questions", 0, "--no-cache"]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        flags += ["--pairs", write_pairs(tmp_path / name / "pairs.jsonl")]
    result = run_epoche("synthlink", "calibrate", *flags, "--out", tmp_path / "out")
    assert "two sets of claims are called 'pairs.jsonl'" in check_error_line(result, 13)
    assert not scripted_server.requests


def test_calibration_of_a_model(
    scripted_server: ScriptedServer,
    scripted_model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    scripted_server.behave_with(judge_by_words)
    pairs = write_pairs(tmp_path / "pairs.jsonl")
    flags = ("--judge-model", scripted_model, "--pairs", pairs, "--questions", 2, "--no-cache")
    result = run_epoche("synthlink", "calibrate", *flags, "--out", "out")
    assert result.code == 0, result.err
    sets = json.loads((tmp_path / "out" / "calibration.json").read_bytes())["sets"]
    assert set(sets) == {"anchors", "anchors of steps", "pairs.jsonl"}
    errors = sets["pairs.jsonl"]
    assert (errors["false_rejection"]["value"], errors["false_rejection"]["n"]) == (0.5, 2)
    # Two wrong claims, of which one is a part of the evidence, and one denial.
    assert errors["false_acceptance"]["n"] == 3
    assert errors["false_acceptance"]["value"] == pytest.approx(1 / 3)
    assert errors["false_acceptance"]["low"] < 1 / 3 < errors["false_acceptance"]["high"]
    assert sets["anchors"]["supported"]["negated"]["value"] == 0
    assert "pairs.jsonl (failed): the judge's errors on known claims: 0.333 [" in result.out
    scripted_server.clear_log()
    assert run_epoche("synthlink", "calibrate", *flags, "--out", "out").code == 0
    assert not scripted_server.requests, "a second calibration asks nothing"


def test_calibration_needs_one_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no judge is named" in check_error_line(run_epoche("synthlink", "calibrate"), 19)
    flags = ("--judge-model", "openai/x", "--nli", tmp_path)
    assert "either models or" in check_error_line(run_epoche("synthlink", "calibrate", *flags), 19)


# --- NLI --------------------------------------------------------------------------------------


def write_nli_model(folder: Path) -> Path:
    """Writes a small cross-encoder: "never" in the claim contradicts, "lake" entails."""
    onnx = pytest.importorskip("onnx")
    tokenizers = pytest.importorskip("tokenizers")
    import numpy as np

    words = ["[PAD]", "[UNK]", "[SEP]", "never", "lake"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A", pair="$A [SEP]:1 $B:1", special_tokens=[("[SEP]", 2)]
    )
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    labels = {"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"}
    (folder / "config.json").write_text(json.dumps({"id2label": labels}))
    # The logits are the sums of the words' weights: of "never" for the first label, of "lake" for
    # the second. Each text has [SEP] once, which gives the third a start.
    weights = np.zeros((len(words), 3), dtype=np.float32)
    weights[2, 2], weights[3, 0], weights[4, 1] = 2.0, 9.0, 5.0
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["weights", "input_ids"], ["found"]),
            helper.make_node("ReduceSum", ["found", "axes"], ["logits"], keepdims=0),
        ],
        "nli",
        [helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["n", "width"])],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["n", 3])],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(np.array([1], dtype=np.int64), "axes"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "model.onnx"))
    return folder


@pytest.mark.extra("onnx")
def test_nli_cross_encoder_judges_claims(workspace: Path) -> None:
    folder = write_nli_model(workspace / "nli")
    expected = {"It never sank.": "contradicted", "A lake.": "supported", "Stones.": "not_told"}
    items = [
        JudgeItem("claim", "HIA-01", JudgeView("What?", claim, ("Water.", "word " * 600)))
        for claim in expected
    ]
    items.append(JudgeItem("claim", "HIA-01", JudgeView("What?", "A lake.", ("word " * 600,))))
    judge = NliJudge(folder)
    assert [judge.judge_item(item, "").verdict for item in items] == [*expected.values(), None], (
        "too long a text"
    )
    rows: list[dict[str, Any]] = json.loads((workspace / "predictions.json").read_bytes())
    result = run_epoche(*make_score_command(workspace, "--nli", folder))
    assert result.code == 0, result.err
    report = read_scores(workspace / "out").report
    assert report.judge is not None
    assert report.judge.models == ("nli/nli",)
    assert len(read_journal(workspace / "out")) > len(rows)
    assert not report.judge.reliability.passed, "it knows two words"
    assert report.modes["corrected"].claims["unjudged"] == len(rows)
    shutil.rmtree(folder)
    message = check_error_line(run_epoche(*make_score_command(workspace, "--nli", folder)), 3)
    assert "config.json" in message


@pytest.mark.extra("onnx")
def test_nli_cross_encoder_judges_a_run(workspace: Path) -> None:
    folder = write_nli_model(workspace / "cross-encoder")
    flags: tuple[object, ...]
    flags = ("--catalog", workspace / "catalog.jsonl", "--pages", workspace / "pages.jsonl")
    flags += ("--system", "extractive", "--resamples", 100, "--out", workspace / "judged_run")
    refused = run_epoche("synthlink", "run", *flags, "--nli", folder, "--no-score")
    assert "--nli needs scores" in check_error_line(refused, 19)
    refused = run_epoche("synthlink", "run", *flags, "--nli", workspace / "absent")
    assert "config.json" in check_error_line(refused, 3)
    assert not (workspace / "judged_run").exists(), "refused before any question was asked"
    result = run_epoche("synthlink", "run", *flags, "--nli", folder)
    assert result.code == 0, result.err
    report = read_scores(workspace / "judged_run").report
    assert report.judge is not None
    assert report.judge.models == ("nli/cross-encoder",)
    flags = ("--nli", folder, "--judge-repeats", 2)
    assert "--judge-repeats" in check_error_line(
        run_epoche(*make_score_command(workspace, *flags)), 19
    )


@pytest.mark.extra("onnx")
def test_nli_cross_encoder_keeps_the_verdicts_of_other_judges(workspace: Path) -> None:
    folder, out = write_nli_model(workspace / "kept"), workspace / "kept_out"
    out.mkdir()
    other = VerdictLine(
        key="paid", kind="claim", question_id="HIA-01", claim="It sank.", verdict="supported",
        planned=1, votes=("supported",),
    )  # fmt: skip
    (out / JUDGED_FILE).write_bytes(to_json_bytes(other) + b"\n")
    command = make_score_command(workspace, "--nli", folder, out="kept_out")
    result = run_epoche(*command)
    assert result.code == 0, result.err
    journal = (out / JUDGED_FILE).read_bytes()
    lines = read_journal(out)
    assert [line["verdict"] for line in lines if line["key"] == "paid"] == ["supported"]
    assert len(lines) > 24
    assert run_epoche(*command).code == 0
    assert (out / JUDGED_FILE).read_bytes() == journal, "nothing is judged twice"


@pytest.mark.extra("onnx")
def test_other_models_are_refused(workspace: Path) -> None:
    folder = write_nli_model(workspace / "nli")
    (folder / "config.json").write_text(json.dumps({"id2label": {"0": "LABEL_0"}}))
    message = check_error_line(run_epoche(*make_score_command(workspace, "--nli", folder)), 19)
    assert "NLI model" in message
