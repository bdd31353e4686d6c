"""Tests that no sentence is read as a claim that it does not make, however its clauses are joined.

``coordinated_sentences.jsonl`` has sentences with coordinated verbs, lists and relative clauses;
their ``means`` are all claims of the graph's vocabulary that they make, true or false.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.guard.stream import Guard
from kg.knowledge import KnowledgeBase

SENTENCES = Path(__file__).parents[2] / "data" / "coordinated_sentences.jsonl"


def load_sentences(domain: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in SENTENCES.read_text("utf-8").splitlines()]
    return [row for row in rows if row["domain"] == domain]


def read_claims(guard: Guard, text: str) -> set[tuple[str, str, str]]:
    """Returns the claims that the guard reads, with names instead of IRIs."""

    def get_name(term: str) -> str:
        if term.startswith('"'):
            return term.split('"')[1]
        return guard.knowledge.labels.get_label(term).split(" (")[0]

    claims = [claim for event in guard.iter_events([text]) for claim in event.claims]
    return {(get_name(c.subj), c.pred.partition("#")[2], get_name(c.obj)) for c in claims}


@pytest.fixture(scope="module", params=["rivers", "mayors"])
def guard(request: pytest.FixtureRequest) -> Guard:
    return Guard(KnowledgeBase.open_cached(request.param))


def test_only_claims_of_the_sentence_are_read(guard: Guard) -> None:
    wrong, n_meant, n_read = [], 0, 0
    sentences = load_sentences(guard.knowledge.domain.name)
    for row in sentences:
        meant = {tuple(claim) for claim in row["means"]}
        read = read_claims(guard, row["text"])
        wrong += [(row["text"], claim) for claim in sorted(read - meant)]
        n_meant, n_read = n_meant + len(meant), n_read + len(read)
    assert wrong == []
    # A guard that read nothing would make no mistake.
    assert len(sentences) > 50
    assert n_read > n_meant / 3


@pytest.mark.parametrize("guard", ["rivers"], indirect=True)
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        # The subject of the second verb is the sentence's, whether or not the first part is read.
        ("The Rhône runs through Switzerland and France and flows into the Mediterranean Sea.",
         ["licensed", "licensed"]),
        ("The mighty Rhône runs through France, Switzerland, flows into the Mediterranean Sea.",
         ["unread"]),
        ("The river that crosses Czechia and Germany flows into the North Sea.", ["unread"]),
        # It stays so, even if the first verb is not read, as long as no part may have another one.
        ("The Rhône starts at a glacier, runs through France and Switzerland, and flows into the "
         "Mediterranean Sea.", ["unread", "licensed", "licensed"]),
        ("The Rhône starts at a glacier, Germany helps and flows into the Mediterranean Sea.",
         ["unread"]),
        ("The Rhine meets the Main, flows into the North Sea.", ["unread", "licensed"]),
        # One of several subjects must not stand for all: the Danube flows into another sea.
        ("The Rhine and the Danube cross Germany and flow into the North Sea.",
         ["licensed", "unread"]),
        ("The Danube receives the Rhine and the Sava, which flow through Croatia.",
         ["contradicted", "unread"]),
        # Clauses after one that is not read, where no list can go on.
        ("The Elbe is pretty, but the Rhine flows into the North Sea.", ["unread", "licensed"]),
        ("The Elbe is pretty; the Rhine flows into the North Sea.", ["unread", "licensed"]),
        ("The Elbe is pretty while the Rhine flows into the North Sea.", ["unread", "licensed"]),
        ("Unlike the Danube and the Inn, the Rhône flows into the Mediterranean Sea.",
         ["unread", "licensed"]),
        # A pronoun whose antecedent cannot be meant.
        ("The Rhine crosses Germany, which flows into the North Sea.", ["licensed", "unread"]),
        # The topic stays the same.
        ("The Rhine flows into the North Sea. Its source is in the Swiss Alps. It crosses Germany.",
         ["licensed", "licensed", "licensed"]),
    ],
)  # fmt: skip
def test_clauses_keep_their_own_subject(guard: Guard, text: str, kinds: list[str]) -> None:
    events = [event for event in guard.iter_events([text]) if event.source.strip()]
    assert [event.kind for event in events] == kinds
