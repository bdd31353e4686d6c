"""Tests that facts are found by rules: names, noun phrases, subjects and quotes."""

from __future__ import annotations

import itertools
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from kg.text.chunks import Chunk
from kg.text.facts.fact import Fact
from kg.text.facts.phrases import PhraseFinder
from kg.text.facts.rules import find_facts
from kg.words.sentences import split_sentences


def find_names(sentence: str, *others: str) -> list[str]:
    return [phrase.text for phrase in PhraseFinder([sentence, *others]).find_phrases(sentence)]


def test_names_are_sequences_of_capitalised_words() -> None:
    assert find_names("He fought in the Battle of Hastings against William of Normandy.") == [
        "Battle of Hastings",
        "William of Normandy",
    ]
    assert find_names("In Paris and London, NASCAR drivers met Bill France Jr. twice.") == [
        *("Paris", "London", "NASCAR", "Bill France Jr"),
    ]
    assert find_names("We see B+-Trees, Apollo 11 and Ludwig van Beethoven's house.")[-3:] == [
        *("B+-Trees", "Apollo 11", "Ludwig van Beethoven"),
    ]


def test_first_word_is_a_name_only_if_it_is_capitalised_elsewhere() -> None:
    assert find_names("Bread is baked.") == []
    assert find_names("Bern is old.", "He lives in Bern.") == ["Bern"]
    assert find_names("He and They met.") == []


def test_noun_phrases_stand_alone_twice() -> None:
    others = ("A page of the buffer pool.", "It is in the buffer pools.")
    assert find_names("The full buffer pool overflows.", *others) == ["buffer pool"]
    assert find_names("The full buffer pool overflows.", others[0]) == []


def test_facts_have_subject_relation_object_and_quote() -> None:
    text = "Publix\nPublix was founded by George Jenkins in Florida. He lived in Lakeland."
    assert find_facts([Chunk("c", text, {"section": "1.2 Publix"})]) == [
        Fact(
            chunk_id="c",
            subject="Publix",
            relation="was founded by",
            object="George Jenkins",
            quote="Publix was founded by George Jenkins in Florida.",
        ),
        Fact(
            chunk_id="c",
            subject="Publix",
            relation="in",
            object="Florida",
            quote="Publix was founded by George Jenkins in Florida.",
        ),
        Fact(
            chunk_id="c",
            subject="Publix",
            relation="He lived in",
            object="Lakeland",
            quote="He lived in Lakeland.",
        ),
    ]


def test_chunk_without_heading_is_about_its_first_phrase() -> None:
    facts = find_facts([Chunk("c", "We met Ada Lovelace in London. She wrote to Babbage.")])
    assert {(fact.subject, fact.object) for fact in facts} == {
        ("Ada Lovelace", "London"),
        ("Ada Lovelace", "Babbage"),
    }


texts = st.text(
    alphabet=st.sampled_from(string.ascii_letters[:30] + " .,\n-'’\u0301ÄßŁ中3[]<&\x00")
)


@given(st.lists(texts, max_size=4), texts)
@settings(deadline=None, max_examples=150)
def test_facts_of_any_text_are_valid(bodies: list[str], heading: str) -> None:
    chunks = [Chunk(f"c{n}", body, {"section": heading}) for n, body in enumerate(bodies)]
    facts = find_facts(chunks)
    assert facts == find_facts(chunks)
    for fact in facts:
        assert all(fact.phrases)
        assert fact.quote in bodies[int(fact.chunk_id[1:])]
    for body in bodies:
        for sentence in split_sentences(body):
            phrases = PhraseFinder([sentence, sentence]).find_phrases(sentence)
            for phrase, following in itertools.pairwise(phrases):
                assert phrase.end <= following.start
