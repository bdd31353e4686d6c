"""What of a text an extraction kept: statements, negations, numbers, names and hedges, counted.

Counted by words, the same way for every format and whoever made the extraction. A statement
counts as kept where one item of the extraction (a fact, a claim, a causal link, a relationship)
holds most of its words with the same polarity; said in other words it counts as dropped, so the
figures for a model that paraphrases are lower bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from eval.reader import is_negated
from eval.skn.grammar.document import Document
from eval.skn.rules.statements import is_hedged, names_written, statements, subject_matter
from kg.text.normaliser import words

if TYPE_CHECKING:
    from eval.skn.formats.extracting import Extraction
    from eval.skn.formats.forms import Content

KEPT = 0.8
"""Share of a statement's content words that one item must hold."""
UNCERTAIN = 0.5
"""A confidence up to this marks a statement as uncertain."""
CHARS_PER_TOKEN = 4
"""The estimate of the published benchmark; real counts come from a server's usage."""


class Share(msgspec.Struct, frozen=True):
    """How many of ``total`` things were kept."""

    kept: int
    total: int


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """What an extraction kept of its text.

    Attributes:
        facts: statements whose words one item holds, negated where they are.
        negations: of the negated statements, those kept.
        numbers: distinct numbers of the statements that stand anywhere in the items.
        names: distinct names and numbers as written, all of whose words stand in the items.
        hedges: of the statements that say they are uncertain, those kept as uncertain: by their
            words, by ``~``, or by a confidence of at most ``UNCERTAIN``.
        characters: of the context, structure included.
        words: of the context, structure included (``kg.text.normaliser.words``).
        tokens: of the context, estimated at four characters each.
    """

    facts: Share
    negations: Share
    numbers: Share
    names: Share
    hedges: Share
    characters: int
    words: int
    tokens: int

    def shares(self) -> dict[str, tuple[int, int]]:
        """(kept, total) by what is counted."""
        kinds = ("facts", "negations", "numbers", "names", "hedges")
        return {kind: (getattr(self, kind).kept, getattr(self, kind).total) for kind in kinds}


class Item(NamedTuple):
    """One thing that an extraction states.

    Attributes:
        text: in its words.
        uncertain: whether the extraction marks it as uncertain, besides what its words say.
    """

    text: str
    uncertain: bool = False


def retained(text: str, extraction: Extraction) -> Retention:
    """Counts what ``extraction`` kept of ``text``.

    One that could not be read kept nothing. As published, SKN is handed on without being read:
    then the lines of the context are its items.
    """
    content = extraction.typed()
    if content is not None:
        items = list(_items(content))
    else:
        items = [Item(line) for line in extraction.context.splitlines()]
    said = statements(text)
    kept = _kept(said, items)
    negated = [is_negated(statement) for statement in said]
    hedged = [is_hedged(statement) for statement in said]
    held = frozenset(word for item in items for word in words(item.text))
    named = frozenset(name for item in items for name in subject_matter(item.text))
    numbers = {word for statement in said for word in words(statement) if word[0].isdigit()}
    names = {subject_matter(name) for statement in said for name in names_written(statement)}
    context = extraction.context
    return Retention(
        facts=_share(bool(by) for by in kept),
        negations=_share(bool(by) for by, no in zip(kept, negated, strict=True) if no),
        numbers=_share(number in held for number in numbers),
        names=_share(named >= name for name in names),
        hedges=_share(
            any(item.uncertain or is_hedged(item.text) for item in by)
            for by, unsure in zip(kept, hedged, strict=True)
            if unsure
        ),
        characters=len(context),
        words=len(words(context)),
        tokens=len(context) // CHARS_PER_TOKEN,
    )


def _kept(said: Sequence[str], items: Sequence[Item]) -> list[list[Item]]:
    """For each statement the items that keep it."""
    held = [(item, subject_matter(item.text), is_negated(item.text)) for item in items]
    found = []
    for statement in said:
        matter, negated = subject_matter(statement), is_negated(statement)
        found.append(
            [
                item
                for item, has, denies in held
                if denies == negated and len(matter & has) >= KEPT * len(matter)
            ]
        )
    return found


def _items(content: Content) -> Iterator[Item]:
    """What a document or flat extraction states; gaps, source and risk state nothing of a text."""
    if isinstance(content, Document):
        for fact in content.facts:
            yield Item(fact.text, fact.priority == "~" or fact.confidence <= UNCERTAIN)
        for link in content.causal or ():
            yield Item(f"{link.cause} {link.effect}", link.strength <= UNCERTAIN)
        return
    for claim in content.claims:
        unsure = claim.confidence is not None and claim.confidence <= UNCERTAIN
        yield Item(claim.statement, unsure)
    for relation in content.relationships:
        yield Item(f"{relation.source} {relation.relation} {relation.target}")
    for entity in content.entities:
        told = (f"{key} {value}" for key, value in entity.attributes.items())
        yield Item(" ".join((entity.name, *told)))


def _share(kept: Iterable[bool]) -> Share:
    every = list(kept)
    return Share(sum(every), len(every))
