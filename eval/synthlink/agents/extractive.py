"""``extractive``: the sentences found that say most of what was asked; no graph and no model.

Round by round it searches, reads, and picks sentences that have the question's words, each word
counting less once it was said. Between rounds the words that are frequent in what it found, and not
in the question, join the search (relevance feedback without a judge: J. Rocchio, in The SMART
retrieval system, 1971; with a falling weight as in RM3, N. Abdul-Jaleel et al., TREC 2004).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from eval.guard.cutting import Cutter
from eval.synthlink.agents.trail import MOST_ROUNDS, Cited, Link, Round, Trail
from kg.text.normaliser import content_words

if TYPE_CHECKING:
    from eval.synthlink.agents.library import Hit, Library

PASSAGES: Final = 8
"""Passages that are read in one round."""
SENTENCES: Final = 5
"""Sentences of an answer."""
TERMS: Final = 4
"""Words that join the search in each round."""
FEEDBACK: Final = 0.4
"""What such a word counts, where one of the question counts 1."""
SAID: Final = 0.5
"""What is left of a word's worth each time a sentence has said it."""
LEAST_SHARED: Final = 2
"""Words of the question that some sentence must have: one alone is chance."""
MOST_WORDS: Final = 80
"""Words of content a sentence may have; a longer one is no sentence but a table or a list."""


class _Sentence(NamedTuple):
    text: str
    words: tuple[str, ...]
    place: tuple[int, int]
    """Of its passage among those found, and within that."""
    page: Cited
    relevance: float
    """Of its passage, in [0, 1]."""


class Extractive:
    """Answers with sentences of pages.

    Args:
        library: where pages are looked for.
        rounds: iterations at most.

    Raises:
        ValueError: fewer than one round, or more than ``MOST_ROUNDS``.
    """

    name = "extractive"

    def __init__(self, library: Library, rounds: int = MOST_ROUNDS) -> None:
        if not 1 <= rounds <= MOST_ROUNDS:
            raise ValueError(f"rounds must be 1 to {MOST_ROUNDS}, not {rounds}")
        self._library = library
        self._rounds = rounds

    def params(self) -> dict[str, Any]:
        """Library and settings."""
        return {
            "library": self._library.params(),
            "rounds": self._rounds,
            "passages": PASSAGES,
            "sentences": SENTENCES,
            "terms": TERMS,
            "feedback": FEEDBACK,
            "said": SAID,
            "least_shared": LEAST_SHARED,
            "most_words": MOST_WORDS,
        }

    async def answer(self, question: str) -> Trail:
        """Answers one question; abstains where no sentence has enough of its words.

        Raises:
            SearchError: the library failed.
        """
        weights = dict.fromkeys(content_words(question), 1.0)
        asked = frozenset(weights)
        query = question
        rounds: list[Round] = []
        found: dict[tuple[str, str], tuple[Hit, float]] = {}
        picked: list[_Sentence] = []
        for _ in range(self._rounds):
            hits = await self._library.search(query, PASSAGES)
            new = {(hit.page.url, hit.passage): hit for hit in hits}
            read = [hit for key, hit in new.items() if key not in found]
            best = max((hit.score for hit in hits), default=0.0)
            for key, hit in new.items():
                relevance = max(0.0, hit.score / best) if best > 0 else 0.0
                found.setdefault(key, (hit, relevance))
            before = picked
            picked = _pick(_sentences(found.values()), weights, asked)
            rounds.append(
                Round(
                    query=query,
                    found=_pages(hits),
                    read=_pages(read),
                    links=tuple(
                        Link(one.text, one.page.url) for one in picked if one not in before
                    ),
                    answer=" ".join(one.text for one in picked),
                )
            )
            terms = _frequent([hit.passage for hit in hits], weights)
            if not terms or (picked == before and not read):
                break
            weights.update(dict.fromkeys(terms, FEEDBACK))
            query = " ".join([question, *(word for word in weights if word not in asked)])
        rounds[-1] = msgspec.structs.replace(rounds[-1], done=True)
        return _trail(rounds, picked, found)


def _trail(
    rounds: Sequence[Round],
    picked: Sequence[_Sentence],
    found: Mapping[tuple[str, str], tuple[Hit, float]],
) -> Trail:
    passages = [hit for hit, _ in found.values()]
    resting = dict.fromkeys(one.place[0] for one in picked)
    return Trail(
        answer=rounds[-1].answer,
        abstained=not picked,
        rounds=tuple(rounds),
        docs=tuple(dict.fromkeys([*(one.page for one in picked), *_pages(passages)])),
        verified=tuple(passages[place].passage for place in resting),
        why="" if picked else "no sentence that was found has enough of the question's words",
    )


def _sentences(hits: Iterable[tuple[Hit, float]]) -> list[_Sentence]:
    """All sentences of some passages with their relevance, each once."""
    found: dict[str, _Sentence] = {}
    for number, (hit, relevance) in enumerate(hits):
        page = Cited(hit.page.url, hit.page.title)
        cutter = Cutter()
        pieces = [*cutter.feed(hit.passage), *cutter.close()]
        for place, piece in enumerate(pieces):
            text = " ".join(piece.text.split())
            words = tuple(content_words(text))
            if 0 < len(words) <= MOST_WORDS and not piece.forced:
                found.setdefault(text, _Sentence(text, words, (number, place), page, relevance))
    return list(found.values())


def _pick(
    sentences: Sequence[_Sentence], weights: Mapping[str, float], asked: frozenset[str]
) -> list[_Sentence]:
    """The sentences to answer with, in the order of the passages they stand in.

    One after the other the one is taken whose words are worth most, for its length and by the
    relevance of its passage: a word is worth its weight times ln(1 + sentences / sentences that
    have it), less each time it was said. None where none has ``LEAST_SHARED`` words of the
    question.
    """
    spread = Counter(word for one in sentences for word in dict.fromkeys(one.words))
    worth = {
        word: weight * math.log(1 + len(sentences) / spread[word])
        for word, weight in weights.items()
        if word in spread
    }
    picked: list[_Sentence] = []
    left = list(sentences)
    if not any(_shared(one, asked) >= LEAST_SHARED for one in left):
        return []
    while left and len(picked) < SENTENCES:
        gains = [
            one.relevance
            * math.fsum(worth.get(word, 0.0) for word in dict.fromkeys(one.words))
            / math.sqrt(len(one.words))
            for one in left
        ]
        best = max(range(len(left)), key=lambda at: gains[at])
        if not gains[best]:
            break
        taken = left.pop(best)
        picked.append(taken)
        for word in dict.fromkeys(taken.words):
            if word in worth:
                worth[word] *= SAID
    return sorted(picked, key=lambda one: one.place)


def _shared(one: _Sentence, asked: frozenset[str]) -> int:
    return len(asked.intersection(one.words))


def _frequent(passages: Sequence[str], known: Mapping[str, float]) -> list[str]:
    """Words that most of the passages found have in common, those found first counting more."""
    counts: dict[str, float] = {}
    for rank, passage in enumerate(passages, start=1):
        for word, times in Counter(content_words(passage)).items():
            if word not in known and not word.isdigit():
                counts[word] = counts.get(word, 0.0) + math.log(1 + times) / rank
    return sorted(counts, key=lambda word: (-counts[word], word))[:TERMS]


def _pages(hits: Iterable[Hit]) -> tuple[Cited, ...]:
    return tuple(dict.fromkeys(Cited(hit.page.url, hit.page.title) for hit in hits))
