"""Every question with what was answered, what that is worth, and how it came about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eval.blocks.samples import (
    Answer,
    AnyDetail,
    Compared,
    ComparedLine,
    Detail,
    ItemTone,
    Look,
    Mark,
    SampleRow,
    Samples,
)
from eval.blocks.text_format import format_number, shorten_text, truncate_text
from eval.synthlink.agents.trail import Trail
from eval.synthlink.blocks.metric_texts import DECIDED_BY, MEASURES, VERDICTS, category_name
from eval.synthlink.blocks.score_data import ScoredFolder
from eval.synthlink.corrected.pages import score_retrieval
from eval.synthlink.metrics import AnswerStatus, JudgedClaim, Mode, QuestionScore
from eval.synthlink.row import SynthLinkRow
from eval.synthlink.scoring.outputs import AnswerView
from kg.base.plain_text import to_one_line

CHARACTERS = 1_600_000
"""Characters of questions and answers in a page, about; the first rows stand there twice."""
_ITEMS = 30
"""Pages, rounds, steps or claims shown of one answer."""
_QUERY = 200
"""Characters shown of what was searched."""
_TEXT = 1_200
"""Characters shown of one round's answer, one claim or one page."""

MARKS = (
    Mark("match", "✓", "matches", "right: F1 high enough to count as correct", "right"),
    Mark("unjudged", "~", "unjudged", "unjudged: nothing decides whether it is correct", "none"),
    Mark("part", "~", "in part", "in part: not correct, but it takes a step", "held"),
    Mark("below", "~", "below", "below: not correct, and its steps are not judged", "held"),
    Mark("off", "✗", "off", "wrong: not correct, and no step is taken", "wrong"),
    Mark("abstained", "○", "abstained", "abstained: the answer is blank", "held"),
    Mark("missing", "!", "missing", "missing: no row for this question", "none"),
    Mark("invalid", "!", "INVALID", "unreadable: no reply that could be read", "none"),
    Mark("error", "!", "ERROR", "failed: a call, a search or the system failed", "none"),
    Mark("refused", "!", "refused", "refused: its row cannot be used", "none"),
)
"""What one answer amounts to, the best first."""
_ALWAYS = ("match",)
"""Explained even where no answer has them; the others only where one has."""


def mark_of(folder: ScoredFolder, at: int) -> str:
    """The key of the mark that the answer to a question gets, by the headline's scores.

    Args:
        folder: the scores.
        at: place of the question in the catalogue.
    """
    row = folder.headline.questions[at]
    way = folder.row_of(row.question_id)
    if row.status == "missing" and way is not None and way.outcome in ("INVALID", "ERROR"):
        return way.outcome.lower()
    if row.status != "answered":
        return row.status
    lowest, highest = row.parts.f1_bounds
    correct = folder.correct_from(folder.modes[0])
    if highest >= correct:
        return "match" if lowest >= correct else "unjudged"
    if row.parts.rqs is None:
        return "below"
    return "part" if row.parts.rqs else "off"


def mark_counts(folder: ScoredFolder, category: str | None = None) -> Counter[str]:
    """How many questions get each mark; only those of a category, if one is given."""
    return Counter(
        mark_of(folder, at)
        for at, row in enumerate(folder.headline.questions)
        if category in (None, row.category)
    )


def samples_of_folder(folder: ScoredFolder, elsewhere: str) -> Samples:
    """The table of all questions, or of as many as a page can bear.

    Args:
        folder: the scores.
        elsewhere: where all of them stand.
    """
    counts = mark_counts(folder)
    rows: list[SampleRow] = []
    spent = 0
    for at, view in enumerate(folder.answers):
        row = _row(folder, at, view)
        spent += row.length
        if rows and spent > CHARACTERS:
            break
        rows.append(row)
    return Samples(
        noun=("question", "questions"),
        facets=("Category", "Claims"),
        systems=(folder.name,),
        marks=tuple(mark for mark in MARKS if counts[mark.key] or mark.key in _ALWAYS),
        rows=tuple(rows),
        elsewhere=elsewhere,
    )


def _row(folder: ScoredFolder, at: int, view: AnswerView) -> SampleRow:
    by_mode = folder.rows(at)
    headline = by_mode[folder.modes[0]]
    corrected = by_mode.get("corrected", headline)
    steps = [
        f"{instruction} {fact}".strip()
        for instruction, fact in zip(view.instructions, view.facts, strict=False)
    ]
    sources = [f"{one.title} · {one.url}" if one.url else one.title for one in view.sources]
    return SampleRow(
        id=view.question_id,
        facets=(
            category_name(view.category),
            _claims_facet(corrected.parts.claims),
        ),
        question=view.question,
        truth=f"Expected: {view.expected}",
        details=(
            *_build_list("Steps to the answer", steps),
            *_build_list("Sources of the catalogue", sources),
        ),
        answers=(_answer(folder, at, by_mode, headline, corrected, view),),
    )


def _claims_facet(claims: Sequence[JudgedClaim]) -> str:
    verdicts = {claim.verdict for claim in claims}
    if "contradicted" in verdicts:
        return "a claim contradicted"
    if "unjudged" in verdicts:
        return "a claim unjudged"
    if "not_found" in verdicts:
        return "a claim not found"
    return "all claims supported" if verdicts else "no claim"


def _answer(
    folder: ScoredFolder,
    at: int,
    by_mode: Mapping[Mode, QuestionScore],
    headline: QuestionScore,
    corrected: QuestionScore,
    view: AnswerView,
) -> Answer:
    details: list[AnyDetail] = [*_scores(by_mode)]
    if headline.status == "answered":
        details += _claims(corrected.parts.claims)
        details += _pages(view)
    row = folder.row_of(view.question_id)
    if row is not None and row.trail is not None:
        details += _trail(row.trail, headline)
    else:
        details += _rounds(headline, view)
    return Answer(mark_of(folder, at), _line(view, row), tuple(details))


def _line(view: AnswerView, row: SynthLinkRow | None) -> str:
    if row is None or view.answer.strip():
        return view.answer if view.answer.strip() else _SILENT[view.status]
    why = (row.error or "") if row.outcome == "ERROR" else row.trail.why if row.trail else row.note
    said = {"ERROR": "It failed", "INVALID": "Its reply cannot be read"}.get(
        row.outcome, "It abstains"
    )
    return f"{said}: {why or 'no reason is given'}"


_SILENT: dict[AnswerStatus, str] = {
    "answered": "It says nothing.",
    "abstained": "It abstains: the answer is blank.",
    "missing": "There is no row for this question.",
    "refused": "Its row cannot be used; the reason is under Limits.",
}


def _claims(claims: Sequence[JudgedClaim]) -> Iterator[AnyDetail]:
    """Each claim with its verdict and what decided."""
    if not claims:
        return
    looks: dict[str, Look] = {"supported": "right", "contradicted": "wrong"}
    lines = tuple(
        ComparedLine(
            " ".join(VERDICTS[claim.verdict]),
            looks.get(claim.verdict, "none"),
            (truncate_text(claim.text, _TEXT), DECIDED_BY.get(claim.by, claim.by)),
        )
        for claim in claims[:_ITEMS]
    )
    more = len(claims) - len(lines)
    title = f"What it claims; {more:,} more that are not shown" if more else "What it claims"
    yield Compared(title, ("Verdict", "Claim", "Decided by"), lines)


def _pages(view: AnswerView) -> Iterator[Detail]:
    """Pages that it names, and sources that it does not."""
    named = view.docs[:_ITEMS]
    found = [score_retrieval((doc,), view.sources, (doc,)) for doc in named]
    tones: list[ItemTone] = ["right" if one is not None and one.recall else "" for one in found]
    yield from _build_list("Pages it names; ✓ are sources", named, tones, len(view.docs))
    missed = [
        source.title
        for source in view.sources[:_ITEMS]
        if not ((one := score_retrieval(view.docs, (source,), view.docs)) and one.recall)
    ]
    yield from _build_list("Sources not among its first five pages", missed)


def _rounds(row: QuestionScore, view: AnswerView) -> Iterator[Detail]:
    """What stood there after each round, and how near that was."""
    said = []
    for place, one in enumerate(view.iterations):
        answers = " / ".join(text for text in one.answers if text.strip())
        f1 = row.parts.iteration_f1
        near = f" F1 {_format_f1(f1[place])}." if place < len(f1) else ""
        pages = f" {_pages_in_words(len(one.docs))}." if one.docs else ""
        said.append(f"Round {place + 1}.{near}{pages} {answers or 'No answer yet.'}")
    yield from _build_list("Rounds", said)


def _trail(trail: Trail, row: QuestionScore) -> Iterator[Detail]:
    """Every round of a run: what was searched, read and learned, and what stood there then."""
    tones: dict[str, ItemTone] = {"licensed": "right", "contradicted": "wrong"}
    for place, turn in enumerate(trail.rounds):
        items: list[tuple[str, ItemTone]] = []
        if turn.found:
            read = "; ".join(one.title or one.url for one in turn.read[:_ITEMS])
            items.append((f"{_pages_in_words(len(turn.found))} found; read: {read or 'none'}", ""))
        items += [(link.text, tones.get(link.verdict, "")) for link in turn.links[:_ITEMS]]
        if turn.answer:
            f1 = row.parts.iteration_f1
            near = f", F1 {_format_f1(f1[place])}" if place < len(f1) else ""
            items.append((f"Answer then{near}: {turn.answer}", ""))
        if not items:
            items.append(("Nothing came of it.", ""))
        title = f"Round {place + 1}"
        if turn.query:
            title += f", searching: {shorten_text(to_one_line(turn.query), _QUERY)}"
        yield from _build_list(title, [text for text, _ in items], [tone for _, tone in items])


def _format_f1(f1: float | tuple[float, float]) -> str:
    """Formats an F1, or what it can be where parts of the answer are unjudged."""
    ends = f1 if isinstance(f1, tuple) else (f1,)
    return " to ".join(format_number(end, 2) for end in ends)


def _pages_in_words(count: int) -> str:
    return f"{count:,} {'page' if count == 1 else 'pages'}"


def _scores(by_mode: Mapping[Mode, QuestionScore]) -> Iterator[AnyDetail]:
    """Every measure of this answer; in two modes side by side."""
    modes = list(by_mode)
    keys = [
        key for key in MEASURES if any(getattr(by_mode[m].parts, key) is not None for m in modes)
    ]
    if len(modes) == 1:
        parts = by_mode[modes[0]].parts
        said = [f"{MEASURES[key].full_name}: {format_number(getattr(parts, key))}" for key in keys]
        yield Detail(f"What it is worth, {modes[0]}", tuple(said), "list")
        return
    lines = []
    for key in keys:
        values = {mode: getattr(by_mode[mode].parts, key) for mode in modes}
        lines.append(
            ComparedLine(
                *_apart(values["literal"], values["corrected"]),
                (MEASURES[key].full_name, *(format_number(values[mode]) for mode in modes)),
            )
        )
    yield Compared(
        "What it is worth", ("Literal against corrected", "Measure", *modes), tuple(lines)
    )


def _apart(literal: float | None, corrected: float | None) -> tuple[str, Look]:
    """How far apart the two modes are on one measure."""
    if literal is None or corrected is None:
        return "– in one mode only", "none"
    gap = literal - corrected
    if abs(gap) < 0.005:
        return "= the same", "right"
    if gap > 0:
        return f"↑ {format_number(gap, 2)} more", "held"
    return f"↓ {format_number(-gap, 2)} less", "none"


def _build_list(
    title: str,
    items: Sequence[str],
    tones: Sequence[ItemTone] = (),
    whole: int | None = None,
) -> Iterator[Detail]:
    """A list, cut where it is long; nothing where there is nothing."""
    if not items:
        return
    shown = tuple(truncate_text(item, _TEXT) for item in items[:_ITEMS])
    more = (len(items) if whole is None else whole) - len(shown)
    if more > 0:
        title += f"; {more:,} more that are not shown"
    yield Detail(title, shown, "list", tuple(tones[:_ITEMS]))
