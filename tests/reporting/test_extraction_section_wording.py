"""Tests that statements on the extraction page follow from the data.

Covered are ties, systems that work by rules, and unusable replies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from extraction_folders import write_result_folder
from extraction_outputs import Skill, load_shipped_samples, simulate_rows

from eval.blocks.blocks import Block, Fold, Paragraphs, Table
from eval.blocks.section import Section
from eval.extraction.blocks.recommendations import list_improvements
from eval.extraction.blocks.run_data import read_run
from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from eval.runs.sections import build_section

PERFECT_SKILL = Skill(slip=0.0, extra=0.0, unparsable=0.0, error=0.0)


def join_part_text(section: Section, part: str) -> str:
    (found_part,) = (candidate for candidate in section.parts if candidate.id == part)
    return " ".join(
        text
        for block in found_part.blocks
        if isinstance(block, Paragraphs)
        for text in block.paragraphs
    )


def find_ranking(section: Section) -> Table:
    (comparison,) = (part for part in section.parts if part.id == "comparison")
    return next(
        block
        for block in comparison.blocks
        if isinstance(block, Table) and block.title.startswith("Ranking")
    )


def iter_grids(blocks: Iterable[Block]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Fold):
            yield from iter_grids(block.blocks)


def copy_rows(rows: list[ExtractionRow], system: str) -> list[ExtractionRow]:
    return [msgspec.structs.replace(row, system=system) for row in rows]


def test_systems_with_equal_scores_share_a_rank(tmp_path: Path) -> None:
    samples = load_shipped_samples(6)
    # The system "twin" has the same replies as the system "one".
    rows_of_first = simulate_rows(samples, "one", PERFECT_SKILL)
    rows_of_worst = simulate_rows(
        samples, "worse", dataclasses.replace(PERFECT_SKILL, slip=0.9, seconds=60.0)
    )
    rows = [*rows_of_first, *copy_rows(rows_of_first, "twin"), *rows_of_worst]
    section = build_section(write_result_folder(tmp_path, samples, rows))
    lines = find_ranking(section).rows
    assert [line.cells[0].text.removesuffix(" ★") for line in lines] == ["1", "1", "3"]
    text = join_part_text(section, "comparison")
    assert "For quality alone: one and twin share the highest score." in text
    assert "score and latency together: one and twin are alike in both, and no other" in text
    assert "gives up one for the other" not in text


def test_rule_based_systems_have_no_calls(tmp_path: Path) -> None:
    samples = load_shipped_samples(3)
    folder = write_result_folder(
        tmp_path, samples, simulate_rows(samples, "baseline", PERFECT_SKILL), offline=True
    )
    names = [name for _, name in build_section(folder).stats]
    assert "calls" not in names
    assert "fillings by rules" in names


def test_rule_based_systems_get_no_prompt_advice(tmp_path: Path) -> None:
    samples = load_shipped_samples(12)
    poor_skill = dataclasses.replace(PERFECT_SKILL, slip=0.6, constrained=False)
    advice = {}
    for name, seconds in (("model", 0.5), ("rules", None)):
        rows = simulate_rows(samples, name, dataclasses.replace(poor_skill, seconds=seconds))
        run = read_run(write_result_folder(tmp_path / name, samples, rows, offline=seconds is None))
        advice[name] = " ".join(list_improvements(run.systems[0][1]))
    assert "of all errors: " in advice["model"]
    assert "turn on structured output" in advice["model"]
    assert "of all errors." in advice["rules"]
    assert "turn on" not in advice["rules"]


def test_equally_failing_fields_are_named_as_ties(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    sample = Sample(id="s", text="x y", schema=schema, expected={"a": "x", "b": "y"})
    for predicted, expected_text in (
        ({}, "One of the fields that fail most is"),
        ({"a": "x"}, "The field"),
    ):
        score = score_sample(sample, predicted).score
        row = ExtractionRow(id="s", system="one", outcome="OK", predicted=predicted, score=score)
        run = read_run(write_result_folder(tmp_path / expected_text[:3], [sample], [row]))
        assert expected_text in " ".join(list_improvements(run.systems[0][1]))
        weaknesses = run.systems[0][1].recommendation.weaknesses
        assert weaknesses[-1].startswith(
            "one of the most" if not predicted else "most frequent error"
        )


def test_unusable_replies_are_not_called_failed_calls(tmp_path: Path) -> None:
    samples = load_shipped_samples(3)
    rows = simulate_rows(samples, "one", PERFECT_SKILL)
    invalid_score = score_sample(samples[0], ["not", "an object"]).score
    rows[0] = msgspec.structs.replace(
        rows[0], outcome="INVALID", predicted=["not", "an object"], score=invalid_score
    )
    section = build_section(write_result_folder(tmp_path, samples, rows))
    assert "schema: 1. They are worth 0 in the extraction quality score" in " ".join(
        section.caveats
    )
    (metrics_part,) = (part for part in section.parts if part.id == "metrics")
    (table,) = (b for b in metrics_part.blocks if isinstance(b, Table) and b.title == "Headline")
    assert table.columns[-1].name == "unusable"
    assert table.rows[0].cells[-1].text == "1"
    assert ("0", "failed") in section.stats
    (accuracy_part,) = (part for part in section.parts if part.id == "accuracy")
    notes = {grid.title: grid.about for grid in iter_grids(accuracy_part.blocks)}
    assert (
        "every field that both sides have is incorrect" in notes["Match categories, partial mode"]
    )
    for title in (
        "Composite scores of paired fields",
        "Similarity of texts",
        "one: types that came",
    ):
        assert notes[title].endswith("Fields of invalid replies are in it as they came."), title


def test_page_one_says_that_values_have_two_readings(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"d": {"type": "string", "format": "date"}}}
    sample = Sample(id="s", text="x", schema=schema, expected={"d": "2024-03-05"})
    predicted = {"d": "05/03/2024"}
    score = score_sample(sample, predicted).score
    row = ExtractionRow(id="s", system="one", outcome="OK", predicted=predicted, score=score)
    caveats = " ".join(build_section(write_result_folder(tmp_path, [sample], [row])).caveats)
    assert "one: 1 wrong field would be right in another reading" in caveats
    assert "date_order" in caveats
