"""The section of SynthLink scores: what it says, what it writes, what it refuses."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmark_pages import check_same_bytes, check_self_contained
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import escape
from msgspec.structs import replace
from synthlink_attacks import ATTACKS, SIX, attack, honest, six_questions
from synthlink_section_folders import (
    RESAMPLES,
    ran,
    scored,
    six,
    uneven,
)

from eval.synthlink.measures import MEASURES, WEIGHTS
from eval.synthlink.outputs import read_scored
from eval.synthlink.running.row import read_rows
from eval.synthlink.score_options import ScoreOptions
from eval.synthlink.scores import score
from eval.synthlink.verdicts.applying import with_verdicts
from eval.synthlink.verdicts.judge_report import judge_report
from eval.synthlink.verdicts.record import JudgedLine, Judgement, JudgeReport
from kg.base.errors import CardSetMismatchError, MissingFileError, RecordError, SettingError
from kg.base.files import to_json_bytes
from kg.base.proportions import wilson
from reporting.benchmark_sections.blocks import Figures, Fold, Grid
from reporting.benchmark_sections.opening import section_of
from reporting.benchmark_sections.page import page_files, write_page
from reporting.benchmark_sections.samples import Detail, Samples
from reporting.benchmark_sections.section import Section
from reporting.html_report import main
from reporting.synthlink_files import write_scores
from reporting.synthlink_section import samples_of_folder
from reporting.synthlink_section.losing import parts_of_score, steps_by_place
from reporting.synthlink_section.measure_words import DECIDED_BY, VERDICTS
from reporting.synthlink_section.measure_words import MEASURES as NAMED
from reporting.synthlink_section.reading import read_folder
from reporting.synthlink_section.samples_of_folder import MARKS, mark_counts
from reporting.synthlink_section.trails import reached
from reporting.synthlink_section.verdict_words import LITERAL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return six(tmp_path_factory.mktemp("synthlink"))


@pytest.fixture(scope="module")
def section(folder: Path) -> Section:
    return section_of(folder)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("ran"))


def blocks_of(section: Section, part: str) -> list[Any]:
    found = next(one for one in section.parts if one.id == part)
    opened: list[Any] = []
    for block in found.blocks:
        opened += [*block.blocks] if isinstance(block, Fold) else [block]
    return opened


def grid(section: Section, part: str, title: str) -> Grid:
    return next(
        one
        for one in blocks_of(section, part)
        if isinstance(one, Grid) and one.title.startswith(title)
    )


def cells(table: Grid) -> dict[str, list[str]]:
    return {line.name: [cell.text for cell in line.cells] for line in table.lines}


def said(section: Section) -> str:
    return " ".join(section.verdict)


def test_writes_the_page_and_its_exports_into_the_folder(folder: Path) -> None:
    written = write_page(folder)
    assert [path.name for path in written] == [
        "report.html",
        "report.md",
        "report.json",
        "report.measures.csv",
        "report.pairs.csv",
        "report.questions.csv",
    ]
    page = written[0].read_text("utf-8")
    for path in written[1:]:
        assert path.name in page
    assert page.count("<h1>") == 1


def test_the_same_scores_give_the_same_bytes_whatever_the_hash_seed(folder: Path) -> None:
    check_same_bytes(folder)


def test_the_page_names_nothing_outside_itself(folder: Path) -> None:
    check_self_contained(folder)


def test_modes_stand_side_by_side_with_what_lies_between(section: Section, folder: Path) -> None:
    report = read_scored(folder).report
    table = grid(section, "headline", "Scores")
    rows = cells(table)
    assert list(rows) == ["corrected", "literal", "literal − corrected"]
    for mode, scores in report.modes.items():
        for cell, measure in zip(rows[mode], NAMED, strict=True):
            value = scores.overall.measures[measure].value
            assert cell == ("–" if value is None else f"{value:.3f}")
    both = [report.modes[mode].overall.measures["f1"].value for mode in ("literal", "corrected")]
    assert both[0] is not None
    assert both[1] is not None
    assert rows["literal − corrected"][1] == f"{both[0] - both[1]:+.3f}".replace("-", "−")
    assert "the specification has no such measure" in section.html


def test_what_is_gained_is_the_score_and_what_is_lost_is_the_rest(tmp_path: Path) -> None:
    catalog = six_questions()
    for rows in (honest(catalog), [], *(attack(name, catalog) for name in ATTACKS)):
        report = score(rows, catalog, "both", resamples=2)
        for scores in report.modes.values():
            parts = parts_of_score(scores, report.weights)
            total = scores.overall.measures["aggregate"].value
            assert total is not None
            assert sum(part.gained for part in parts) == pytest.approx(total, abs=1e-8)
            assert sum(part.lost for part in parts) == pytest.approx(1 - total, abs=1e-8)
            assert [part.measure for part in parts][:2] == ["f1", "rqs"]
            weights = {part.measure: part.weight for part in parts}
            assert weights == pytest.approx(dict(WEIGHTS))


def test_weights_go_where_a_catalogue_lacks_a_part(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in SIX.read_text("utf-8").splitlines()]
    for line in lines[:3]:
        line["steps"] = [{"instruction": "Look it up."}]
    path = tmp_path / "half.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = read_folder(scored(tmp_path, honest(six_questions()), catalog=path))
    corrected = read.report.modes["corrected"]
    parts = {part.measure: part for part in parts_of_score(corrected, read.report.weights)}
    assert parts["rqs"].weight == pytest.approx(0.15)
    assert parts["f1"].weight == pytest.approx((0.3 + 0.3 / 0.7) / 2)
    assert sum(part.gained for part in parts.values()) == pytest.approx(
        corrected.overall.measures["aggregate"].value
    )


def test_the_opening_says_what_literal_would_have_said(tmp_path: Path, section: Section) -> None:
    catalog = six_questions()
    heap = section_of(scored(tmp_path / "heap", attack("answer shuffled", catalog)))
    apart = re.search(
        r"would say 0\.\d+, (0\.\d+) more, above all because they give (\S+) instead of (\S+) for",
        said(heap),
    )
    assert apart
    more, first, second = map(float, apart.groups())
    assert first > second
    one, other = (
        read_scored(tmp_path / "heap" / "run").report.modes[mode].overall.measures["aggregate"]
        for mode in ("corrected", "literal")
    )
    assert f"The score is {one.value:.3f} of 1 ({one.low:.3f} to {one.high:.3f})." in said(heap)
    assert f"would say {other.value:.3f}" in said(heap)
    assert more == pytest.approx(other.value - one.value, abs=6e-4)
    assert more > 0.3
    assert "all are answered" in said(section)


def test_the_opening_names_where_most_is_lost(section: Section, folder: Path) -> None:
    read = read_folder(folder)
    parts = parts_of_score(read.headline, read.report.weights)
    first, second = sorted(parts, key=lambda part: -part.lost)[:2]
    lost = re.search(
        r"Of the ([\d.]+) that it lacks, ([\d.]+) is lost on .*? and ([\d.]+) on", said(section)
    )
    assert lost
    assert [float(one) for one in lost.groups()] == pytest.approx(
        [sum(part.lost for part in parts), first.lost, second.lost], abs=6e-4
    )
    table = grid(section, "losing", "What the corrected score is made of")
    assert [line.cells[2].tone for line in table.lines].count("down") == 1
    assert table.lines[0].cells[2].tone == "down"


def test_a_difference_is_said_only_where_the_test_found_one(tmp_path: Path) -> None:
    from eval.synthlink.catalog import read_catalog

    catalog = read_catalog()
    rows = [
        {"question_id": one.id, "predicted_answer": one.answer,
         "retrieved_docs": [source.url for source in one.sources]}
        for one in catalog.questions
    ]  # fmt: skip
    plain = [row | {"retrieved_docs": []} for row in rows]
    keywords = [
        {"question_id": one.id, "retrieved_docs": [],
         "predicted_answer": ", ".join(word for step in one.steps for word in step.keywords)}
        for one in catalog.questions
    ]  # fmt: skip
    others = {"same": plain, "keywords": keywords}
    found = section_of(scored(tmp_path, plain, others, catalog=None, domain="none"))
    assert re.search(r"find it better than keywords\.json by \d\d\.\d points", said(found))
    assert "cannot tell it from same.json" in said(found)
    assert "better than same" not in said(found)
    assert "would put" not in said(found)
    assert "could not be told apart" not in said(found)
    best = grid(found, "pairs", "answers.json less keywords.json, corrected")
    told = {line.name: line.cells[-1].text for line in best.lines}
    assert told["Score"] == "answers.json is better"
    assert told["Pages named"] == "cannot be told apart"
    drawn = [block for block in blocks_of(found, "pairs") if isinstance(block, Figures)]
    titles = [figure.title for block in drawn for figure in block.figures]
    assert "answers.json against keywords.json, corrected" in titles
    assert "answers.json against keywords.json, literal" in titles


def test_says_where_the_published_formulas_would_turn_the_order(tmp_path: Path) -> None:
    from eval.synthlink.catalog import read_catalog

    catalog = read_catalog()
    heaps = [
        {"question_id": one.id, "predicted_answer": ", ".join(sorted(one.answer.split())),
         "sources_verified": [", ".join(sorted(one.answer.split()))]}
        for one in catalog.questions
    ]  # fmt: skip
    facts = [
        {"question_id": one.id, "predicted_answer": " ".join(s.fact for s in one.steps[:2])}
        for one in catalog.questions
    ]
    options = {"catalog": None, "domain": "none"}
    found = section_of(scored(tmp_path, facts, {"heaps": heaps}, **options))
    assert "better than heaps.json" in said(found)
    assert "The literal scores would put heaps.json first." in said(found)


def test_a_difference_that_six_questions_cannot_bear_is_called_that(section: Section) -> None:
    assert re.search(
        r"cannot tell it from shuffled\.json; the \d+\.\d points between them would need more",
        said(section),
    )


def test_blank_missing_and_refused_are_told_apart(tmp_path: Path) -> None:
    found = section_of(uneven(tmp_path))
    assert (
        "3 are answered, 1 is abstained from, 1 has no answer and 1 has a row that cannot be used"
        in said(found)
    )
    assert "Over the answered ones alone the score would be 0." in " ".join(found.caveats)
    table = cells(grid(found, "headline", "Coverage"))
    assert table["all"] == ["6", "50 %", "3", "1", "1", "1"]
    assert table["STE"] == ["1", "0 %", "0", "1", "0", "0"]
    assert found.stats == (
        *(("6", "questions"), ("3", "answered"), ("1", "abstained")),
        *(("1", "missing"), ("1", "refused")),
    )
    marks = mark_counts(read_folder(tmp_path / "run"))
    assert marks.total() == 6
    assert (marks["abstained"], marks["missing"], marks["refused"]) == (1, 1, 1)
    text = found.html
    for words in (
        "It abstains: the answer is blank.",
        "There is no row for this question.",
        "Rows that are refused, and why",
        "retrieved_docs is no list",
    ):
        assert words in text, words
    assert "&lt;b&gt;HIA-99&lt;/b&gt;" in text
    only = cells(grid(found, "headline", "Over answered questions alone"))
    assert float(only["corrected"][0]) > float(
        cells(grid(found, "headline", "Scores"))["corrected"][0]
    )


def test_steps_are_counted_at_their_place_in_the_chain(section: Section, folder: Path) -> None:
    read = read_folder(folder)
    corrected = read.report.modes["corrected"]
    for one in steps_by_place(corrected, read.answers):
        with_it = [at for at, view in enumerate(read.answers) if len(view.facts) >= one.number]
        taken = [at for at in with_it if one.number in corrected.questions[at].parts.steps]
        assert (one.asked, one.taken) == (len(with_it), len(taken))
        low, high = wilson(one.taken, one.asked)
        shown = grid(section, "losing", "Steps by their place").lines[one.number - 1].cells[2]
        assert (shown.text, shown.below) == (
            f"{one.taken / one.asked:.3f}",
            (f"{low:.3f}–{high:.3f}",),
        )
    chains = cells(grid(section, "losing", "How far chains are followed"))
    assert sum(int(line[0]) for line in chains.values()) == 6
    assert all(int(a) == int(b) + int(c) + int(d) for a, b, c, d in chains.values())


def test_a_chain_is_whole_where_every_step_is_taken(tmp_path: Path) -> None:
    questions = six_questions().questions
    rows = [
        {"question_id": one.id, "predicted_answer": " ".join(step.fact for step in one.steps)}
        for one in questions[:4]
    ]
    rows += [
        {"question_id": one.id, "predicted_answer": one.steps[0].fact} for one in questions[4:]
    ]
    found = section_of(scored(tmp_path, rows))
    chains = cells(grid(found, "losing", "How far chains are followed"))
    assert [sum(int(line[at]) for line in chains.values()) for at in range(4)] == [6, 4, 2, 0]
    facets = [row.facets[1] for row in samples_of(found).rows]
    assert facets == ["every step"] * 4 + ["some steps"] * 2


def test_steps_and_pages_are_marked_as_the_record_has_them(section: Section, folder: Path) -> None:
    read = read_folder(folder)
    corrected = read.report.modes["corrected"].questions
    rows = zip(samples_of(section).rows, corrected, read.answers, strict=True)
    for shown, row, view in rows:
        answer = shown.answers[0]
        assert answer is not None
        lists = {one.title: one for one in answer.details if isinstance(one, Detail)}
        steps = lists[f"Steps taken: {len(row.parts.steps)} of {len(view.facts)}"]
        marked = [at for at, tone in enumerate(steps.tones, start=1) if tone == "right"]
        assert marked == sorted(row.parts.steps)
        assert set(steps.tones) <= {"right", "wrong"}
        pages = lists["Pages it names; ✓ are sources"]
        urls = {source.url for source in view.sources}
        assert [tone == "right" for tone in pages.tones] == [doc in urls for doc in view.docs]
        missed = lists["Sources not among its first five pages"]
        assert list(missed.items) == [
            source.title for source in view.sources if source.url not in view.docs
        ]


def test_claims_are_counted_by_verdict_and_by_what_decided(section: Section, folder: Path) -> None:
    corrected = read_scored(folder).report.modes["corrected"]
    by_verdict = cells(grid(section, "claims", "Claims by verdict"))
    assert by_verdict["all"] == [
        str(sum(corrected.claims.values())),
        *(str(corrected.claims[verdict]) for verdict in VERDICTS),
    ]
    whole = [int(text) for text in by_verdict.pop("all")]
    assert [sum(map(int, column)) for column in zip(*by_verdict.values(), strict=True)] == whole
    decided = cells(grid(section, "claims", "What decided"))
    assert [sum(map(int, column)) for column in zip(*decided.values(), strict=True)] == whole[1:]
    assert set(decided) <= set(DECIDED_BY.values())


def test_every_round_and_threshold_of_the_record_is_shown(section: Section, folder: Path) -> None:
    corrected = read_scored(folder).report.modes["corrected"]
    table = grid(section, "rounds", "Speed by what counts as correct")
    assert [line.cells[1].text for line in table.lines] == [f"{s.ie:.3f}" for s in corrected.sweep]
    assert [line.below for line in table.lines].count("taken for the score") == 1
    rounds = cells(grid(section, "rounds", "First correct"))
    assert sum(int(line[0]) for line in rounds.values()) == 6
    right = sum(max(row.parts.iteration_f1, default=0) >= 0.5 for row in corrected.questions)
    assert int(rounds["never"][0]) == 6 - right


def test_the_samples_show_the_whole_way(section: Section, folder: Path) -> None:
    rows = read_scored(folder).report.modes["corrected"].questions
    claims = [claim.text for row in rows for claim in row.parts.claims]
    assert len({claim.verdict for row in rows for claim in row.parts.claims}) == 3
    for text in (
        "How did a machine for cleaning cotton",
        "Expected: Whitney's cotton gin",
        "In 1794 Eli Whitney patented the cotton gin",
        f"Steps taken: {len(rows[0].parts.steps)} of 4",
        "1. Eli Whitney patented the cotton gin in 1794.",
        "What it claims",
        *(" ".join(verdict) for verdict in VERDICTS.values()),
        *claims,
        "Pages it names; ✓ are sources",
        "Sources not among its first five pages",
        "https://news.example/timeline",
        "Round 3. F1",
        "Literal against corrected",
    ):
        assert str(escape(text)) in section.html, text


def test_exports_agree_with_the_record(folder: Path, tmp_path: Path) -> None:
    rows = csv.DictReader(io.StringIO(section_of(uneven(tmp_path)).tables["measures"], newline=""))
    overall = read_scored(tmp_path / "run").report.modes["corrected"].overall
    assert overall.answered_only["aggregate"] != overall.measures["aggregate"].value
    for row in rows:
        if (row["mode"], row["category"]) == ("corrected", "all"):
            measure = row["measure"]
            assert row["answered_only"] == str(overall.answered_only[measure])
    files = page_files(section_of(folder))
    found = read_scored(folder)
    rows = [*csv.DictReader(io.StringIO(files["report.measures.csv"].decode(), newline=""))]
    by_key = {(row["mode"], row["category"], row["measure"]): row for row in rows}
    for mode, scores in found.report.modes.items():
        for category, group in {"all": scores.overall, **scores.categories}.items():
            for measure, value in group.measures.items():
                held = by_key[mode, category, measure]["value"]
                assert held == ("" if value.value is None else str(value.value))
    assert len(rows) == 2 * 7 * len(MEASURES)
    pairs = list(csv.DictReader(io.StringIO(files["report.pairs.csv"].decode(), newline="")))
    assert len(pairs) == len(found.comparisons[0].differences)
    told = list(csv.DictReader(io.StringIO(files["report.questions.csv"].decode(), newline="")))
    assert [row["id"] for row in told] == [one.id for one in six_questions().questions]
    corrected = found.report.modes["corrected"].questions
    assert [row["aggregate_corrected"] for row in told] == [
        str(row.parts.aggregate) for row in corrected
    ]
    document = json.loads(files["report.json"])
    assert document["schema"] == "epoche.section/1"
    assert document["scores"]["report"]["n_questions"] == 6
    assert document["manifest"]["kind"] == "synthlink"
    assert files["report.md"].decode().startswith("# Can it link what no single page tells?")


def few(tmp_path: Path, kind: str) -> Path:
    catalog = six_questions()
    rows = honest(catalog)
    bare = tmp_path / "bare.jsonl"
    lines = [json.loads(line) for line in SIX.read_text("utf-8").splitlines()]
    for line in lines:
        line["steps"] = [{"instruction": step["instruction"]} for step in line["steps"]]
    if kind == "one question":
        lines = json.loads(f"[{SIX.read_text('utf-8').splitlines()[0]}]")
    bare.write_text("".join(json.dumps(line) + "\n" for line in lines))
    options: dict[str, Any] = {
        "literal alone": {"mode": "literal"},
        "corrected alone": {"mode": "corrected"},
        "no graph": {"domain": "none"},
        "no facts": {"catalog": bare},
        "one question": {"catalog": bare},
    }.get(kind, {})
    answers = {
        "no answers": [],
        "all blank": [row | {"predicted_answer": ""} for row in rows],
        "bare answers": [
            {"question_id": row["question_id"], "predicted_answer": "Sea."} for row in rows
        ],
    }.get(kind, rows)
    return scored(tmp_path, answers, **options)


KINDS = (
    *("literal alone", "corrected alone", "no graph", "no facts", "one question"),
    *("no answers", "all blank", "bare answers"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_little_or_nothing_have_a_section_all_the_same(tmp_path: Path, kind: str) -> None:
    found = section_of(few(tmp_path, kind))
    files = page_files(found)
    page = files["report.html"].decode()
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
    assert not re.search(r"[>=\"–(]\s*(None|nan)\s*[<\"–)]", markup)
    assert ",nan" not in files["report.measures.csv"].decode()
    words = {
        "literal alone": LITERAL,
        "corrected alone": "The score is",
        "no graph": "No graph was asked",
        "no facts": "The catalogue states no facts",
        "one question": "The one question is answered.",
        "no answers": "none is answered and 6 have no answer",
        "all blank": "none is answered and 6 are abstained from",
        "bare answers": "0.300 is lost on the words of the answer",
    }[kind]
    assert words in page
    assert (LITERAL in page) == (kind == "literal alone")
    marks = mark_counts(read_folder(tmp_path / "run"))
    assert (marks["below"] > 0) == (kind == "no facts")
    assert ("would say" in said(found)) == (kind not in ("literal alone", "corrected alone"))


def test_a_run_beside_the_scores_is_told_round_by_round(run_folder: Path) -> None:
    found = section_of(run_folder)
    assert "teller" in found.about
    for text in (
        "Round 1, searching: HIA first",
        "3 pages found; read: ",
        "It was so.",
        "Answer then, F1",
        "It abstains: no page says so",
        "Its reply cannot be read: a list, no object",
        "It failed: ",
        "the line is dead",
    ):
        assert text in found.html, text
    assert "1 in a reply that cannot be read and 1 in a failure" in " ".join(found.caveats)
    marks = mark_counts(read_folder(run_folder))
    assert (marks["invalid"], marks["error"], marks["missing"], marks["abstained"]) == (1, 1, 0, 1)
    outcomes = cells(grid(found, "run", "Outcomes"))
    assert outcomes == {"ANSWERED": ["3"], "ABSTAINED": ["1"], "INVALID": ["1"], "ERROR": ["1"]}
    work = cells(grid(found, "run", "What it took"))
    assert work["Rounds"] == ["7", "1.2"]
    assert work["Searches"] == ["7", "1.2"]
    assert work["Pages found"] == ["12", "2.0"]
    links = cells(grid(found, "run", "Sentences linked"))
    assert links == {"borne out": ["3", "50 %"], "contradicted": ["3", "50 %"]}


def test_tokens_and_seconds_are_of_the_rows_that_tell_them(tmp_path: Path) -> None:
    folder = ran(tmp_path)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text("utf-8").splitlines()]
    assert "Tokens read by the model" not in section_of(folder).html
    for row, tokens in zip(rows, (100, 300), strict=False):
        row["usage"] = {"prompt_tokens": tokens, "completion_tokens": 7}
        row["latency_s"] = 1.25
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = grid(section_of(folder), "run", "What it took")
    work = cells(table)
    assert work["Tokens read by the model"] == ["400", "200.0"]
    assert work["Tokens written by it"] == ["14", "7.0"]
    assert work["Seconds waiting for it"] == ["2.5", "1.2"]
    assert [line.below for line in table.lines][-1] == "2 of 6 rows tell it"


def test_sources_found_read_and_named_are_counted(run_folder: Path) -> None:
    read = read_folder(run_folder)
    assert read.run is not None
    sources = [len(view.sources) for view in read.answers]
    answered = [at for at, row in enumerate(read_rows(run_folder / "rows.jsonl")) if row.trail
                and row.outcome == "ANSWERED"]  # fmt: skip
    assert len(answered) == 3
    table = cells(grid(section_of(run_folder), "run", "Sources"))
    assert table["named"] == ["3", f"{300 / sum(sources):.0f} %"]
    assert reached(read.run, read.answers) == (
        sum(sources),
        sum(min(2, sources[at]) for at in answered),
        3,
        3,
    )


def test_a_run_of_a_part_of_the_questions_says_so(tmp_path: Path) -> None:
    found = section_of(ran(tmp_path, limit=2))
    assert "Only 2 of 6 questions were asked; the others count as missing." in found.caveats


def test_a_system_that_answers_from_the_graph_is_not_praised_for_its_claims(
    tmp_path: Path,
) -> None:
    from eval.synthlink.running.run import run
    from eval.synthlink.running.run_options import RunOptions

    done = run(RunOptions(system="graph_walk", out=tmp_path, limit=1))
    options = {"output_dir": tmp_path, "predictions": done.predictions, "resamples": RESAMPLES}
    write_scores(ScoreOptions(**options))
    assert "answers from the very graph" in " ".join(section_of(tmp_path).caveats)
    write_scores(ScoreOptions(**options, domain="none"))
    assert "answers from the very graph" not in " ".join(section_of(tmp_path).caveats)


def judged(folder: Path) -> JudgeReport:
    """Has a judge find every claim supported that the graph left open, and puts that on record."""
    found = read_scored(folder)
    questions = six_questions().questions
    corrected = found.report.modes["corrected"]
    said: dict[str, Any] = {"planned": 2, "verdict": "supported", "votes": ("supported",) * 2}
    lines = [
        JudgedLine(key="", kind="claim", question_id=row.question_id, claim=claim.text, **said)
        for row in corrected.questions
        for claim in row.parts.claims
    ]
    lines += [
        JudgedLine(key="", kind=kind, question_id="HIA-01", claim="It was.", **said)
        for kind in ("own fact", "other fact")
    ]
    judgement = Judgement(
        models=("loop/<b>judge</b>",), same=True, planned=2, params={}, lines=tuple(lines)
    )
    rows = tuple(
        replace(row, parts=with_verdicts(row.parts, question, judgement.by_claim))
        for row, question in zip(corrected.questions, questions, strict=True)
    )
    report = judge_report(judgement, rows)
    modes = found.report.modes | {"corrected": replace(corrected, questions=rows)}
    changed = replace(found, report=replace(found.report, judge=report, modes=modes))
    (folder / "synthlink_scores.json").write_bytes(to_json_bytes(changed))
    return report


def test_a_judge_stands_beside_what_words_would_have_said(tmp_path: Path) -> None:
    folder = six(tmp_path)
    before = read_scored(folder).report.modes["corrected"].claims
    report = judged(folder)
    found = section_of(folder)
    table = cells(grid(found, "claims", "Words against the judge"))
    moved = {"borne out": "licensed", "contradicted": "contradicted", "cannot be told": "unknown"}
    assert table == {
        words: [str(before[key]), "0", "0"] for words, key in moved.items() if before[key]
    }
    trust = cells(grid(found, "claims", "How far the judge can be trusted"))
    assert trust["Every vote is the same"][0] == "100 %"
    assert trust["Calls another question's facts not told"] == ["0.000", "1"]
    decided = cells(grid(found, "claims", "What decided"))
    assert decided["a model that judges"][0] == str(report.decided)
    assert "a model that judges; by words: contradicted" in found.html
    assert "loop/&lt;b&gt;judge&lt;/b&gt; judged what the graph left open" in found.html
    assert "The model that answered also judged" in found.html
    assert "judged what the graph left open" not in section_of(six(tmp_path / "nobody")).html


def test_rows_that_are_not_what_was_scored_are_refused(tmp_path: Path) -> None:
    folder = ran(tmp_path / "run")
    rows = folder / "rows.jsonl"
    rows.write_text(rows.read_text("utf-8").replace("In 1794 Eli Whitney", "In 1795 Eli Whitney"))
    with pytest.raises(CardSetMismatchError, match="'HIA-01' is not what was scored"):
        section_of(folder)
    rows.unlink()
    with pytest.raises(MissingFileError):
        section_of(folder)


def test_rows_of_a_run_are_left_alone_where_another_file_was_scored(tmp_path: Path) -> None:
    folder = ran(tmp_path / "run")
    (tmp_path / "mine.json").write_text(json.dumps(honest(six_questions())))
    write_scores(
        ScoreOptions(
            predictions=tmp_path / "mine.json", output_dir=folder, catalog=SIX, resamples=RESAMPLES
        )
    )
    found = section_of(folder)
    assert "teller" not in found.about
    assert "mine.json" in found.about
    assert all(part.id != "run" for part in found.parts)


DAMAGED = ("manifest.json", "synthlink_scores.json", "synthlink_answers.jsonl")


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    folder = six(tmp_path)
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(text[: len(text) // 2])
    with pytest.raises(RecordError, match=re.escape(name)):
        section_of(folder)
    (folder / name).unlink()
    with pytest.raises(MissingFileError, match=re.escape(name)):
        section_of(folder)


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    folder = six(tmp_path)
    answers = folder / "synthlink_answers.jsonl"
    whole = answers.read_bytes()
    answers.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    with pytest.raises(CardSetMismatchError, match="of other questions"):
        section_of(folder)
    answers.write_bytes(b"")
    with pytest.raises(RecordError, match="no question"):
        section_of(folder)
    answers.write_bytes(whole)
    record = folder / "synthlink_scores.json"
    for change, error, message in (
        (lambda one: one["report"].update(schema="epoche.synthlink/0"), RecordError, "schema"),
        (lambda one: one["report"]["weights"].update(f1=1.0), RecordError, "other weights"),
        (lambda one: one["report"]["modes"].pop("literal"), CardSetMismatchError, "other modes"),
    ):
        document = json.loads(record.read_bytes())
        keep = record.read_bytes()
        change(document)
        record.write_text(json.dumps(document))
        with pytest.raises(error, match=message):
            section_of(folder)
        record.write_bytes(keep)


def test_a_file_of_the_folder_is_never_overwritten_by_the_report(
    world: Any, tmp_path: Path
) -> None:
    folder = six(tmp_path)
    before = (folder / "synthlink_scores.json").read_bytes()
    out = folder / "synthlink_scores.html"
    with pytest.raises(SettingError, match="overwrite a file it is made from"):
        main(world.results, None, world.metrics, out, section=[folder])
    assert (folder / "synthlink_scores.json").read_bytes() == before


def test_the_card_report_shows_it_after_its_own_parts(
    world: Any, folder: Path, run_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    main(world.results, None, world.metrics, out, section=[folder, run_folder])
    page = out.read_text("utf-8")
    assert '<a href="#synthlink">SynthLink</a>' in page
    assert page.index('<section id="synthlink"') < page.index('<section id="synthlink-2"')
    assert page.count("<h1>") == 1
    names = {path.name for path in tmp_path.iterdir()}
    tables = {
        f"report.{one}.{name}.csv"
        for one in ("synthlink", "synthlink-2")
        for name in ("measures", "pairs", "questions")
    }
    assert tables <= names
    markdown = (tmp_path / "report.md").read_text("utf-8")
    assert markdown.count("## Can it link what no single page tells?") == 2
    document = json.loads((tmp_path / "report.json").read_bytes())
    assert list(document["sections"]) == ["synthlink", "synthlink-2"]


def test_a_page_holds_no_more_questions_than_it_can_bear(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sum(row.characters for row in samples_of(section_of(folder)).rows)
    monkeypatch.setattr(samples_of_folder, "CHARACTERS", whole // 2)
    found = section_of(folder)
    rows = samples_of(found).rows
    assert 1 < len(rows) < 6
    assert sum(row.characters for row in rows) <= whole // 2
    assert f"The first {len(rows)} of 6; the CSV file has all." in found.html
    table = page_files(found)["report.questions.csv"].decode()
    assert len(list(csv.DictReader(io.StringIO(table, newline="")))) == 6


def samples_of(section: Section) -> Samples:
    return next(one for one in blocks_of(section, "samples") if isinstance(one, Samples))


def test_lists_without_end_are_cut(tmp_path: Path) -> None:
    rows = honest(six_questions())
    rows[0]["retrieved_docs"] = [f"https://news.example/{n}" for n in range(400)]
    rows[0]["iterations"] = [{"answers": [f"{n} ships sank."], "docs": []} for n in range(400)]
    rows[0]["predicted_answer"] += "".join(f" In {n} a ship sank." for n in range(400))
    html = section_of(scored(tmp_path, rows)).html
    for title in ("Pages it names; ✓ are sources; 370", "Rounds; 370", "What it claims; 3"):
        assert title in html, title
    assert "https://news.example/29<" in html
    assert "https://news.example/30<" not in html


TOLD = st.one_of(
    st.just(""),
    st.text(max_size=80),
    st.lists(st.sampled_from(six_questions().questions[0].answer.split()), max_size=30).map(
        " ".join
    ),
)


@settings(max_examples=12)
@given(st.lists(TOLD, min_size=6, max_size=6), st.lists(TOLD, max_size=3))
def test_whatever_is_answered_can_be_shown(
    tmp_path_factory: pytest.TempPathFactory, answers: list[str], pages: list[str]
) -> None:
    rows = [
        {
            "question_id": one.id,
            "predicted_answer": answer,
            "retrieved_docs": pages,
            "iterations": [{"answers": [answer], "docs": pages}],
        }
        for one, answer in zip(six_questions().questions, answers, strict=True)
    ]
    folder = scored(tmp_path_factory.mktemp("any"), rows, domain="none", resamples=20)
    read = read_folder(folder)
    assert mark_counts(read).total() == 6
    answered = read.report.n_answered
    whole = grid(section_of(folder), "losing", "What the corrected score is made of").lines[-1]
    total = read.report.modes["corrected"].overall.measures["aggregate"].value
    assert float(whole.cells[1].text) == pytest.approx(total, abs=6e-4)
    files = page_files(section_of(folder))
    assert files["report.html"].count(b"<script") == 2
    assert (b"all are answered" in files["report.html"]) == (answered == 6)


def test_marks_and_measures_are_all_named() -> None:
    assert len({mark.key for mark in MARKS}) == len(MARKS)
    assert set(NAMED) == set(MEASURES)
