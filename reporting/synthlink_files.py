"""The files of a folder of SynthLink scores, whoever asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from eval.running.made_files import forget_with_page, page_in
from eval.synthlink.judging.judge_files import judge_files
from eval.synthlink.judging.judging_run import JudgeOptions
from eval.synthlink.manifest import KIND
from eval.synthlink.outputs import (
    ANSWERS,
    COMPARISON,
    COMPARISON_WORDS,
    COMPARISONS,
    MANIFEST,
    OUTPUTS,
    Scored,
)
from eval.synthlink.record import Difference
from eval.synthlink.score_options import NONE, ScoreOptions
from eval.synthlink.scoring_files import Made, score_files
from eval.synthlink.tables import (
    CATEGORY_SCORES,
    OVERALL,
    RECORD,
    SCORES,
    category_rows,
    headlines,
    overall_text,
    question_rows,
)
from eval.synthlink.verdicts.record import JUDGED, Judgement, JudgeReport
from kg.base.console import Watch, say, shown_stages
from kg.base.errors import WriteError
from kg.base.files import check_output, to_json_bytes, write_files_atomic
from reporting.benchmark_sections.opening import MANIFEST as ANY_MANIFEST
from reporting.benchmark_sections.page import STEM, write_page
from reporting.benchmark_sections.spoken import say_notes
from reporting.guarded_text import to_csv
from reporting.synthlink_comparison import comparison_markdown, verdicts

_DIFFERENCE: Final = Difference.__struct_fields__


def score_and_say(options: ScoreOptions, judge: JudgeOptions | None = None) -> JudgeReport | None:
    """Writes scores and their page, and says what came of it, as commands do.

    Args:
        options: what to score, how, and the folder.
        judge: who judges claims that the graph leaves open; none for nobody.

    Returns:
        What is known of the judge; None for nobody.

    Raises:
        EpocheError: as ``judge_files``, ``write_scores`` and ``write_page``.
    """
    _check_folder(options)
    judged = None if judge is None else judge_files(options, judge)
    with shown_stages() as watch:
        scored = write_scores(options, watch, judged)
    write_page(options.output_dir)
    for line in (*headlines(scored.report), *verdicts(scored)):
        say(line)
    say_notes(scored.report.notes, options.output_dir / OVERALL)
    return scored.report.judge


def write_scores(
    options: ScoreOptions, watch: Watch | None = None, judged: Judgement | None = None
) -> Scored:
    """Scores a file of predictions and writes everything but the page; an older page goes.

    Args:
        options: what to score, how, and the folder.
        watch: is told how far it is.
        judged: what ``judge_files`` found of these predictions; none for nobody.

    Returns:
        What ``synthlink_scores.json`` holds.

    Raises:
        WriteError: the folder holds a run of another kind or a report of something else, an output
            would take the place of a file that is read, or one cannot be written; every file is
            then as it was.
        EpocheError: as ``score_files``.
    """
    folder = options.output_dir
    _check_folder(options)
    made = score_files(options, watch, judged)
    write_files_atomic({folder / name: data for name, data in _contents(made).items()})
    # A page, or comparisons, of earlier scores: whatever comes next, they are not of these.
    forget_with_page(folder, () if made.scored.comparisons else COMPARISONS)
    return made.scored


def _check_folder(options: ScoreOptions) -> None:
    folder = options.output_dir
    read = [options.predictions, *options.compare]
    read += [Path(path) for path in (options.catalog, options.pages) if path not in (None, NONE)]
    for name in (*OUTPUTS, JUDGED, f"{STEM}.html"):
        check_output(folder / name, read)
    for path in read:
        if path.resolve().parent == folder.resolve() and path.name.startswith(f"{STEM}."):
            raise WriteError(
                "cannot write: the page of the scores would take the place of a file it is made "
                "from",
                where=str(path),
                hint="Choose another --output-dir.",
            )
    kind = _kind(folder / ANY_MANIFEST)
    if kind not in (None, KIND):
        raise WriteError(
            f"the folder holds a run of another kind ({kind})",
            where=str(folder),
            hint="Choose another --output-dir.",
        )
    others = page_in(folder) if kind is None else []
    if others:
        raise WriteError(
            f"the folder holds {others[0]}, which was not made of such scores",
            where=str(folder),
            hint="Choose another --output-dir.",
        )


def _kind(path: Path) -> str | None:
    """What a manifest says it is of; None where there is none."""
    if not path.is_file():
        return None
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "one that cannot be read"
    return str(found.get("kind", "unnamed"))[:40] if isinstance(found, dict) else "unnamed"


def _contents(made: Made) -> dict[str, bytes]:
    """Name → bytes of every file."""
    scored, report = made.scored, made.scored.report
    contents = {
        SCORES: _table(question_rows(report)),
        CATEGORY_SCORES: _table(category_rows(report)),
        OVERALL: f"{overall_text(report)}signature: {made.manifest.signature}\n".encode(),
        RECORD: to_json_bytes(scored, indent=2) + b"\n",
        ANSWERS: b"".join(to_json_bytes(view) + b"\n" for view in made.answers),
        MANIFEST: to_json_bytes(made.manifest, indent=2) + b"\n",
    }
    if scored.comparisons:
        contents[COMPARISON] = to_csv(_DIFFERENCE, _differences(scored)).encode()
        contents[COMPARISON_WORDS] = comparison_markdown(scored).encode()
    return contents


def _table(rows: Sequence[dict[str, Any]]) -> bytes:
    return to_csv(list(rows[0]), (list(row.values()) for row in rows)).encode()


def _differences(scored: Scored) -> Iterator[tuple[object, ...]]:
    for other in scored.comparisons:
        for one in other.differences:
            yield tuple(getattr(one, field) for field in _DIFFERENCE)
