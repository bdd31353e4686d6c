"""Writes the files of a SynthLink score folder, for every command that scores predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from eval.blocks.page import PAGE_STEM
from eval.harness.benchmarks import SHARED_MANIFEST
from eval.harness.notes import print_notes
from eval.harness.outputs import delete_outputs_and_report, find_report_files
from eval.runs.sections import write_page
from eval.synthlink.corrected.answer_scores import keep_readers
from eval.synthlink.file_scorer import ScoringResult, score_files
from eval.synthlink.judges.judge_files import judge_files
from eval.synthlink.judges.judge_run import JudgeOptions
from eval.synthlink.scoring.comparison_text import describe_comparisons, render_comparison_markdown
from eval.synthlink.scoring.manifest import MANIFEST_KIND
from eval.synthlink.scoring.options import NO_RESOURCE, ScoreOptions
from eval.synthlink.scoring.outputs import (
    ANSWERS_FILE,
    COMPARISON_CSV,
    COMPARISON_FILES,
    COMPARISON_MARKDOWN,
    MANIFEST_FILE,
    OUTPUT_FILES,
    ScoredPredictions,
)
from eval.synthlink.scoring.record import QuestionComparison
from eval.synthlink.scoring.tables import (
    CATEGORY_SCORES_CSV,
    OVERALL_TEXT,
    SCORES_CSV,
    SCORES_JSON,
    build_category_rows,
    build_question_rows,
    render_headlines,
    render_overall_text,
)
from eval.synthlink.verdicts.record import JUDGED_FILE, Judgement, JudgeReport
from kg.base.console import StageCallback, print_text, show_stages
from kg.base.csv_text import to_csv
from kg.base.errors import WriteError
from kg.base.files import check_output, sha256_bytes, to_json_bytes, write_files_atomic

# No metric is 0 or 1 per question, so there is no 2×2 table.
_DIFFERENCE_FIELDS: Final = tuple(
    name for name in QuestionComparison.__struct_fields__ if name != "discordant"
)


@keep_readers()
def score_and_print(
    options: ScoreOptions, judge: JudgeOptions | None = None, *, report: bool = True
) -> JudgeReport | None:
    """Scores predictions, writes scores and page, and prints the results.

    Args:
        options: input files, settings and output folder.
        judge: options of the judge for claims that the graph does not decide; ``None``: no judge.
        report: whether the page is written; a page of earlier scores is deleted in any case.

    Returns:
        The judge's report; ``None`` without a judge.

    Raises:
        EpocheError: see ``judge_files``, ``write_scores`` and ``write_page``.
    """
    _check_output_folder(options)
    judgement = None if judge is None else judge_files(options, judge)
    with show_stages() as watch:
        scored = write_scores(options, watch, judgement)
    if report:
        write_page(options.output_dir)
    for line in (*render_headlines(scored.report), *describe_comparisons(scored)):
        print_text(line)
    print_notes(scored.report.notes, options.output_dir / OVERALL_TEXT)
    return scored.report.judge


def write_scores(
    options: ScoreOptions, watch: StageCallback | None = None, judgement: Judgement | None = None
) -> ScoredPredictions:
    """Scores a file of predictions and writes all files except the page; deletes an older page.

    Args:
        options: input files, settings and output folder.
        watch: called with the progress.
        judgement: the judge's verdicts, as returned by ``judge_files`` for these predictions.

    Returns:
        The content of ``synthlink_scores.json``.

    Raises:
        WriteError: the folder contains a run of another benchmark or another report, an output
            would overwrite an input file, or a file cannot be written. All files are then
            unchanged.
        EpocheError: see ``score_files``.
    """
    folder = options.output_dir
    _check_output_folder(options)
    result = score_files(options, watch, judgement)
    write_files_atomic({folder / name: data for name, data in _build_contents(result).items()})
    # Delete the page and the comparisons of earlier scores, so that a crash before the new page is
    # written cannot leave stale ones next to the new scores.
    delete_outputs_and_report(folder, () if result.scored.comparisons else COMPARISON_FILES)
    return result.scored


def _check_output_folder(options: ScoreOptions) -> None:
    """Checks that the folder is not used by another benchmark and no input is overwritten.

    Raises:
        WriteError: as for ``write_scores``.
    """
    folder = options.output_dir
    input_files = [options.predictions, *options.compare]
    input_files += [
        Path(path) for path in (options.catalog, options.pages) if path not in (None, NO_RESOURCE)
    ]
    for name in (*OUTPUT_FILES, JUDGED_FILE, f"{PAGE_STEM}.html"):
        check_output(folder / name, input_files)
    for path in input_files:
        if path.resolve().parent == folder.resolve() and path.name.startswith(f"{PAGE_STEM}."):
            raise WriteError(
                "cannot write: the page would overwrite a file it is made from",
                where=str(path),
                hint="Choose another --output-dir.",
            )
    kind = _read_kind(folder / SHARED_MANIFEST)
    if kind not in (None, MANIFEST_KIND):
        raise WriteError(
            f"the folder contains a run of another kind ({kind})",
            where=str(folder),
            hint="Choose another --output-dir.",
        )
    other_reports = find_report_files(folder) if kind is None else []
    if other_reports:
        raise WriteError(
            f"the folder contains {other_reports[0]}, which does not belong to SynthLink scores",
            where=str(folder),
            hint="Choose another --output-dir.",
        )


def _read_kind(path: Path) -> str | None:
    """Returns the kind named in a manifest, for messages; ``None`` without a manifest.

    A file with this name may contain any JSON, so its structure is checked.
    """
    if not path.is_file():
        return None
    try:
        manifest = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "with an unreadable manifest"
    return str(manifest.get("kind", "unnamed"))[:40] if isinstance(manifest, dict) else "unnamed"


def _build_contents(result: ScoringResult) -> dict[str, bytes]:
    """Returns the content of every file, by name."""
    scored, report = result.scored, result.scored.report
    scores = {
        SCORES_JSON: to_json_bytes(scored, indent=2) + b"\n",
        ANSWERS_FILE: b"".join(to_json_bytes(view) + b"\n" for view in result.answers),
    }
    manifest = msgspec.structs.replace(
        result.manifest,
        files_sha256={name: sha256_bytes(content) for name, content in scores.items()},
    )
    contents = {
        SCORES_CSV: _render_table(build_question_rows(report)),
        CATEGORY_SCORES_CSV: _render_table(build_category_rows(report)),
        OVERALL_TEXT: (
            f"{render_overall_text(report)}signature: {result.manifest.signature}\n".encode()
        ),
        **scores,
        MANIFEST_FILE: to_json_bytes(manifest, indent=2) + b"\n",
    }
    if scored.comparisons:
        contents[COMPARISON_CSV] = to_csv(_DIFFERENCE_FIELDS, _iter_differences(scored)).encode()
        contents[COMPARISON_MARKDOWN] = render_comparison_markdown(scored).encode()
    return contents


def _render_table(rows: Sequence[dict[str, Any]]) -> bytes:
    return to_csv(list(rows[0]), (list(row.values()) for row in rows)).encode()


def _iter_differences(scored: ScoredPredictions) -> Iterator[tuple[object, ...]]:
    for other in scored.comparisons:
        for difference in other.differences:
            yield tuple(getattr(difference, field) for field in _DIFFERENCE_FIELDS)
