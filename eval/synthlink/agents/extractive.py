"""The agent ``extractive``: answers with the sentences that share most words with the question.

It needs no graph and no model. In each round it searches, reads, and picks sentences that contain
words of the question; a word counts less once a picked sentence contains it. Between rounds, words
that are frequent in the passages found but not in the question are added to the query. This is
pseudo-relevance feedback (J. Rocchio, in The SMART retrieval system, 1971), with a decreasing
weight as in RM3 (N. Abdul-Jaleel et al., TREC 2004).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from eval.guard.segmenter import Segmenter
from eval.synthlink.agents.trail import MAX_ROUNDS, CitedPage, Link, Round, Trail
from kg.words.normaliser import extract_content_words

if TYPE_CHECKING:
    from eval.synthlink.agents.library import Hit, Library

PASSAGES_PER_ROUND: Final = 8
"""Passages read in one round."""
MAX_SENTENCES: Final = 5
"""Maximum number of sentences of an answer."""
TERMS_PER_ROUND: Final = 4
"""Words added to the query in each round."""
FEEDBACK_WEIGHT: Final = 0.4
"""Weight of an added word; a word of the question has weight 1."""
REPETITION_FACTOR: Final = 0.5
"""Factor on a word's weight for each picked sentence that contains it."""
MIN_SHARED_WORDS: Final = 2
"""Minimum number of the question's words that one sentence must contain; one may be chance."""
MAX_SENTENCE_WORDS: Final = 80
"""Maximum number of content words of a sentence; anything longer is a table or a list."""


class _Sentence(NamedTuple):
    """A sentence of a passage that was found."""

    text: str
    words: tuple[str, ...]
    """Its content words."""
    position: tuple[int, int]
    """Index of its passage among those found, and index of the sentence in the passage."""
    page: CitedPage
    relevance: float
    """Relevance of its passage, in [0, 1]."""


class Extractive:
    """Answers with sentences of pages.

    Args:
        library: the library that is searched.
        rounds: maximum number of rounds.

    Raises:
        ValueError: fewer than one round, or more than ``MAX_ROUNDS``.
    """

    name = "extractive"

    def __init__(self, library: Library, rounds: int = MAX_ROUNDS) -> None:
        if not 1 <= rounds <= MAX_ROUNDS:
            raise ValueError(f"rounds must be 1 to {MAX_ROUNDS}, not {rounds}")
        self._library = library
        self._rounds = rounds

    def params(self) -> dict[str, Any]:
        """Returns the settings of the library and of this agent."""
        return {
            "library": self._library.params(),
            "rounds": self._rounds,
            "passages": PASSAGES_PER_ROUND,
            "sentences": MAX_SENTENCES,
            "terms": TERMS_PER_ROUND,
            "feedback": FEEDBACK_WEIGHT,
            "said": REPETITION_FACTOR,
            "least_shared": MIN_SHARED_WORDS,
            "most_words": MAX_SENTENCE_WORDS,
        }

    async def answer(self, question: str) -> Trail:
        """Answers one question; abstains if no sentence contains enough of its words.

        Raises:
            SearchError: a search failed.
        """
        weights = dict.fromkeys(extract_content_words(question), 1.0)
        question_words = frozenset(weights)
        query = question
        rounds: list[Round] = []
        hits_by_key: dict[tuple[str, str], tuple[Hit, float]] = {}
        sentences: list[_Sentence] = []
        for _ in range(self._rounds):
            hits = await self._library.search(query, PASSAGES_PER_ROUND)
            hits_of_round = {(hit.page.url, hit.passage): hit for hit in hits}
            new_hits = [hit for key, hit in hits_of_round.items() if key not in hits_by_key]
            best = max((hit.score for hit in hits), default=0.0)
            for key, hit in hits_of_round.items():
                relevance = max(0.0, hit.score / best) if best > 0 else 0.0
                hits_by_key.setdefault(key, (hit, relevance))
            previous_sentences = sentences
            sentences = _pick_sentences(
                _split_sentences(hits_by_key.values()), weights, question_words
            )
            rounds.append(
                Round(
                    query=query,
                    found=_cite_pages(hits),
                    read=_cite_pages(new_hits),
                    links=tuple(
                        Link(sentence.text, sentence.page.url)
                        for sentence in sentences
                        if sentence not in previous_sentences
                    ),
                    answer=" ".join(sentence.text for sentence in sentences),
                )
            )
            terms = _find_frequent_words([hit.passage for hit in hits], weights)
            if not terms or (sentences == previous_sentences and not new_hits):
                break
            weights.update(dict.fromkeys(terms, FEEDBACK_WEIGHT))
            added = (word for word in weights if word not in question_words)
            query = " ".join([question, *added])
        rounds[-1] = msgspec.structs.replace(rounds[-1], done=True)
        return _build_trail(rounds, sentences, hits_by_key)


def _build_trail(
    rounds: Sequence[Round],
    sentences: Sequence[_Sentence],
    hits: Mapping[tuple[str, str], tuple[Hit, float]],
) -> Trail:
    passages = [hit for hit, _ in hits.values()]
    quoted_passages = dict.fromkeys(sentence.position[0] for sentence in sentences)
    return Trail(
        answer=rounds[-1].answer,
        abstained=not sentences,
        rounds=tuple(rounds),
        docs=tuple(
            dict.fromkeys([*(sentence.page for sentence in sentences), *_cite_pages(passages)])
        ),
        verified=tuple(passages[index].passage for index in quoted_passages),
        why="" if sentences else "no sentence that was found has enough of the question's words",
    )


def _split_sentences(hits: Iterable[tuple[Hit, float]]) -> list[_Sentence]:
    """Splits passages into sentences, each listed once, with the relevance of its passage."""
    sentences: dict[str, _Sentence] = {}
    for passage_index, (hit, relevance) in enumerate(hits):
        page = CitedPage(hit.page.url, hit.page.title)
        segmenter = Segmenter()
        pieces = [*segmenter.feed(hit.passage), *segmenter.close()]
        for index, piece in enumerate(pieces):
            text = " ".join(piece.text.split())
            words = tuple(extract_content_words(text))
            # A forced cut is in the middle of a sentence that was too long for the segmenter.
            if 0 < len(words) <= MAX_SENTENCE_WORDS and not piece.forced:
                position = (passage_index, index)
                sentences.setdefault(text, _Sentence(text, words, position, page, relevance))
    return list(sentences.values())


def _pick_sentences(
    sentences: Sequence[_Sentence], weights: Mapping[str, float], question_words: frozenset[str]
) -> list[_Sentence]:
    """Picks the sentences of the answer greedily, and returns them in the order of the passages.

    The worth of a word is its weight times ln(1 + sentences / sentences that contain it), times
    ``REPETITION_FACTOR`` for each picked sentence that contains it. The gain of a sentence is the
    worth of its words, divided by the square root of its length and multiplied by the relevance of
    its passage. In each step the sentence with the highest gain is picked.

    Returns no sentences if none contains ``MIN_SHARED_WORDS`` words of the question.
    """
    frequencies = Counter(word for sentence in sentences for word in dict.fromkeys(sentence.words))
    worth = {
        word: weight * math.log(1 + len(sentences) / frequencies[word])
        for word, weight in weights.items()
        if word in frequencies
    }
    selection: list[_Sentence] = []
    remaining = list(sentences)
    if not any(
        _count_shared_words(sentence, question_words) >= MIN_SHARED_WORDS for sentence in remaining
    ):
        return []
    while remaining and len(selection) < MAX_SENTENCES:
        gains = [
            sentence.relevance
            * math.fsum(worth.get(word, 0.0) for word in dict.fromkeys(sentence.words))
            / math.sqrt(len(sentence.words))
            for sentence in remaining
        ]
        best = max(range(len(remaining)), key=lambda index: gains[index])
        if not gains[best]:
            break
        best_sentence = remaining.pop(best)
        selection.append(best_sentence)
        for word in dict.fromkeys(best_sentence.words):
            if word in worth:
                worth[word] *= REPETITION_FACTOR
    return sorted(selection, key=lambda sentence: sentence.position)


def _count_shared_words(sentence: _Sentence, question_words: frozenset[str]) -> int:
    return len(question_words.intersection(sentence.words))


def _find_frequent_words(passages: Sequence[str], query_words: Mapping[str, float]) -> list[str]:
    """Finds frequent words of the passages that the query does not contain yet.

    A word counts ln(1 + occurrences) / rank for each passage, so that better passages count more.
    """
    counts: dict[str, float] = {}
    for rank, passage in enumerate(passages, start=1):
        for word, count in Counter(extract_content_words(passage)).items():
            if word not in query_words and not word.isdigit():
                counts[word] = counts.get(word, 0.0) + math.log(1 + count) / rank
    return sorted(counts, key=lambda word: (-counts[word], word))[:TERMS_PER_ROUND]


def _cite_pages(hits: Iterable[Hit]) -> tuple[CitedPage, ...]:
    return tuple(dict.fromkeys(CitedPage(hit.page.url, hit.page.title) for hit in hits))
