"""Tests of the functions that make text safe to show and that format numbers."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from eval.abstention.metrics.observations import read_observations
from eval.abstention.metrics.report import measure
from eval.blocks.escaped_text import escape_markdown
from eval.blocks.text_format import (
    MAX_NAME_LENGTH,
    ChartEstimate,
    describe_recordings,
    format_name,
    format_number,
    format_percent,
    shorten_text,
)
from kg.base.csv_text import escape_csv_cell
from kg.claims import Claim, Proof, Step, Verdict, Violation
from reporting.card_report.card_data import CardAnswer, CardRow, choose_example
from reporting.card_report.proofs import describe_proof, describe_term
from reporting.card_report.summary_text import summarise_results
from reporting.visible_text import embed_json, make_visible

any_text = st.text(st.characters(codec=None), max_size=60)


@given(any_text)
@settings(deadline=None)
def test_visible_text_is_encodable_and_not_reordered(text):
    visible = make_visible(text)
    visible.encode("utf-8")
    assert not re.search("[\x00-\x08\x0e-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", visible)
    assert make_visible(visible) == visible


def test_visible_keeps_clean_text():
    for text in ("Rhône", "a\tb\nc", "👩‍🔬", "נהר", "{{7*7}}", "⟨x⟩"):
        assert make_visible(text) == text
    assert make_visible("\x00\x7f\ud800\u202e") == "␀␡⟨U+D800⟩⟨U+202E⟩"


@given(st.recursive(any_text | st.integers() | st.none(), lambda v: st.lists(v, max_size=4)))
@settings(deadline=None)
def test_embedded_json_is_equal_and_has_no_markup(value):
    text = embed_json(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


def test_long_names_keep_their_end():
    assert shorten_text("abc", 3) == "abc"
    assert shorten_text("abcd", 3) == "ab…"
    long_name = format_name("a" * 500 + "end")
    assert len(long_name) == MAX_NAME_LENGTH
    assert long_name.endswith("end")


def test_shares_are_never_rounded_to_0_or_1():
    assert format_percent(1.0) == "100 %"
    assert format_percent(0.9996) == ">99 %"
    assert format_percent(0.0004) == "<1 %"
    assert format_percent(0.0) == "0 %"
    assert format_percent(None) == format_number(None) == "–"
    assert format_number(-0.25) == "−0.250"
    assert format_number(-0.0001) == "0.000"


@given(any_text)
@settings(deadline=None)
def test_csv_cells_are_never_formulas(text):
    cell = escape_csv_cell(text)
    assert not cell.lstrip(" \u00a0").startswith(("=", "+", "-", "@", "\t", "\r"))


def test_csv_numbers_are_not_escaped():
    assert escape_csv_cell(-0.5) == "-0.5"
    assert escape_csv_cell("-0.5") == "'-0.5"
    assert escape_csv_cell(None) == ""
    assert escape_csv_cell("=HYPERLINK(1)") == "'=HYPERLINK(1)"


def test_markdown_characters_are_escaped():
    assert escape_markdown("<b>|`x`|</b>\n# y") == "&lt;b&gt;\\|\\`x\\`\\|&lt;/b&gt; \\# y"
    assert escape_markdown("1. one") == "1\\. one"
    assert escape_markdown("- item") == "\\- item"
    assert escape_markdown("[a](javascript:1)") == "\\[a\\]\\(javascript:1\\)"


CLAIM = Claim("https://x.org/Rhine_(a)", "https://x.org/#flowsInto", '"5"^^<http://x.org/int>')


def test_terms_are_named_by_their_last_part():
    assert describe_term(CLAIM.subj) == "Rhine (a)"
    assert describe_term(CLAIM.pred) == "flowsInto"
    assert describe_term(CLAIM.obj) == "5"
    assert describe_term("_:b0") == "an unnamed node"
    assert describe_term("https://x.org/Rh%C3%B4ne/") == "Rhône"
    assert describe_term("") == ""


def test_proofs_are_described_in_words():
    asserted_text = describe_proof(
        Verdict(CLAIM, "E", Proof("asserted", "index", premises=(CLAIM,)))
    )
    assert asserted_text == "The graph states it: Rhine (a) — flowsInto → 5."
    step = Step("prp-trp", (CLAIM, CLAIM), CLAIM)
    derived_text = describe_proof(Verdict(CLAIM, "E", Proof("derived", "index", steps=(step,))))
    assert derived_text.count("Rhine (a)") == 3
    assert "transitive" in derived_text
    unknown_rule = Step("my-rule", (CLAIM,), CLAIM)
    text = describe_proof(Verdict(CLAIM, "E", Proof("derived", "index", steps=(unknown_rule,))))
    assert "by rule my-rule" in text
    denied_text = describe_proof(Verdict(CLAIM, "C", Proof("denied", "index")))
    assert denied_text.startswith("The graph denies it")
    violation = Violation(
        "https://x.org/One", "MaxCountConstraintComponent", CLAIM.subj, "<p>", "v", "No"
    )
    violation_text = describe_proof(
        Verdict(CLAIM, "C", Proof("violation", "pyshacl", violations=(violation,) * 3))
    )
    for part in ("MaxCount", "One", "Rhine (a)", "at p", "with v", ": No.", "2 more"):
        assert part in violation_text
    unproved_text = describe_proof(Verdict(CLAIM, "U", Proof("unproved", "index")))
    assert unproved_text.endswith("breaks no constraint.")
    checked_proof = Proof(
        "unproved", "index", checked=(("s", "n"), ("s", "m")), reason="Rests on absence"
    )
    text = describe_proof(Verdict(CLAIM, "U", checked_proof))
    assert text.endswith("(1 shape checked). Rests on absence.")


def test_estimate_texts_omit_missing_values():
    value_only = ChartEstimate(0.5)
    assert (value_only.text, value_only.interval_text, value_only.worst_text) == ("0.500", "", "")
    full_estimate = ChartEstimate(0.5, 0.4, 0.6, 0.3, 0.7)
    assert (full_estimate.interval_text, full_estimate.worst_text) == ("0.400–0.600", "0.300–0.700")
    assert ChartEstimate(0.5, worst_low=0.5, worst_high=0.5).worst_text == ""


def test_verdict_covers_only_named_systems(tmp_path):
    gold = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
    # s1 to s6 are always right; s7 always answers YES. The verdict has room for six systems.
    rows = [
        {"id": str(n), "system": f"s{k}", "label": label, "gold": gold[label]}
        | {"pred": "YES" if k == 7 else gold[label]}
        for k in range(1, 8)
        for n, label in enumerate("ECU" * 4)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    report = measure(read_observations([path]))
    names = [f"s{k}" for k in range(1, 8)]
    verdict = " ".join(summarise_results(report, names).sentences)
    assert "None of these gave a false answer" in verdict
    assert "s6 on 100 %; the other system is in the table." in verdict
    assert "None gave a false answer" in " ".join(summarise_results(report, names[:6]).sentences)


def make_row(kind: str, *outcomes: str | None) -> CardRow:
    answers = tuple(
        CardAnswer(name, False, "YES", outcome, "")
        for name, outcome in zip(("best", "other", "third"), outcomes, strict=False)
    )
    return CardRow(kind, "E", "YES", kind, "", "", "?", (), (), "", "", answers)


def test_the_example_is_a_card_that_only_the_better_system_answers_rightly():
    rows = [
        make_row("near-miss/sibling", "right", "wrong"),
        make_row("both", "right", "right"),
        make_row("none", "wrong", "wrong"),
        make_row("reversed", "wrong", "right"),
        make_row("held", "right", "held"),
        make_row("first", "right", "wrong", "right"),
        make_row("second", "right", "wrong"),
    ]
    systems = ["best", "other", "third"]
    example = choose_example(rows, systems)
    assert example is not None
    assert example.row.id == "first"
    assert [answer.system for answer in example.answers] == ["best", "other"]
    held = choose_example(rows[:5], systems)
    assert held is not None
    assert held.row.id == "held"
    near_miss = choose_example(rows[:4], systems)
    assert near_miss is not None
    assert near_miss.row.id == "near-miss/sibling"
    assert choose_example(rows[1:4], systems) is None
    assert choose_example(rows, ["best"]) is None
    assert choose_example([make_row("one", "right")], systems) is None


def test_recorded_models_are_named_once():
    names = [
        "kg",
        "raw:llamacpp/recorded",
        "recorded/B",
        "raw:recorded/A/1",
        "rag_llm:recorded/A/1",
    ]
    (text,) = describe_recordings(names)
    assert text == "Replies of A/1 and B were recorded earlier: no model ran here."
    assert describe_recordings(names[:2]) == ()
