"""Tests that C cards say when they rest on rules found in the data, and can be left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skn_reader import READER
from stage_calls import CommandResult, run_epoche

from cards.card import Card, read_cards, write_cards
from eval.abstention.card_check import check_cards, read_checked_results
from eval.abstention.metrics.cluster_samples import Plan
from eval.abstention.metrics.mined_cards import leave_out_mined_cards
from eval.abstention.metrics.observations import Observations, read_observations
from eval.abstention.metrics.record import MetricsReport, read_metrics
from eval.abstention.metrics.report import measure
from eval.abstention.result import result_from_json, result_to_json
from kg.base.errors import SettingError
from kg.claims import Claim, Proof, Verdict, Violation
from kg.words.proofs import MINED_RULE_NOTE
from reporting.card_report.proofs import describe_proof

EX = "https://example.org/"
MONTHS = ("January", "March", "May", "July", "October")
MINED = "urn:epoche:mined:one-value#"
FEW = ("--resamples", 100)


def write_graph(folder: Path) -> tuple[Path, Path]:
    """Writes people with a month of birth, a month of death and a favourite month, and shapes.

    The first rule was found in the data, the second is the publisher's, the third is both.
    """
    lines = [f"@prefix ex: <{EX}> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for n in range(90):
        lines.append(
            f'ex:p{n} a ex:Person ; rdfs:label "Person {chr(65 + n % 26)}{chr(97 + n // 26)}" ; '
            f'ex:birthMonth "{MONTHS[n % 5]}" ; ex:deathMonth "{MONTHS[n * 3 // 2 % 5]}" ; '
            f'ex:bestMonth "{MONTHS[n * 7 // 3 % 5]}" .'
        )
    graph, shapes = folder / "people.ttl", folder / "shapes.ttl"
    graph.write_text("\n".join(lines), "utf-8")
    rules = [
        ("birthMonth", f"{MINED}birthMonth"),
        ("deathMonth", f"{EX}OneDeath"),
        ("bestMonth", f"{EX}OneBest"),
        ("bestMonth", f"{MINED}bestMonth"),
    ]
    shapes.write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        + "\n".join(
            f"<{name}> a sh:PropertyShape ; sh:targetSubjectsOf <{EX}{pred}> ; "
            f"sh:path <{EX}{pred}> ; sh:maxCount 1 ."
            for pred, name in rules
        ),
        "utf-8",
    )
    return graph, shapes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cards with near-misses, and the results of two systems with their metrics."""
    folder = tmp_path_factory.mktemp("mined")
    graph, shapes = write_graph(folder)
    predicates = [x for name in ("birth", "death", "best") for x in ("--pred", f"{EX}{name}Month")]
    sources = ("--kg", graph, "--shapes", shapes, *predicates)
    first, near, cards = (folder / f"{name}.jsonl" for name in ("first", "near", "cards"))
    run("cards", *sources, "--num-per-type", 9, "--faithfulness", "--out", first)
    run("near-miss", "--cards", first, *predicates, "--num", 12, "--out", near)
    run("join", first, near, "--out", cards)
    for system in ("kg", "rag"):
        run("eval", "--cards", cards, "--system", system, "--out", folder / f"{system}.jsonl")
    run("metrics", *list_results(folder), *FEW, "--out", folder / "metrics.json")
    return folder


def list_results(folder: Path) -> tuple[Path, Path]:
    return folder / "kg.jsonl", folder / "rag.jsonl"


def run(*arguments: object) -> CommandResult:
    done = run_epoche(*arguments)
    assert done.code == 0, done.err
    return done


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def find_mined(cards: list[Card]) -> set[str]:
    """Returns the ids of the cards about months of birth that are contradictory."""
    return {card.id for card in cards if card.label == "C" and "birth" in card.claim.pred}


def test_cards_and_rows_say_that_they_rest_on_mined_rules(folder: Path) -> None:
    cards = read_cards(folder / "cards.jsonl")
    mined = find_mined(cards)
    kinds = {card.kind for card in cards if card.id in mined}
    assert {"functional", "counterfactual"} < kinds
    assert any(kind.startswith("near-miss/") for kind in kinds)
    assert {card.id for card in cards if card.rests_on_mined_rules} == mined
    # The third rule is also the publisher's, so nothing rests on the mined one.
    both = [card.proof for card in cards if card.label == "C" and "best" in card.claim.pred]
    assert both
    assert all(len(proof.violations) == 2 for proof in both if proof)
    for path in list_results(folder):
        rows = read_rows(path)
        assert {row["id"] for row in rows if row.get("mined_rules")} == mined
        # Rows of other cards are as they were.
        assert all("mined_rules" not in row for row in rows if row["id"] not in mined)
        assert [result_to_json(result_from_json(row)) for row in rows] == rows


def test_proofs_say_so_in_words(folder: Path) -> None:
    cards = {card.id: card for card in read_cards(folder / "cards.jsonl")}
    # The oracle replies with the proof.
    proofs = {row["id"]: row["raw"] for row in read_rows(folder / "kg.jsonl")}
    for card in cards.values():
        if card.label == "C" and not card.kind.startswith("counterfactual"):
            is_mined = "death" not in card.claim.pred
            assert (MINED_RULE_NOTE in proofs[card.id]) == is_mined, proofs[card.id]
            assert card.proof
            text = describe_proof(Verdict(card.claim, "C", card.proof))
            assert (MINED_RULE_NOTE in text) == card.rests_on_mined_rules


def test_verify_finds_rows_that_hide_it(folder: Path, tmp_path: Path) -> None:
    rows = read_rows(folder / "rag.jsonl")
    changed = next(row for row in rows if row.pop("mined_rules", False))
    path = write_rows(tmp_path / "rag.jsonl", rows)
    manifest = (folder / "rag.manifest.json").read_text("utf-8")
    (tmp_path / "rag.manifest.json").write_text(manifest, "utf-8")
    done = run_epoche("verify", path, "--cards", folder / "cards.jsonl", "--no-proofs")
    assert done.code != 0
    assert "mined_rules" in done.out + done.err
    assert changed["id"] in done.out + done.err


def test_metrics_count_them_and_leave_them_out(folder: Path, tmp_path: Path) -> None:
    mined = find_mined(read_cards(folder / "cards.jsonl"))
    whole = read_metrics(folder / "metrics.json")
    assert (whole.label_counts["C"], whole.n_mined, whole.n_mined_left_out) == (9, 3, None)
    assert any(note.startswith("3 of 9 C cards rest on rules") for note in whole.notes)
    done = run(
        *("metrics", *list_results(folder), *FEW, "--without-mined", "--out", tmp_path / "m.json")
    )
    left = read_metrics(tmp_path / "m.json")
    assert f"--without-mined left out {len(mined)} C cards" in done.out
    assert "all-three leaves out these triplets" in done.out
    assert (left.n_mined, left.n_mined_left_out) == (0, len(mined))
    # The E and U cards of the same triplets are kept.
    assert left.label_counts == whole.label_counts | {"C": 6}
    signatures = {
        value.signature
        for policy in left.policies.values()
        for system in policy.systems.values()
        for value in system.metrics.values()
    }
    assert all("|mined:left-out|" in signature for signature in signatures)
    assert read_metrics(folder / "metrics.json") == whole


def strip_signatures(report: MetricsReport) -> Any:
    """Returns tables and values, without notes, counts of what was left out and signatures."""
    values = msgspec.to_builtins(msgspec.structs.replace(report, notes=(), n_mined_left_out=None))

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(entry) for key, entry in value.items() if key != "signature"}
        return [strip(entry) for entry in value] if isinstance(value, list | tuple) else value

    return strip(values | dict.fromkeys(("sources", "warnings", "content_sha256")))


@settings(max_examples=25)
@given(
    answers=st.lists(
        st.tuples(
            st.sampled_from("ECU"),
            st.sampled_from(["YES", "NO", "UNKNOWN", "ERROR"]),
            st.sampled_from("abcd"),
            st.booleans(),
            st.sampled_from(["functional", "near-miss/sibling", "counterfactual"]),
            st.one_of(st.none(), st.floats(0, 1)),
        ),
        min_size=2,
        max_size=20,
    ),
    repeats=st.integers(1, 2),
)
def test_left_out_cards_might_as_well_not_be_there(
    tmp_path_factory: pytest.TempPathFactory, answers: list[Any], repeats: int
) -> None:
    rows = [
        {
            **{"id": f"{n:03}", "label": label, "pred": pred, "cluster": cluster, "kind": kind},
            **{"system": "s", "cards": "0123456789ab", "confidence": confidence, "repeat": repeat},
            **({"mined_rules": True} if is_mined and label == "C" else {}),
        }
        for n, (label, pred, cluster, is_mined, kind, confidence) in enumerate(answers)
        for repeat in range(repeats)
    ]
    folder = tmp_path_factory.mktemp("rows")
    observations = read_observations([write_rows(folder / "all.jsonl", rows)])
    kept = [row for row in rows if "mined_rules" not in row]
    if not kept:
        with pytest.raises(SettingError):
            leave_out_mined_cards(observations)
        return
    left = leave_out_mined_cards(observations)
    assert left.n_mined_left_out == (len(rows) - len(kept)) // repeats
    expected = read_observations([write_rows(folder / "kept.jsonl", kept)])
    assert list(left.ids) == list(expected.ids)
    assert np.array_equal(left.clusters, expected.clusters)
    plan = Plan(resamples=100)
    assert strip_signatures(measure(left, plan)) == strip_signatures(measure(expected, plan))


def list_mined(observations: Observations) -> set[str]:
    return {card for card, mined in zip(observations.ids, observations.mined, strict=True) if mined}


def test_results_of_others_are_matched_by_their_cards(folder: Path, tmp_path: Path) -> None:
    rows = [
        {key: row[key] for key in ("id", "system", "pred", "label")}
        for row in read_rows(folder / "rag.jsonl")
    ]
    path, cards = write_rows(tmp_path / "theirs.jsonl", rows), folder / "cards.jsonl"
    assert not read_observations([path]).mined.any()
    mined = find_mined(read_cards(cards))
    checked = check_cards(read_observations([path]), [cards])
    assert list_mined(checked) == mined
    kept_ids = {row["id"] for row in rows} - mined
    assert set(leave_out_mined_cards(checked).ids) == kept_ids
    left = read_checked_results([path], [cards], without_mined=True)
    assert left.labels.size == len(kept_ids)
    # Rows that lack the field are completed by those of another file, and by the card's ERROR.
    whole = [row | {"cards": "", "kind": "k", "difficulty": "easy", "cluster": "c"} for row in rows]
    first = write_rows(tmp_path / "first.jsonl", [row | {"system": "x"} for row in whole])
    assert list_mined(read_observations([first, folder / "kg.jsonl"])) == mined
    cut = write_rows(tmp_path / "rag.jsonl", read_rows(folder / "rag.jsonl")[:1])
    manifest = (folder / "rag.manifest.json").read_text("utf-8")
    (tmp_path / "rag.manifest.json").write_text(manifest, "utf-8")
    read = read_observations([cut], cards=[cards], allow_changed=True)
    assert list_mined(read) == mined


def test_a_label_that_is_gone_is_said(folder: Path, tmp_path: Path) -> None:
    rows = [row for row in read_rows(folder / "rag.jsonl") if row["label"] != "C"]
    rows += [row for row in read_rows(folder / "rag.jsonl") if row.get("mined_rules")]
    path = write_rows(tmp_path / "r.jsonl", rows)
    done = run(
        *("metrics", path, "--without-mined", *FEW, "--out", tmp_path / "m.json"),
    )
    unverified, warning = read_metrics(tmp_path / "m.json").warnings
    assert "rows:unverified" in unverified
    assert "no card has the answer NO" in warning
    assert warning.startswith("Without the cards that rest on rules found in the data")
    assert done.out.startswith(f"WARNING: {unverified}\nWARNING: {warning}\n")
    strict = ("metrics", path, "--strict", *FEW, "--out", tmp_path / "n.json")
    assert run_epoche(*strict).code == 0
    assert run_epoche(*strict, "--without-mined").code == 17


def test_compare_and_gate_leave_them_out(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    compare = ("compare", *list_results(folder), *FEW, "--out", out)
    assert "note: 3 of 9 C cards rest on rules" in run(*compare).out
    whole = json.loads(out.read_text("utf-8"))
    done = run(*compare, "--without-mined")
    left = json.loads(out.read_text("utf-8"))
    assert left["n_cards"] == whole["n_cards"] - 3
    assert "note: --without-mined left out" in done.out
    assert any("left out" in note for note in left["notes"])
    assert "left out" in out.with_suffix(".html").read_text("utf-8")
    gate = ("gate", folder / "rag.jsonl", "--baseline", folder / "kg.jsonl", *FEW)
    done = run_epoche(*gate, "--metric", "rag:CVRR>=0")
    assert "note: 3 of 9 C cards rest on rules" in done.out
    assert "of 9)" in done.out
    done = run_epoche(*gate, "--metric", "rag:CVRR>=0", "--without-mined")
    assert done.out.count("--without-mined left out") == 1
    assert "of 6)" in done.out


def test_the_report_counts_them_and_leaves_them_out(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    report = ("report", *list_results(folder), "--metrics", folder / "metrics.json", "--out", out)
    run(*report)
    said = "3 are so only by rules that were found in the data"
    assert said in out.read_text("utf-8")
    assert said in out.with_suffix(".md").read_text("utf-8")
    # It takes metrics without these cards as they are, and computes those with them again.
    metrics = tmp_path / "without.json"
    run(*("metrics", *list_results(folder), *FEW, "--without-mined", "--out", metrics))
    mined = find_mined(read_cards(folder / "cards.jsonl"))
    documents = []
    for options in (("--without-mined",), ("--metrics", metrics)):
        run(*report, *options)
        document = json.loads(out.with_suffix(".json").read_text("utf-8"))
        documents.append(document)
        assert not mined & {card["id"] for card in document["cards"]}
        said = f"{len(mined)} contradictory cards are left out"
        assert any(said in sentence for sentence in document["verdict"])
        assert said in out.read_text("utf-8")
    policies = [document["metrics"]["policies"] for document in documents]
    assert policies[0] == policies[1]


def test_run_folders_have_no_such_cards(tmp_path: Path) -> None:
    manifest = tmp_path / "run" / "run_manifest.json"
    run("skn", "run", *READER, "--limit", 1, "--out", manifest.parent)
    for command in ("metrics", "compare", "report"):
        done = run_epoche(command, manifest.parent, "--without-mined")
        assert "--without-mined is only for results of cards" in done.err


def test_a_contradiction_rests_on_mined_rules_if_all_its_rules_are_mined() -> None:
    def prove(*shapes: str) -> Proof:
        violations = tuple(Violation(shape, "MaxCount", EX) for shape in shapes)
        return Proof("violation", "index", violations=violations)

    nested = f"{MINED}x/(^<{EX}p>)+"
    assert prove(f"{MINED}x", nested).rests_on_mined_rules
    for other in (EX, "urn:epoche:confirmed:one-value#x", "urn:epoche:ontology:one-value#x"):
        assert not prove(f"{MINED}x", other).rests_on_mined_rules
    claim = Claim(EX, EX, EX)
    assert not Proof("denied", "index", premises=(claim,)).rests_on_mined_rules
    unmet = msgspec.structs.replace(prove(f"{MINED}x"), kind="unproved")
    assert not unmet.rests_on_mined_rules


def test_what_others_write_into_a_card_is_no_error(folder: Path, tmp_path: Path) -> None:
    card = read_cards(folder / "cards.jsonl")[0]
    for value in ("yes", 1, None, [True]):
        path = tmp_path / "cards.jsonl"
        write_cards(path, [msgspec.structs.replace(card, meta={"mined_rules": value})])
        assert not read_cards(path)[0].rests_on_mined_rules
