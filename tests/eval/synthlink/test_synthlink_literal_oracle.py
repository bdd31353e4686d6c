"""Tests the literal scores of whole files against an independent reference implementation.

The scorer below was written only from the text of the SynthLink specification, without code of the
package.
The random files and catalogues contain only words that every tokenizer splits in the same way.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.synthlink.catalog import Catalog
from eval.synthlink.items import Question, Source, Step
from eval.synthlink.scoring.scores import score_predictions
from eval.synthlink.scoring.tables import build_question_rows

WORDS = (
    "press", "books", "cheaper", "literacy", "Europe", "spread", "Reformation", "ideas",
    "printing", "readers", "letters", "Latin", "market", "learned", "faster", "pages",
)  # fmt: skip
TITLES = ("Printing press", "Literacy", "Reformation", "Latin", "Market of ideas", "Johannes")
OTHER_DOCUMENTS = ("https://example.org/wiki/Steam", "Steam", "", "https://example.org/")
IDS = ("HIA-01", "HIA-02", "EIS-01", "SFT-10")


# --- reference implementation -----------------------------------------------------------------


def compute_reference_scores(
    rows: list[dict[str, Any]], catalog: Catalog
) -> dict[str, dict[str, Fraction]]:
    """Returns question → metric → score by the specification's formulas; unanswered is 0."""
    rows_by_id = {row["question_id"]: row for row in rows}
    scores = {}
    for question in catalog.questions:
        row = rows_by_id.get(question.id)
        if row is None or not row["predicted_answer"].strip():
            scores[question.id] = dict.fromkeys(("f1", "p", "rqs", "fcs", "ie", "all"), Fraction(0))
            continue
        f1 = _f1(row["predicted_answer"], question.answer)
        docs = {_document_key(doc) for doc in row["retrieved_docs"][:5]}
        hits = sum(
            bool({source.title.lower(), source.url.lower()} & docs) for source in question.sources
        )
        keywords = [word for step in question.steps for word in step.keywords]
        in_text = sum(word.lower() in row["predicted_answer"].lower() for word in keywords)
        claims = [part for part in row["predicted_answer"].split(". ") if part]
        verified_texts = [text.lower() for text in row["sources_verified"]]
        verified = sum(
            any(_restore_full_stop(claim) in text for text in verified_texts) for claim in claims
        )
        correct_rounds = [
            number
            for number, iteration in enumerate(row["iterations"], 1)
            if any(_f1(text, question.answer) >= Fraction(1, 2) for text in iteration["answers"])
        ]
        metrics = {
            "f1": f1,
            "p": Fraction(hits, 5),
            "rqs": min(Fraction(in_text, len(keywords)), Fraction(1)) if keywords else Fraction(0),
            "fcs": Fraction(verified, len(claims)),
            "ie": Fraction(1, min(correct_rounds[0], 5)) if correct_rounds else Fraction(0),
        }
        total = 3 * metrics["f1"] + 2 * metrics["p"] + 3 * metrics["rqs"]
        total += metrics["fcs"] + metrics["ie"]
        scores[question.id] = {**metrics, "all": total / 10}
    return scores


def _f1(predicted: str, truth: str) -> Fraction:
    predicted_words, true_words = (
        {word.strip(".").lower() for word in text.split()} - {""} for text in (predicted, truth)
    )
    if not predicted_words & true_words:
        return Fraction(0)
    precision, recall = (
        Fraction(len(predicted_words & true_words), len(predicted_words)),
        Fraction(len(predicted_words & true_words), len(true_words)),
    )
    return 2 * precision * recall / (precision + recall)


def _document_key(doc: str) -> str:
    """Returns the last part of a document's address, or its text."""
    if doc.lower() in {source.url.lower() for source in SOURCES}:
        return doc.lower()
    return doc.rsplit("/", 1)[-1].replace("_", " ").lower()


def _restore_full_stop(claim: str) -> str:
    """Restores the full stop that splitting removed from a claim."""
    return f"{claim.rstrip('.')}.".lower()


# --- random files and catalogues --------------------------------------------------------------

SOURCES = tuple(
    Source(title, f"https://en.wikipedia.org/wiki/{title.replace(' ', '_')}") for title in TITLES
)


@st.composite
def generate_prose(draw: st.DrawFn, min_sentences: int = 0) -> str:
    sentences = draw(
        st.lists(
            st.lists(st.sampled_from(WORDS), min_size=2, max_size=6),
            min_size=min_sentences,
            max_size=4,
        )
    )
    return " ".join(f"{words[0].capitalize()} {' '.join(words[1:])}." for words in sentences)


@st.composite
def generate_questions(draw: st.DrawFn) -> Catalog:
    ids = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1))
    return Catalog(
        tuple(
            Question(
                id=id_,
                category=id_[:3],
                question=f"What of {draw(st.sampled_from(WORDS))}?",
                answer=draw(generate_prose(min_sentences=1)),
                sources=tuple(
                    draw(st.lists(st.sampled_from(SOURCES), unique=True, min_size=1, max_size=4))
                ),
                steps=tuple(
                    Step("Find it.", keywords=tuple(words))
                    for words in draw(
                        st.lists(
                            st.lists(st.sampled_from(WORDS), min_size=1, max_size=2),
                            min_size=1,
                            max_size=4,
                        )
                    )
                ),
            )
            for id_ in ids
        )
    )


DOCS = st.lists(
    st.sampled_from([*TITLES, *(source.url for source in SOURCES), *OTHER_DOCUMENTS]), max_size=7
)


@st.composite
def generate_files(draw: st.DrawFn) -> tuple[list[dict[str, Any]], Catalog]:
    catalog = draw(generate_questions())
    rows = []
    for question in catalog.questions:
        if draw(st.booleans()):
            answer = draw(generate_prose())
            similar_texts = st.sampled_from(
                [answer, question.answer, f"{answer} {question.answer}"]
            )
            rows.append(
                {
                    "question_id": question.id,
                    "predicted_answer": draw(st.just(answer) | st.just(question.answer)),
                    "retrieved_docs": draw(DOCS),
                    "iterations": draw(
                        st.lists(
                            st.fixed_dictionaries(
                                {
                                    "answers": st.lists(
                                        similar_texts | generate_prose(), max_size=2
                                    ),
                                    "docs": DOCS,
                                }
                            ),
                            max_size=7,
                        )
                    ),
                    "sources_verified": draw(
                        st.lists(similar_texts | generate_prose(), max_size=2)
                    ),
                }
            )
    return draw(st.permutations(rows)), catalog


@settings(max_examples=80)
@given(generate_files())
def test_reference_implementation_gives_the_same_literal_scores(
    case: tuple[list[dict[str, Any]], Catalog],
) -> None:
    rows, catalog = case
    expected = compute_reference_scores(rows, catalog)
    literal = score_predictions(rows, catalog, "literal", resamples=2).modes["literal"]
    for question_scores in literal.questions:
        expected_scores, parts = expected[question_scores.question_id], question_scores.parts
        assert question_scores.parts.recall_at_5 is None
        actual = (parts.f1, parts.p_at_5, parts.rqs, parts.fcs, parts.ie, parts.aggregate)
        assert actual == pytest.approx(tuple(map(float, expected_scores.values())), abs=1e-9), (
            question_scores.question_id
        )
    total = literal.overall.measures["aggregate"].value
    assert total == pytest.approx(
        float(sum(scores["all"] for scores in expected.values()) / len(expected)), abs=1e-9
    )
    for category, group in literal.categories.items():
        aggregates = [scores["all"] for id_, scores in expected.items() if id_.startswith(category)]
        assert group.measures["aggregate"].value == pytest.approx(
            float(sum(aggregates) / len(aggregates))
        )


def test_reference_implementation_matches_manual_values() -> None:
    """Excludes trivial agreement: in this row no metric is 0 or 1."""
    question = Question(
        id="HIA-01",
        category="HIA",
        question="What did it do?",
        answer="Press spread ideas.",
        sources=SOURCES[:2],
        steps=(Step("Find.", keywords=("press", "Latin")), Step("Link.", keywords=("ideas",))),
    )
    row = {
        "question_id": "HIA-01",
        "predicted_answer": "Press spread books. Market learned Latin.",
        "retrieved_docs": ["Steam", "https://en.wikipedia.org/wiki/Literacy", "Literacy"],
        "iterations": [{"answers": ["Pages"]}, {"answers": ["Pages", "Press spread books."]}],
        "sources_verified": ["So: market learned Latin. The end."],
    }
    expected = compute_reference_scores([row], Catalog((question,)))["HIA-01"]
    assert expected == {
        "f1": Fraction(2 * 2, 6 + 3),
        "p": Fraction(1, 5),
        "rqs": Fraction(2, 3),
        "fcs": Fraction(1, 2),
        "ie": Fraction(1, 2),
        "all": (3 * Fraction(4, 9) + Fraction(2, 5) + 2 + 1) / 10,
    }
    parts = (
        score_predictions([row], Catalog((question,)), "literal", resamples=2)
        .modes["literal"]
        .questions[0]
    )
    assert parts.parts.aggregate == pytest.approx(float(expected["all"]))


def test_published_catalogue_is_scored_completely(published_data: Path, tmp_path: Path) -> None:
    """Every question is scored; right answers score fully, including curly quotes and dashes."""
    from eval.synthlink.catalog import read_catalog

    catalog = read_catalog(published_data / "synthlink")
    rows = [
        {
            "question_id": question.id,
            "predicted_answer": question.answer,
            "retrieved_docs": [question.sources[-1].title, "Steam"],
            "iterations": [{"answers": ["nothing"]}, {"answers": [question.answer]}],
            "sources_verified": [question.answer],
        }
        for question in catalog.questions[::2]
    ]
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps(rows))
    table = build_question_rows(score_predictions(file, catalog, "literal", resamples=2))
    assert [row["question_id"] for row in table] == list(catalog.ids)
    for position, row in enumerate(table):
        answered = position % 2 == 0
        assert row["status"] == ("answered" if answered else "missing")
        actual = (row["f1"], row["p_at_5"], row["fcs"], row["ie"])
        assert actual == ((1, 0.2, 1, 0.5) if answered else (0, 0, 0, 0))
