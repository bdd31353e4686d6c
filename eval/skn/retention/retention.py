"""Counts how much of a text an extraction keeps: statements, negations, numbers, names, hedges.

Words are compared in the same way for every format and extractor. A statement counts as kept if one
item of the extraction (a fact, a claim, a causal link, a relationship) has most of its words, and
either both are negated or neither is. A paraphrase counts as dropped, so the figures for a model
that paraphrases are lower bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from eval.questions.lexical_answerer import is_negated
from eval.skn.grammar.document import Document
from eval.skn.retention.statements import (
    extract_subject_words,
    find_written_names,
    is_hedged,
    split_statements,
)
from kg.words.normaliser import split_words

if TYPE_CHECKING:
    from eval.skn.formats.extraction import Extraction
    from eval.skn.formats.forms import ExtractionContent

MIN_KEPT_SHARE = 0.8
"""Share of a statement's content words that one item must have."""
MAX_UNCERTAIN_CONFIDENCE = 0.5
"""A confidence of at most this marks a statement as uncertain."""
_CHARS_PER_TOKEN = 4


def estimate_tokens(context: str) -> int:
    """Returns the published estimate of a context's tokens; servers report exact counts."""
    return max(1, len(context) // _CHARS_PER_TOKEN)


class Share(msgspec.Struct, frozen=True):
    """How many of ``total`` items were kept."""

    kept: int
    total: int


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How much of its text an extraction kept.

    Attributes:
        facts: statements that one item keeps.
        negations: the negated statements among them.
        numbers: distinct numbers of the statements that occur in any item.
        names: distinct names and numbers of the statements, all of whose words occur in the items.
        hedges: hedged statements that are kept by an uncertain item: one that is hedged too, has
            the priority ``~``, or a confidence of at most ``MAX_UNCERTAIN_CONFIDENCE``.
        characters: length of the context, structure included.
        words: number of words of the context, structure included
            (``kg.words.normaliser.split_words``).
        tokens: number of tokens of the context, estimated at four characters each.
    """

    facts: Share
    negations: Share
    numbers: Share
    names: Share
    hedges: Share
    characters: int
    words: int
    tokens: int

    def list_shares(self) -> dict[str, tuple[int, int]]:
        """Returns kind of item → (number kept, total number)."""
        kinds = ("facts", "negations", "numbers", "names", "hedges")
        return {kind: (getattr(self, kind).kept, getattr(self, kind).total) for kind in kinds}


class ExtractedItem(NamedTuple):
    """One statement of an extraction.

    Attributes:
        text: wording of the statement.
        uncertain: whether the extraction marks it as uncertain other than by its words.
    """

    text: str
    uncertain: bool = False


def measure_retention(text: str, extraction: Extraction) -> Retention:
    """Counts how much of ``text`` the extraction kept.

    An unreadable extraction keeps nothing, unless it was passed on unparsed, as SKN is in the
    published setting. In that case the lines of its context are the items.
    """
    content = extraction.to_content()
    if content is not None:
        items = list(_list_items(content))
    else:
        items = [ExtractedItem(line) for line in extraction.context.splitlines()]
    sentences = split_statements(text)
    items_by_statement = _match_items(sentences, items)
    negated_flags = [is_negated(statement) for statement in sentences]
    hedged_flags = [is_hedged(statement) for statement in sentences]
    item_words = frozenset(word for item in items for word in split_words(item.text))
    item_content_words = frozenset(
        name for item in items for name in extract_subject_words(item.text)
    )
    numbers = {
        word for statement in sentences for word in split_words(statement) if word[0].isdigit()
    }
    names = {
        extract_subject_words(name)
        for statement in sentences
        for name in find_written_names(statement)
    }
    context = extraction.context
    return Retention(
        facts=_count_share(bool(matching_items) for matching_items in items_by_statement),
        negations=_count_share(
            bool(matching_items)
            for matching_items, is_negative in zip(items_by_statement, negated_flags, strict=True)
            if is_negative
        ),
        numbers=_count_share(number in item_words for number in numbers),
        names=_count_share(item_content_words >= name for name in names),
        hedges=_count_share(
            any(item.uncertain or is_hedged(item.text) for item in matching_items)
            for matching_items, is_uncertain in zip(items_by_statement, hedged_flags, strict=True)
            if is_uncertain
        ),
        characters=len(context),
        words=len(split_words(context)),
        tokens=len(context) // _CHARS_PER_TOKEN,
    )


def _match_items(
    sentences: Sequence[str], items: Sequence[ExtractedItem]
) -> list[list[ExtractedItem]]:
    """Returns, for each statement, the items that keep it."""
    item_features = [
        (item, extract_subject_words(item.text), is_negated(item.text)) for item in items
    ]
    matches = []
    for statement in sentences:
        statement_words, is_statement_negated = (
            extract_subject_words(statement),
            is_negated(statement),
        )
        matches.append(
            [
                item
                for item, item_words, is_item_negated in item_features
                if is_item_negated == is_statement_negated
                and len(statement_words & item_words) >= MIN_KEPT_SHARE * len(statement_words)
            ]
        )
    return matches


def _list_items(content: ExtractionContent) -> Iterator[ExtractedItem]:
    """Yields what the content states; gaps, source and risk do not repeat statements of a text."""
    if isinstance(content, Document):
        for fact in content.facts:
            yield ExtractedItem(
                fact.text, fact.priority == "~" or fact.confidence <= MAX_UNCERTAIN_CONFIDENCE
            )
        for link in content.causal or ():
            yield ExtractedItem(
                f"{link.cause} {link.effect}", link.strength <= MAX_UNCERTAIN_CONFIDENCE
            )
        return
    for claim in content.claims:
        is_uncertain = claim.confidence is not None and claim.confidence <= MAX_UNCERTAIN_CONFIDENCE
        yield ExtractedItem(claim.statement, is_uncertain)
    for relation in content.relationships:
        yield ExtractedItem(f"{relation.source} {relation.relation} {relation.target}")
    for entity in content.entities:
        attributes = (f"{key} {value}" for key, value in entity.attributes.items())
        yield ExtractedItem(" ".join((entity.name, *attributes)))


def _count_share(flags: Iterable[bool]) -> Share:
    flag_list = list(flags)
    return Share(sum(flag_list), len(flag_list))
