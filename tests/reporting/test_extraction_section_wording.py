"""Statements of the extraction page follow from the data: ties, rules, unusable replies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from extraction_folders import write_result_folder
from extraction_outputs import Skill, load_shipped_samples, simulate_rows

from eval.extraction.row import ExtractionRow
from eval.extraction.samples.sample import Sample
from eval.extraction.scorer import score_sample
from reporting.benchmark_sections.blocks import Block, Fold, Grid, Prose
from reporting.benchmark_sections.opening import section_of
from reporting.benchmark_sections.section import Section
from reporting.extraction_section.advice import improvements
from reporting.extraction_section.reading import read_run

PERFECT_SKILL = Skill(slip=0.0, extra=0.0, unparsable=0.0, error=0.0)


def part_text(section: Section, part: str) -> str:
    (found,) = (one for one in section.parts if one.id == part)
    return " ".join(
        text for one in found.blocks if isinstance(one, Prose) for text in one.paragraphs
    )


def find_ranking(section: Section) -> Grid:
    (found,) = (one for one in section.parts if one.id == "comparison")
    return next(
        one for one in found.blocks if isinstance(one, Grid) and one.title.startswith("Ranking")
    )


def iter_grids(blocks: Iterable[Block]) -> Iterator[Grid]:
    for one in blocks:
        if isinstance(one, Grid):
            yield one
        elif isinstance(one, Fold):
            yield from iter_grids(one.blocks)


def copy_rows(rows: list[ExtractionRow], system: str) -> list[ExtractionRow]:
    return [msgspec.structs.replace(row, system=system) for row in rows]


def test_systems_with_equal_scores_share_a_rank(tmp_path: Path) -> None:
    samples = load_shipped_samples(6)
    one = simulate_rows(samples, "one", PERFECT_SKILL)
    worse = simulate_rows(
        samples, "worse", dataclasses.replace(PERFECT_SKILL, slip=0.9, seconds=60.0)
    )
    rows = [*one, *copy_rows(one, "twin"), *worse]
    section = section_of(write_result_folder(tmp_path, samples, rows))
    lines = find_ranking(section).lines
    assert [line.cells[0].text.removesuffix(" ★") for line in lines] == ["1", "1", "3"]
    text = part_text(section, "comparison")
    assert "For quality alone: one and twin share the highest score." in text
    assert "score and latency together: one and twin are alike in both, and no other" in text
    assert "gives up one for the other" not in text


def test_rule_based_systems_have_no_calls(tmp_path: Path) -> None:
    samples = load_shipped_samples(3)
    folder = write_result_folder(
        tmp_path, samples, simulate_rows(samples, "baseline", PERFECT_SKILL), offline=True
    )
    names = [name for _, name in section_of(folder).stats]
    assert "calls" not in names
    assert "fillings by rules" in names


def test_rule_based_systems_get_no_prompt_advice(tmp_path: Path) -> None:
    samples = load_shipped_samples(12)
    poor = dataclasses.replace(PERFECT_SKILL, slip=0.6, constrained=False)
    told = {}
    for name, seconds in (("model", 0.5), ("rules", None)):
        rows = simulate_rows(samples, name, dataclasses.replace(poor, seconds=seconds))
        shown = read_run(
            write_result_folder(tmp_path / name, samples, rows, offline=seconds is None)
        )
        told[name] = " ".join(improvements(shown.systems[0][1]))
    assert "of all errors: " in told["model"]
    assert "turn on structured output" in told["model"]
    assert "of all errors." in told["rules"]
    assert "turn on" not in told["rules"]


def test_equally_failing_fields_are_named_as_ties(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    sample = Sample(id="s", text="x y", schema=schema, expected={"a": "x", "b": "y"})
    for predicted, said in (({}, "One of the fields that fail most is"), ({"a": "x"}, "The field")):
        scored = score_sample(sample, predicted).score
        row = ExtractionRow(id="s", system="one", outcome="OK", predicted=predicted, score=scored)
        shown = read_run(write_result_folder(tmp_path / said[:3], [sample], [row]))
        assert said in " ".join(improvements(shown.systems[0][1]))
        weak = shown.systems[0][1].recommendation.weaknesses
        assert weak[-1].startswith("one of the most" if not predicted else "most frequent error")


def test_unusable_replies_are_not_called_failed_calls(tmp_path: Path) -> None:
    samples = load_shipped_samples(3)
    rows = simulate_rows(samples, "one", PERFECT_SKILL)
    spoiled = score_sample(samples[0], ["not", "an object"]).score
    rows[0] = msgspec.structs.replace(
        rows[0], outcome="INVALID", predicted=["not", "an object"], score=spoiled
    )
    section = section_of(write_result_folder(tmp_path, samples, rows))
    assert "schema are worth 0 in the headline: 1." in " ".join(section.caveats)
    (metrics,) = (one for one in section.parts if one.id == "metrics")
    (table,) = (b for b in metrics.blocks if isinstance(b, Grid) and b.title == "Headline")
    assert table.heads[-1].name == "unusable"
    assert table.lines[0].cells[-1].text == "1"
    assert ("0", "failed") in section.stats
    (depth,) = (one for one in section.parts if one.id == "accuracy")
    notes = {one.title: one.about for one in iter_grids(depth.blocks)}
    assert (
        "every field that both sides have is incorrect" in notes["Match categories, partial mode"]
    )
    for title in (
        "Composite scores of paired fields",
        "Similarity of texts",
        "one: types that came",
    ):
        assert notes[title].endswith("Fields of invalid replies are in it as they came."), title
