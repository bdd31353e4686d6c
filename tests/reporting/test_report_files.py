"""The files of a report: the same bytes every time, nothing from elsewhere, honest words."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from eval.metrics.record import PairedComparison
from eval.stats.paired import Discordant
from kg.base.errors import DomainError, EpocheError
from kg.claims import Claim
from kg.knowledge import KnowledgeBase
from reporting.card_data import SAME_PROOF
from reporting.group_view import GroupView
from reporting.html_report import main
from reporting.inputs import read_inputs
from reporting.pair_words import pair_row
from reporting.proofs import plain_proof
from reporting.report_files import ProofSource, proof_source, write_report
from reporting.verdict import caveats, verdict
from reporting.view import View

SCRIPT = Path(__file__).parents[2] / "reporting" / "html_report.py"


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    out = tmp_path_factory.mktemp("files")
    main(world.results, None, world.metrics, out / "report.html")
    return out


@pytest.fixture(scope="module")
def inputs(world):
    return read_inputs(world.results, world.metrics)


def test_writes_all_formats_beside_each_other(folder):
    names = sorted(path.name for path in folder.iterdir())
    exports = ["report.cards.csv", "report.csv", "report.json", "report.md"]
    assert names == sorted(["report.html", *exports])
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in exports:
        assert name in page


def test_the_script_gives_the_same_bytes_whatever_the_hash_seed(world, folder, tmp_path):
    for seed in ("0", "1"):
        out = tmp_path / seed / "report.html"
        subprocess.run(
            [sys.executable, str(SCRIPT), *world.flags(out)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for path in folder.iterdir():
            assert (out.parent / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_page_names_nothing_outside_itself(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    markup = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.S)
    named = re.findall(r"""\b(?:src|href|action|poster)\s*=\s*["']?([^"'>\s]*)""", markup)
    assert named
    assert [name for name in named if not name.startswith(("#", "`#"))] == []
    assert not re.search(r"@import|url\(", markup)


def test_the_page_shows_the_headline_numbers_as_they_stand_in_the_metrics(folder, inputs):
    page = (folder / "report.html").read_text(encoding="utf-8")
    for policy in inputs.metrics.policies.values():
        for system in (policy.systems[name] for name in View(inputs.metrics).systems):
            for key in ("AP", "CVRR", "FAR-NE", "LA", "accuracy"):
                value = system.metrics[key]
                if value.value is not None:
                    assert f"{value.value:.3f}" in page
                    assert value.low is None or f"{value.low:.3f}–{value.high:.3f}" in page


def test_csv_holds_every_metric_and_every_card(folder, inputs):
    rows = list(csv.DictReader(io.StringIO((folder / "report.csv").read_text(encoding="utf-8"))))
    kg = [r for r in rows if (r["policy"], r["system"], r["metric"]) == ("licensed", "kg", "LA")]
    assert len(kg) == 1
    assert kg[0]["role"] == "oracle"
    value = inputs.metrics.policies["licensed"].systems["kg"].metrics["LA"]
    assert float(kg[0]["value"]) == value.value
    assert kg[0]["signature"] == value.signature
    assert {row["role"] for row in rows} == {"oracle", "system", "control"}
    text = (folder / "report.cards.csv").read_text(encoding="utf-8")
    cards = list(csv.DictReader(io.StringIO(text)))
    assert [card["id"] for card in cards] == [card.id for card in inputs.cards]
    assert all(card["kg"] == card["gold"] and card["kg: outcome"] == "right" for card in cards)


def test_markdown_and_json_tell_the_same(folder, inputs):
    text = (folder / "report.md").read_text(encoding="utf-8")
    document = json.loads((folder / "report.json").read_bytes())
    assert document["metrics"]["cards"] == inputs.metrics.cards
    assert len(document["cards"]) == 60
    assert document["cards"][0]["answers"]["kg"]["outcome"] == "right"
    assert "## Policy licensed" in text
    assert "## System against system" in text
    widths = {}
    for block in text.split("\n\n"):
        if block.startswith("| "):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(widths) == 1, block
    assert widths


def test_says_when_proofs_are_in_plain_words(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Proofs are in plain words" in page
    assert "The graph states it: " in page


def test_a_domain_out_of_reach_is_named_unless_it_was_asked_for():
    source = proof_source("no-such-domain", asked_for=False)
    assert source.words is plain_proof
    assert "no-such-domain" in source.notice
    with pytest.raises(DomainError):
        proof_source("no-such-domain", asked_for=True)


def test_the_words_of_a_domain_are_those_of_its_knowledge_base():
    source = proof_source("rivers", asked_for=True)
    base = KnowledgeBase.open("rivers")
    asked = next(base.graph.claims())
    verdict = base.oracle.license(asked)
    assert source.words(verdict) == base.words.proof(verdict)
    assert (source.domain_title, source.notice) == (base.domain.title, "")


def test_the_second_proof_of_a_card_is_shown_and_a_strange_one_is_not(inputs, tmp_path):
    first, second, third, *rest = inputs.cards
    proof = msgspec.to_builtins(second.proof)
    deck = (
        msgspec.structs.replace(first, meta={"card_proof": {"kind": "<b>"}}),
        msgspec.structs.replace(second, meta={"card_proof": proof}),
        msgspec.structs.replace(third, meta={"card_proof": {"kind": "denied", "engine": "index"}}),
        *rest,
    )
    changed = dataclasses.replace(inputs, cards=deck)
    write_report(changed, tmp_path / "r.html", ProofSource(plain_proof))
    cards = json.loads((tmp_path / "r.json").read_bytes())["cards"]
    assert cards[0]["card_proof"] is None
    assert cards[1]["card_proof"] == SAME_PROOF
    assert cards[2]["card_proof"].startswith("The graph denies it")
    assert "From the card alone" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_card_without_proof_says_so(inputs, tmp_path):
    first = msgspec.structs.replace(inputs.cards[0], proof=None)
    changed = dataclasses.replace(inputs, cards=(first, *inputs.cards[1:]))
    write_report(changed, tmp_path / "r.html", ProofSource(plain_proof), ["html", "csv"])
    assert "came without a proof" in (tmp_path / "r.cards.csv").read_text(encoding="utf-8")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "1 of 60 cards came without a proof" in page
    assert f"answered {inputs.metrics.n_cards} cards: " in page
    assert "cards with a proved answer" not in page


def test_lone_surrogates_and_controls_cannot_break_the_files(inputs, tmp_path):
    """No file can hold them, so they can only come from code; still they must not lose a report."""
    bad = "a\ud800b\x00c\x1b[31m"
    card = inputs.cards[0]
    changed = msgspec.structs.replace(
        card,
        id=bad,
        question=bad,
        facts=(bad,),
        rules=(bad,),
        kind=bad,
        claim=Claim(bad, bad, bad),
        proof=None,
    )
    deck = dataclasses.replace(inputs, cards=(changed, *inputs.cards[1:]))
    source = ProofSource(lambda verdict: bad, bad, bad)
    for path in write_report(deck, tmp_path / "r.html", source):
        text = path.read_bytes().decode("utf-8")
        assert "\x00" not in text
        assert "\\u0000" not in text


def test_a_system_that_was_not_asked_a_card_is_shown_as_such(inputs, tmp_path):
    answers = {**inputs.answers, "hasty": {}}
    partial = dataclasses.replace(inputs, answers=answers)
    write_report(partial, tmp_path / "r.html", ProofSource(plain_proof), ["html", "json"])
    assert "not asked" in (tmp_path / "r.html").read_text(encoding="utf-8")
    cards = json.loads((tmp_path / "r.json").read_bytes())["cards"]
    assert cards[0]["answers"]["hasty"]["pred"] is None


def test_one_system_alone_needs_no_comparison(kit, tmp_path):
    alone = kit.build_world(tmp_path, None, {"only": (0.5, 0.2, 0.0)}, controls=False)
    main(alone.results, None, alone.metrics, tmp_path / "r.html", formats="html,md")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "There is only one system" in page
    assert (
        f"One system answered {read_inputs(alone.results, alone.metrics).metrics.n_cards} cards"
        in page
    )
    assert "Systems disagree" in page


def test_faithfulness_cards_stand_apart(kit, tmp_path):
    cards = kit.some_cards(60)
    kinds = ("withheld", "counterfactual")
    cards[:20] = [
        msgspec.structs.replace(card, kind=kinds[i % 2]) for i, card in enumerate(cards[:20])
    ]
    world = kit.build_world(tmp_path, cards)
    main(world.results, None, world.metrics, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="faithfulness"' in page
    headline = [card for card in cards[20:] if not card.kind.startswith("near-miss/")]
    assert f"answered {len(headline)} cards" in page
    assert "faithfulness cards, apart" in page
    view = View(read_inputs(world.results, world.metrics).metrics)
    said = GroupView(view).said("faithfulness")
    for kind in kinds:
        mine = [card for card in cards if card.kind == kind]
        golds = [card.gold for card in mine]
        lines = {gold: texts for name, gold, texts in said if name == kind}
        # The kg of this world is always right, so it says each gold answer as often
        # as there is one.
        assert {gold: texts[0] for gold, texts in lines.items()} == {
            gold: f"{gold} {golds.count(gold)}" for gold in lines
        }
        assert sorted(lines) == sorted(set(golds))


def pair(a, b, better, difference, low, high):
    return PairedComparison(
        a=a, b=b, policy="licensed", metric="accuracy", value_a=0.5, value_b=0.5,
        difference=difference, low=low, high=high, better=better, test="mcnemar-exact",
        p=0.2, p_holm=0.4, discordant=Discordant(1, 2, 3, 4),
    )  # fmt: skip


def test_the_verdict_states_a_difference_only_where_the_test_found_one(inputs):
    # The ranking is kg, careful, hasty, whatever the made-up comparisons say.
    tie = (pair("careful", "hasty", None, 0.2, -0.1, 0.4), pair("kg", "careful", None, 0.1, 0, 0.2))
    open_ = msgspec.structs.replace(inputs.metrics, comparisons=tie)
    text = " ".join(verdict(open_, View(open_).systems))
    assert "more accurate" not in text
    assert "cannot tell kg from careful and careful from hasty by accuracy" in text
    found = (pair("hasty", "careful", "careful", -0.2, -0.3, -0.1),)
    clear = msgspec.structs.replace(inputs.metrics, comparisons=found)
    text = " ".join(verdict(clear, View(clear).systems))
    assert "careful more accurate than hasty by 20.0 points (10.0 to 30.0)" in text
    assert "cannot tell" not in text


def test_a_comparison_says_no_more_than_its_test():
    tested = pair("a", "b", None, 0.1, 0.0, 0.2)
    assert pair_row(tested).finding == "cannot be told apart"
    describing = msgspec.structs.replace(tested, metric="coverage", p_holm=0.001)
    assert pair_row(describing).finding == "cannot be told apart"  # its interval holds zero
    describing = msgspec.structs.replace(describing, low=0.01)
    assert pair_row(describing).finding == "they differ"
    assert pair_row(msgspec.structs.replace(tested, p=None, p_holm=None)).finding == ("not tested")
    row = pair_row(pair("a", "b", "b", -0.1, -0.2, -0.05))
    assert (row.finding, row.difference) == ("b is better", "−0.100")
    assert (row.interval, row.discordant) == ("−0.200 to −0.050", "2 : 3")


def test_the_verdict_names_metrics_that_a_control_wins(inputs):
    text = " ".join(caveats(inputs.metrics))
    won = {w.metric for w in inputs.metrics.policies["licensed"].won_by_controls if w.won} & {
        "AP",
        "CVRR",
        "FAR-NE",
        "LA",
    }
    assert won
    for metric in won:
        assert metric in text


def test_controls_never_enter_the_comparisons_or_the_groups(inputs):
    view = View(inputs.metrics)
    assert view.systems == ["kg", "careful", "hasty"]
    for _, rows in view.comparisons("licensed"):
        assert rows
        assert all({row.pair.a, row.pair.b} <= set(view.systems) for row in rows)
    assert GroupView(view).kinds().systems == ("kg", "careful", "hasty")
    assert {line.name for _, lines in GroupView(view).near_misses().sections for line in lines} == {
        "all near-misses",
        "downstream",
        "sibling",
    }


def test_errors_are_one_line_with_a_code(world, tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *world.flags(tmp_path / "r.html"), "--formats", "pdf"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == EpocheError.exit_code or done.returncode > 2
    assert done.stderr.startswith("error: unknown format 'pdf'")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "r.html").exists()
