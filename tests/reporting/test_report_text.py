"""What makes text safe to look at, and numbers fit to read."""

from __future__ import annotations

import json
import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from eval.metrics.measuring import measure
from eval.metrics.observations import read_observations
from kg.claims import Claim, Proof, Step, Verdict, Violation
from reporting.charts import Estimate, bar, dot_panel, number, percent, scatter
from reporting.guarded_text import csv_cell, md
from reporting.proofs import plain_proof, term_words
from reporting.verdict import verdict
from reporting.visible import NAME_LIMIT, embed, shorten, shown_name, visible

any_text = st.text(st.characters(codec=None), max_size=60)


@given(any_text)
@settings(deadline=None)
def test_visible_text_can_be_written_and_cannot_reorder(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert not re.search("[\x00-\x08\x0e-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert visible(shown) == shown


def test_visible_leaves_clean_text_alone():
    for text in ("Rhône", "a\tb\nc", "👩‍🔬", "נהר", "{{7*7}}", "⟨x⟩"):
        assert visible(text) == text
    assert visible("\x00\x7f\ud800\u202e") == "␀␡⟨U+D800⟩⟨U+202E⟩"


@given(st.recursive(any_text | st.integers() | st.none(), lambda v: st.lists(v, max_size=4)))
@settings(deadline=None)
def test_embedded_json_means_the_same_and_holds_no_markup(value):
    text = embed(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


def test_names_and_cuts():
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd", 3) == "ab…"
    long = shown_name("a" * 500 + "end")
    assert len(long) == NAME_LIMIT
    assert long.endswith("end")


def test_numbers_never_round_to_certainty():
    assert percent(1.0) == "100 %"
    assert percent(0.9996) == ">99 %"
    assert percent(0.0004) == "<1 %"
    assert percent(0.0) == "0 %"
    assert percent(None) == number(None) == "–"
    assert number(-0.25) == "−0.250"
    assert number(-0.0001) == "0.000"


@given(any_text)
@settings(deadline=None)
def test_csv_cells_are_never_formulas(text):
    cell = csv_cell(text)
    assert not cell.lstrip(" \u00a0").startswith(("=", "+", "-", "@", "\t", "\r"))


def test_csv_numbers_stay_numbers():
    assert csv_cell(-0.5) == "-0.5"
    assert csv_cell("-0.5") == "'-0.5"
    assert csv_cell(None) == ""
    assert csv_cell("=HYPERLINK(1)") == "'=HYPERLINK(1)"


def test_markdown_means_nothing_but_itself():
    assert md("<b>|`x`|</b>\n# y") == "&lt;b&gt;\\|\\`x\\`\\|&lt;/b&gt; \\# y"
    assert md("1. one") == "1\\. one"
    assert md("- item") == "\\- item"
    assert md("[a](javascript:1)") == "\\[a\\]\\(javascript:1\\)"


A = Claim("https://x.org/Rhine_(a)", "https://x.org/#flowsInto", '"5"^^<http://x.org/int>')


def test_terms_are_named_by_their_last_part():
    assert term_words(A.subj) == "Rhine (a)"
    assert term_words(A.pred) == "flowsInto"
    assert term_words(A.obj) == "5"
    assert term_words("_:b0") == "an unnamed node"
    assert term_words("https://x.org/Rh%C3%B4ne/") == "Rhône"
    assert term_words("") == ""


def test_plain_proofs_leave_nothing_out():
    stated = plain_proof(Verdict(A, "E", Proof("asserted", "index", premises=(A,))))
    assert stated == "The graph states it: Rhine (a) — flowsInto → 5."
    step = Step("prp-trp", (A, A), A)
    derived = plain_proof(Verdict(A, "E", Proof("derived", "index", steps=(step,))))
    assert derived.count("Rhine (a)") == 3
    assert "transitive" in derived
    unknown_rule = Step("my-rule", (A,), A)
    text = plain_proof(Verdict(A, "E", Proof("derived", "index", steps=(unknown_rule,))))
    assert "by rule my-rule" in text
    denied = plain_proof(Verdict(A, "C", Proof("denied", "index")))
    assert denied.startswith("The graph denies it")
    broken = Violation("https://x.org/One", "MaxCountConstraintComponent", A.subj, "<p>", "v", "No")
    clash = plain_proof(Verdict(A, "C", Proof("violation", "pyshacl", violations=(broken,) * 3)))
    for part in ("MaxCount", "One", "Rhine (a)", "at p", "with v", ": No.", "2 more"):
        assert part in clash
    bare = plain_proof(Verdict(A, "U", Proof("unproved", "index")))
    assert bare.endswith("breaks no constraint.")
    checked = Proof(
        "unproved", "index", checked=(("s", "n"), ("s", "m")), reason="Rests on absence"
    )
    text = plain_proof(Verdict(A, "U", checked))
    assert text.endswith("(1 shape checked). Rests on absence.")


shares = st.none() | st.floats(0, 1)


@given(st.lists(st.tuples(st.text(max_size=30), st.booleans(), shares, shares), max_size=12))
@settings(deadline=None)
def test_chart_marks_stay_inside_and_names_never_overlap(entries):
    plot = scatter(entries, answerable=0.5)
    for point in plot.points:
        assert plot.left <= point.x <= plot.right
        assert plot.top <= point.y <= plot.bottom
        assert 0 < point.label_y < plot.height
    heights = sorted(point.label_y for point in plot.points)
    assert all(b - a >= 18.9 for a, b in pairwise(heights))
    assert len(plot.points) + len(plot.absent) == len(entries)


@given(st.lists(st.tuples(st.text(max_size=30), st.booleans(), shares), max_size=10))
@settings(deadline=None)
def test_dot_panels_keep_controls_last_and_values_in_place(entries):
    panel = dot_panel([(name, control, Estimate(value)) for name, control, value in entries])
    assert [row.control for row in panel.rows] == sorted(row.control for row in panel.rows)
    for row in panel.rows:
        assert row.y < panel.plot_bottom
        assert (row.x is None) == (row.estimate.value is None)
        assert row.x is None or panel.plot_left <= row.x <= panel.plot_right
    assert (panel.divider_y is not None) == (len({row.control for row in panel.rows}) == 2)


def test_estimates_say_only_what_they_know():
    plain = Estimate(0.5)
    assert (plain.text, plain.interval_text, plain.worst_text) == ("0.500", "", "")
    full = Estimate(0.5, 0.4, 0.6, 0.3, 0.7)
    assert (full.interval_text, full.worst_text) == ("0.400–0.600", "0.300–0.700")
    assert Estimate(0.5, worst_low=0.5, worst_high=0.5).worst_text == ""
    assert bar(Estimate(None)).fill == 0
    assert bar(full).low < bar(full).fill < bar(full).high


def test_the_opening_says_nothing_of_systems_it_does_not_name(tmp_path):
    gold = {"E": "YES", "C": "NO", "U": "UNKNOWN"}
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
    said = " ".join(verdict(report, names))
    assert "None of these gave a false answer" in said
    assert "s6 on 100 %; the other system is in the table." in said
    assert "None gave a false answer" in " ".join(verdict(report, names[:6]))
