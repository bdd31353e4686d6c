"""Finds facts in chunks by rules, without a model: two phrases of a sentence and what is between.

A graph of phrases and passages needs no exact relations to lead from one passage to another; see
L. Zhuang et al., LinearRAG, 2025, which links names and passages only. The rules:

* The subject is the phrase that begins the sentence. A sentence that begins with other words, such
  as "he", is about the chunk's heading, or else about its first phrase.
* Each further phrase of the sentence is an object. The relation is the words before it, from the
  phrase before.
* The heading is related to each other subject, without words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kg.text.chunks import Chunk
from kg.text.facts.fact import MAX_FIELD_LENGTH, MAX_QUOTE_LENGTH, Fact
from kg.text.facts.phrases import Phrase, PhraseFinder
from kg.text.sections.headings import remove_number
from kg.words.normaliser import normalise_phrase
from kg.words.sentences import split_sentences

MAX_PHRASES_PER_SENTENCE: Final = 50
"""Further phrases are ignored; a "sentence" with more is a table or an index."""
_MAX_RELATION_LENGTH: Final = 200
_ARTICLE: Final = re.compile(r"\W*(?:the|an?)?\s*", re.IGNORECASE)


def find_facts(chunks: Sequence[Chunk]) -> list[Fact]:
    """Finds the facts of all chunks, in the order of the text.

    Args:
        chunks: the chunks; ``section`` of their metadata is their heading.
    """
    topics = [_get_topic(chunk) for chunk in chunks]
    sentences = [[part.strip() for part in split_sentences(chunk.prose)] for chunk in chunks]
    finder = PhraseFinder(
        (sentence for parts in sentences for sentence in parts), filter(None, topics)
    )
    return [
        fact
        for chunk, topic, parts in zip(chunks, topics, sentences, strict=True)
        for fact in _find_chunk_facts(chunk.id, topic, parts, finder)
    ]


def _get_topic(chunk: Chunk) -> str:
    """Returns the heading of a chunk without its number; empty if it has none."""
    topic = remove_number(str(chunk.metadata.get("section", "")))
    return topic if len(topic) <= MAX_FIELD_LENGTH else ""


def _find_chunk_facts(
    chunk_id: str, topic: str, sentences: Sequence[str], finder: PhraseFinder
) -> Iterator[Fact]:
    topic_form = normalise_phrase(topic)
    for sentence in sentences:
        phrases = finder.find_phrases(sentence)[:MAX_PHRASES_PER_SENTENCE]
        if not phrases:
            continue
        if not topic_form:
            topic, topic_form = phrases[0].text, phrases[0].form
        subject, subject_form, position = topic, topic_form, 0
        if _begins_sentence(phrases[0], sentence):
            subject, subject_form, position = phrases[0].text, phrases[0].form, phrases[0].end
            phrases = phrases[1:]
        # Quotes of more than a sentence would not say which words state the fact.
        quote = sentence if len(sentence) <= MAX_QUOTE_LENGTH else ""
        if subject_form != topic_form:
            yield Fact(chunk_id=chunk_id, subject=topic, relation="", object=subject, quote=quote)
        for phrase in phrases:
            if phrase.form == subject_form:
                continue
            relation = " ".join(sentence[position : phrase.start].split())
            yield Fact(
                chunk_id=chunk_id,
                subject=subject,
                relation=relation[-_MAX_RELATION_LENGTH:],
                object=phrase.text[:MAX_FIELD_LENGTH],
                quote=quote,
            )
            position = phrase.end


def _begins_sentence(phrase: Phrase, sentence: str) -> bool:
    """Returns whether at most an article is before the phrase."""
    return _ARTICLE.fullmatch(sentence, 0, phrase.start) is not None
