"""Tests of a report's files: reproducible bytes, no outside references, justified statements."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from stage_calls import MAYORS, PRODUCT, run_epoche

from eval.abstention.metrics.record import CardComparison, ControlWin
from eval.stats.paired_tests import Discordant
from kg.base.errors import DomainError, EpocheError
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from reporting.card_report.card_data import SAME_PROOF_TEXT
from reporting.card_report.group_view import GroupView
from reporting.card_report.inputs import read_inputs
from reporting.card_report.proofs import describe_proof
from reporting.card_report.report_files import ProofSource, open_proof_source, write_report
from reporting.card_report.report_view import ReportView
from reporting.card_report.summary_text import list_caveats, summarise_results
from reporting.card_report.view_records import build_pair_row
from reporting.html_report import main

REPORT_SCRIPT = PRODUCT / "reporting" / "html_report.py"


@pytest.fixture(scope="module")
def folder(finished_run, tmp_path_factory):
    out = tmp_path_factory.mktemp("files")
    main(finished_run.results, None, finished_run.metrics, out / "report.html")
    return out


@pytest.fixture(scope="module")
def inputs(finished_run):
    return read_inputs(finished_run.results, finished_run.metrics)


def test_all_formats_are_written(folder):
    names = sorted(path.name for path in folder.iterdir())
    exports = ["report.cards.csv", "report.csv", "report.json", "report.md"]
    assert names == sorted(["report.html", *exports])
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in exports:
        assert name in page


def test_hash_seed_does_not_change_the_bytes(finished_run, folder, tmp_path):
    for seed in ("0", "1"):
        out = tmp_path / seed / "report.html"
        subprocess.run(
            [sys.executable, str(REPORT_SCRIPT), *finished_run.list_arguments(out)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for path in folder.iterdir():
            assert (out.parent / path.name).read_bytes() == path.read_bytes(), path.name


def test_page_is_self_contained(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    markup = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.S)
    references = re.findall(r"""\b(?:src|href|action|poster)\s*=\s*["']?([^"'>\s]*)""", markup)
    assert references
    assert [name for name in references if not name.startswith(("#", "`#"))] == []
    assert not re.search(r"@import|url\(", markup)


def test_headline_numbers_equal_the_metrics(folder, inputs):
    page = (folder / "report.html").read_text(encoding="utf-8")
    for policy in inputs.metrics.policies.values():
        for system in (policy.systems[name] for name in ReportView(inputs.metrics).systems):
            for key in ("AP", "CVRR", "FAR-NE", "LA", "accuracy"):
                estimate = system.metrics[key]
                if estimate.value is not None:
                    assert f"{estimate.value:.3f}" in page
                    assert estimate.low is None or f"{estimate.low:.3f}–{estimate.high:.3f}" in page


def test_csv_has_every_metric_and_every_card(folder, inputs):
    rows = list(csv.DictReader(io.StringIO((folder / "report.csv").read_text(encoding="utf-8"))))
    kg_rows = [
        r for r in rows if (r["policy"], r["system"], r["metric"]) == ("licensed", "kg", "LA")
    ]
    assert len(kg_rows) == 1
    assert kg_rows[0]["role"] == "oracle"
    estimate = inputs.metrics.policies["licensed"].systems["kg"].metrics["LA"]
    assert float(kg_rows[0]["value"]) == estimate.value
    assert kg_rows[0]["signature"] == estimate.signature
    assert {row["role"] for row in rows} == {"oracle", "system", "control"}
    text = (folder / "report.cards.csv").read_text(encoding="utf-8")
    cards = list(csv.DictReader(io.StringIO(text)))
    assert [card["id"] for card in cards] == [card.id for card in inputs.cards]
    assert all(card["kg"] == card["gold"] and card["kg: outcome"] == "right" for card in cards)


def test_markdown_and_json_agree(folder, inputs):
    text = (folder / "report.md").read_text(encoding="utf-8")
    document = json.loads((folder / "report.json").read_bytes())
    assert document["metrics"]["cards"] == inputs.metrics.cards
    assert len(document["cards"]) == 60
    assert document["cards"][0]["answers"]["kg"]["outcome"] == "right"
    assert "## Policy licensed" in text
    assert "## Pairwise comparisons" in text
    column_counts = {}
    for block in text.split("\n\n"):
        if block.startswith("| "):
            column_counts = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(column_counts) == 1, block
    assert column_counts


def test_proofs_without_domain_words_are_noted(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Proofs are worded from their records" in page
    assert "The graph states it: " in page


def test_unreachable_domain_is_named_or_an_error():
    source = open_proof_source("no-such-domain", is_required=False)
    assert source.render_proof is describe_proof
    assert "no-such-domain" in source.notice
    with pytest.raises(DomainError):
        open_proof_source("no-such-domain", is_required=True)


def test_report_words_proofs_with_the_graph_that_the_cards_name(tmp_path):
    for name in ("mayors.ttl", "mayors.shacl.ttl"):
        shutil.copy(MAYORS / name, tmp_path / f"own-{name}")
    graph, shapes = tmp_path / "own-mayors.ttl", tmp_path / "own-mayors.shacl.ttl"
    cards, rows, metrics = (tmp_path / name for name in ("c.jsonl", "kg.jsonl", "m.json"))
    source = ("--kg", graph, "--shapes", shapes)
    for command in (
        ("cards", *source, "--pred", "mayor", "--num-per-type", 3, "--out", cards),
        ("eval", "--cards", cards, "--system", "kg", "--out", rows),
        ("metrics", "--results", rows, "--resamples", 100, "--out", metrics),
    ):
        assert run_epoche(*command).code == 0
    report = ("report", "--results", rows, "--metrics", metrics, "--out", tmp_path / "r.html")
    done = run_epoche(*report)
    assert (done.code, done.err) == (0, "")
    assert "worded from their records" not in (tmp_path / "r.html").read_text(encoding="utf-8")
    (tmp_path / "c.graph.nt").rename(tmp_path / "moved.nt")
    done = run_epoche(*report)
    assert done.code == 0
    assert "no manifest names a graph that is still there" in " ".join(done.err.split())
    assert "could not be opened" not in done.err


def test_domain_wording_comes_from_its_knowledge_base():
    source = open_proof_source("rivers", is_required=True)
    base = KnowledgeBase.open("rivers")
    claim = next(base.graph.iter_claims())
    verdict = base.oracle.license(claim)
    assert source.render_proof(verdict) == base.verbaliser.render_proof(verdict)
    assert (source.domain_title, source.notice) == (base.domain.title, "")


def test_second_proof_is_shown_if_valid(inputs, tmp_path):
    first_card, second_card, third_card, *other_cards = inputs.cards
    proof = msgspec.to_builtins(second_card.proof)
    cards_with_second_proofs = (
        msgspec.structs.replace(first_card, meta={"card_proof": {"kind": "<b>"}}),
        msgspec.structs.replace(second_card, meta={"card_proof": proof}),
        msgspec.structs.replace(
            third_card, meta={"card_proof": {"kind": "denied", "engine": "index"}}
        ),
        *other_cards,
    )
    changed_inputs = dataclasses.replace(inputs, cards=cards_with_second_proofs)
    write_report(changed_inputs, tmp_path / "r.html", ProofSource(describe_proof))
    cards = json.loads((tmp_path / "r.json").read_bytes())["cards"]
    assert cards[0]["card_proof"] is None
    assert cards[1]["card_proof"] == SAME_PROOF_TEXT
    assert cards[2]["card_proof"].startswith("The graph denies it")
    assert "From the card alone" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_card_without_proof_is_noted(inputs, tmp_path):
    card_without_proof = msgspec.structs.replace(inputs.cards[0], proof=None)
    changed_inputs = dataclasses.replace(inputs, cards=(card_without_proof, *inputs.cards[1:]))
    write_report(changed_inputs, tmp_path / "r.html", ProofSource(describe_proof), ["html", "csv"])
    assert "This card has no proof." in (tmp_path / "r.cards.csv").read_text(encoding="utf-8")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "1 of 60 cards have no proof" in page
    assert f"answered {inputs.metrics.n_cards} cards: " in page
    assert "cards with a proved answer" not in page


def test_surrogates_and_control_characters_do_not_break_files(inputs, tmp_path):
    """Files cannot contain such characters, but callers of the functions can pass them."""
    hostile_text = "a\ud800b\x00c\x1b[31m"
    card = inputs.cards[0]
    changed_card = msgspec.structs.replace(
        card,
        id=hostile_text,
        question=hostile_text,
        facts=(hostile_text,),
        rules=(hostile_text,),
        kind=hostile_text,
        claim=Claim(hostile_text, hostile_text, hostile_text),
        proof=None,
    )
    changed_inputs = dataclasses.replace(inputs, cards=(changed_card, *inputs.cards[1:]))
    source = ProofSource(lambda verdict: hostile_text, hostile_text, hostile_text)
    for path in write_report(changed_inputs, tmp_path / "r.html", source):
        text = path.read_bytes().decode("utf-8")
        assert "\x00" not in text
        assert "\\u0000" not in text


def test_unasked_cards_are_marked(inputs, tmp_path):
    replies = {**inputs.replies, "hasty": {}}
    partial_inputs = dataclasses.replace(inputs, replies=replies)
    write_report(partial_inputs, tmp_path / "r.html", ProofSource(describe_proof), ["html", "json"])
    assert "not asked" in (tmp_path / "r.html").read_text(encoding="utf-8")
    card_rows = json.loads((tmp_path / "r.json").read_bytes())["cards"]
    assert card_rows[0]["answers"]["hasty"]["pred"] is None


def test_single_system_has_no_comparison(report_kit, tmp_path):
    finished_run = report_kit.build_finished_run(
        tmp_path, None, {"only": (0.5, 0.2, 0.0)}, controls=False
    )
    main(finished_run.results, None, finished_run.metrics, tmp_path / "r.html", formats="html,md")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="pairs"' not in page
    assert "the only system compared" in page
    n_cards = read_inputs(finished_run.results, finished_run.metrics).metrics.n_cards
    assert f"One system answered {n_cards} cards" in page
    assert "Systems disagree" in page


def test_faithfulness_cards_are_separate(report_kit, tmp_path):
    cards = report_kit.make_cards(60)
    kinds = ("withheld", "counterfactual")
    cards[:20] = [
        msgspec.structs.replace(card, kind=kinds[i % 2]) for i, card in enumerate(cards[:20])
    ]
    finished_run = report_kit.build_finished_run(tmp_path, cards)
    main(finished_run.results, None, finished_run.metrics, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="faithfulness"' in page
    headline_cards = [card for card in cards[20:] if not card.kind.startswith("near-miss/")]
    assert f"answered {len(headline_cards)} cards" in page
    assert "faithfulness cards, separate" in page
    view = ReportView(read_inputs(finished_run.results, finished_run.metrics).metrics)
    answer_counts = GroupView(view).count_answers("faithfulness")
    for kind in kinds:
        kind_cards = [card for card in cards if card.kind == kind]
        golds = [card.gold for card in kind_cards]
        # The first text is that of kg, which is always right here, so it gives each answer as
        # often as it is gold.
        texts_by_gold = {gold: texts[0] for name, gold, texts in answer_counts if name == kind}
        assert texts_by_gold == {gold: f"{gold} {golds.count(gold)}" for gold in texts_by_gold}
        assert sorted(texts_by_gold) == sorted(set(golds))


def make_pair(a, b, better, difference, low, high):
    return CardComparison(
        candidate=a, baseline=b, policy="licensed", metric="accuracy",
        value_candidate=0.5, value_baseline=0.5,
        difference=difference, low=low, high=high, better=better, test="mcnemar-exact",
        p=0.2, p_holm=0.4, discordant=Discordant(1, 2, 3, 4),
    )  # fmt: skip


def test_verdict_states_only_significant_differences(inputs):
    # The systems rank kg, careful, hasty, whatever the invented comparisons say.
    undecided_pairs = (
        make_pair("careful", "hasty", None, 0.2, -0.1, 0.4),
        make_pair("kg", "careful", None, 0.1, 0, 0.2),
    )
    undecided_metrics = msgspec.structs.replace(inputs.metrics, comparisons=undecided_pairs)
    text = " ".join(
        summarise_results(undecided_metrics, ReportView(undecided_metrics).systems).sentences
    )
    assert "more accurate" not in text
    assert (
        "Paired tests on the same cards find no difference in accuracy between kg and careful and "
        "between careful and hasty."
    ) in text
    decided_pairs = (make_pair("hasty", "careful", "careful", -0.2, -0.3, -0.1),)
    decided_metrics = msgspec.structs.replace(inputs.metrics, comparisons=decided_pairs)
    text = " ".join(
        summarise_results(decided_metrics, ReportView(decided_metrics).systems).sentences
    )
    assert "careful more accurate than hasty by 20.0 points (10.0 to 30.0)" in text
    assert "no difference" not in text


def test_finding_depends_on_the_kind_of_metric_and_its_interval():
    accuracy_pair = make_pair("a", "b", None, 0.1, 0.0, 0.2)
    assert build_pair_row(accuracy_pair).finding == "no significant difference"
    coverage_pair = msgspec.structs.replace(accuracy_pair, metric="coverage", p_holm=0.001)
    assert (
        build_pair_row(coverage_pair).finding == "no significant difference"
    )  # the interval contains 0
    coverage_pair = msgspec.structs.replace(coverage_pair, low=0.01)
    assert build_pair_row(coverage_pair).finding == "they differ"
    assert build_pair_row(msgspec.structs.replace(accuracy_pair, p=None, p_holm=None)).finding == (
        "not tested"
    )
    row = build_pair_row(make_pair("a", "b", "b", -0.1, -0.2, -0.05))
    assert (row.finding, row.difference) == ("b is better", "−0.100")
    assert (row.interval, row.discordant) == ("−0.200 to −0.050", "2 : 3")


def test_caveats_name_metrics_that_a_control_wins(inputs):
    assert list_caveats(inputs.metrics) == []
    win = ControlWin(
        metric="skill@.5", value=0, controls=("always-UNKNOWN",), won=True, beaten=("a",), tied=()
    )
    policy = msgspec.structs.replace(inputs.metrics.policies["licensed"], won_by_controls=(win,))
    metrics = msgspec.structs.replace(inputs.metrics, policies={"licensed": policy})
    assert list_caveats(metrics) == [
        "A trivial baseline matches or beats every system on skill@.5 (always-UNKNOWN): read that "
        "metric only together with the others."
    ]


def test_controls_never_enter_the_comparisons_or_the_groups(inputs):
    view = ReportView(inputs.metrics)
    assert view.systems == ["kg", "careful", "hasty"]
    for _, rows in view.group_comparisons("licensed"):
        assert rows
        assert all({row.pair.candidate, row.pair.baseline} <= set(view.systems) for row in rows)
    assert GroupView(view).build_kinds().systems == ("kg", "careful", "hasty")
    assert {
        line.name for _, lines in GroupView(view).build_near_misses().sections for line in lines
    } == {
        "all near-misses",
        "downstream",
        "sibling",
    }


def test_errors_are_one_line_with_an_exit_code(finished_run, tmp_path):
    result = subprocess.run(
        [
            sys.executable,
            str(REPORT_SCRIPT),
            *finished_run.list_arguments(tmp_path / "r.html"),
            "--formats",
            "pdf",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == EpocheError.exit_code or result.returncode > 2
    assert result.stderr.startswith("error: unknown format 'pdf'")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "r.html").exists()
