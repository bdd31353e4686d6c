"""Reads who made or led something and when it was, and compares it with the graph's triples.

Names and years are the same in every language, so this also decides German claims. A maker whom the
triples do not name is never contradicted: others may have made the thing, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple

from eval.synthlink.claims.cause_chain import is_causal, split_name
from eval.synthlink.claims.comparison import drop_given_names
from eval.synthlink.claims.lexicon import DIRECTIONS, GERMAN, WHY
from eval.synthlink.claims.small_words import has_bare_have, order_roles
from eval.synthlink.claims.splitter import split_claims
from eval.synthlink.claims.words import (
    Word,
    is_other,
    is_same,
    is_same_event,
    is_verb,
    split_text,
)
from eval.synthlink.items import Question, Triple
from kg.base.plain_text import list_words

_PREDICATES: Final = frozenset(
    list_words(
        "came made maker creator author inventor led leader signed earned award happened appeared "
        "adopted founded began ended"
    )
)
"""Words in the names of predicates that say who made or led something, or when it was."""
_DIRECTIONS: Final = DIRECTIONS - {"by"} | frozenset(list_words("aus nach zu gegen ohne mit"))
"""A claim with one of these says where something came from or went, which no such triple says."""

_OTHER_SMALL_WORDS: Final = frozenset(
    list_words("as than through via across along to into for with when where how what")
)
"""Small words that give a thing another part, unless the step's fact has them."""
_WITHIN_NAMES: Final = frozenset(
    list_words("of the a an s von der des die das in im am und its his her their")
)
_BEFORE_PLACES: Final = frozenset(list_words("of in on at by during within"))

Finding = Literal["supported", "contradicted", "open"]


class TraitFinding(NamedTuple):
    """What the triples say of a claim."""

    finding: Finding
    triples: frozenset[Triple] = frozenset()
    """The triples that a supported claim states, or that contradict it."""


_OPEN: Final = TraitFinding("open")


class _Trait(NamedTuple):
    verbs: tuple[Word, ...]
    """The verbs of the clauses of the step's fact that have the value.

    What was made may also have been found, at another time.
    """
    value: tuple[Word, ...]
    is_year: bool
    triple: Triple


class Traits:
    """Makers, leaders and years of the things in a question's triples.

    Args:
        question: the question.
        names: words that are names in the evidence.
    """

    def __init__(self, question: Question, names: Collection[str]) -> None:
        self._nodes: dict[str, list[Word]] = {}
        self._traits: dict[str, list[_Trait]] = {}
        self._told: dict[str, list[list[Word]]] = {}
        for step in question.steps:
            told = split_text(step.fact, names)
            clauses = [split_text(claim.text, names) for claim in split_claims(step.fact)]
            bounds = {word.key: word.bound for word in told if word.kind == "number"}
            for triple in step.triples:
                subject, predicate, thing = triple
                value = tuple(
                    word._replace(bound=bounds.get(word.key, ""))
                    for word in _read_words(thing, names)
                )
                if value and _PREDICATES & {*split_name(predicate)} and not is_causal(triple):
                    is_year = len(value) == 1 and value[0].kind == "number"
                    # "Promoted by Clinton, the canal opened": he did not open it.
                    about = [one for one in clauses if any(is_same(value[-1], w) for w in one)]
                    verbs = tuple(word for one in about or clauses for word in one if is_verb(word))
                    # "Post-Quantum" in a title makes no name of "post-quantum methods".
                    common = {word.key for word in told if word.text.islower()}
                    self._nodes[subject] = _read_words(subject, frozenset(names) - common)
                    self._told.setdefault(subject, []).append(told)
                    self._traits.setdefault(subject, []).append(
                        _Trait(verbs, value, is_year, triple)
                    )

    def compare(
        self, claim: Sequence[Word], given_names: Collection[tuple[str, str]]
    ) -> TraitFinding:
        """Compares a claim, read as an assertion, with the traits of the thing that it names."""
        if any(
            word.kind in ("negation", "hedge") or word.key in WHY or word.key in _DIRECTIONS
            for word in claim
        ):
            return _OPEN
        said = drop_given_names(order_roles(claim), given_names)
        findings = [self._compare_node(node, said, given_names) for node in self._nodes]
        decided = [found for found in findings if found.finding != "open"]
        if len({found.finding for found in decided}) != 1:
            return _OPEN
        return TraitFinding(
            decided[0].finding, frozenset().union(*(found.triples for found in decided))
        )

    def _compare_node(
        self, node: str, said: Sequence[Word], given_names: Collection[tuple[str, str]]
    ) -> TraitFinding:
        words = drop_given_names(self._nodes[node], given_names)
        telling = [word for word in words if word.kind in ("name", "number")] or words
        if not all(any(is_same(word, other) for other in said) for word in telling):
            return _OPEN
        traits = self._traits[node]
        rest = [
            word
            for word in said
            if word.kind in ("name", "number", "content")
            and not any(is_same(word, other) for other in self._nodes[node])
        ]
        stated = [trait for trait in traits if _has_value(trait, rest)]
        values = [word for trait in stated for word in drop_given_names(trait.value, given_names)]
        others = [word for word in rest if not any(is_same(word, value) for value in values)]
        years = [word for word in others if word.kind == "number"]
        verbs = [word for word in others if word.kind == "content" and is_verb(word)]
        loose = [word for word in others if word not in years and word not in verbs]
        known = [trait for trait in traits if trait.is_year]
        told = stated or known
        if loose or not all(
            any(is_same(verb, other) for other in trait.verbs) for verb in verbs for trait in told
        ):
            return _OPEN
        if years:
            is_wrong = len(years) == len(known) == 1 and known[0] not in stated and bool(verbs)
            # Who began a novel in one year published it in another.
            is_wrong = is_wrong and all(
                any(is_same_event(verb.key, other.key) for other in known[0].verbs)
                for verb in verbs
            )
            if is_wrong and is_other(years[0], known[0].value[0]):
                return TraitFinding("contradicted", frozenset([known[0].triple]))
            return _OPEN
        makers = [trait for trait in stated if not trait.is_year]
        things = [word for word in self._nodes[node] if word.kind != "number"] or telling
        is_ordered = all(_comes_first(trait, said, things) for trait in makers)
        has_verb = verbs or any(
            is_verb(word) for word in said if any(is_same(word, other) for other in words)
        )
        if not stated or not is_ordered or not (has_verb or not makers):
            return _OPEN
        if not self._keeps_order(node, said) or not self._is_plain(node, said, makers, given_names):
            return _OPEN
        return TraitFinding("supported", frozenset(trait.triple for trait in stated))

    def _keeps_order(self, node: str, said: Sequence[Word]) -> bool:
        """Returns whether a claim has the words of a thing as its name or its fact has them.

        "England reached the Black Death" has those of the Black Death in England.
        """
        words = self._nodes[node]
        mine = [word for word in said if any(is_same(word, other) for other in words)]
        return any(_is_in_order(mine, told) for told in (words, *self._told[node]))

    def _is_plain(
        self,
        node: str,
        said: Sequence[Word],
        makers: Sequence[_Trait],
        given_names: Collection[tuple[str, str]],
    ) -> bool:
        """Returns whether a claim says nothing else with the words of a thing and its maker.

        The words of the thing stand together, and so do the maker's, before the verb: "opium had
        Zexu destroyed" does not say that he destroyed opium. In German, verbs stand elsewhere.
        """
        if has_bare_have(said):
            return False
        told = {word.key for words in self._told[node] for word in words}
        if any(word.key in _OTHER_SMALL_WORDS - told for word in said):
            return False
        things = _find_places(self._nodes[node], said)
        if not _stand_together(things, said, told):
            return False
        maker_words = [
            word for trait in makers for word in drop_given_names(trait.value, given_names)
        ]
        places = _find_places(maker_words, said)
        if not _stand_together(places, said, told):
            return False
        if any(word.key in GERMAN for word in said):
            return True
        verbs = [place for place, word in enumerate(said) if is_verb(word) and place not in things]
        before = said[things[0] - 1].key if things and things[0] else ""
        if makers:
            return all(
                places[-1] < verb < things[0] for verb in verbs if said[verb].kind != "light"
            )
        return before not in _BEFORE_PLACES


def _find_places(words: Sequence[Word], said: Sequence[Word]) -> list[int]:
    """Returns the places of the words of a claim, without small ones, that are some words."""
    return [
        place
        for place, word in enumerate(said)
        if word.kind != "light" and any(is_same(word, other) for other in words)
    ]


def _stand_together(places: Sequence[int], said: Sequence[Word], told: Collection[str]) -> bool:
    """Returns whether only small words stand between words of a claim, as in the step's fact.

    Args:
        places: the places of the words.
        said: the words of the claim.
        told: the words of the fact.
    """
    between = said[places[0] : places[-1]] if places else ()
    return all(
        place in places
        or (
            (word.kind == "light" and (word.key in told or word.key in _WITHIN_NAMES))
            and (word.key != "und" or "and" in told)
        )
        for place, word in enumerate(between, places[0] if places else 0)
    )


def _read_words(name: str, names: Collection[str]) -> list[Word]:
    local = name.partition(":")[2] if ":" in name else name.strip('"')
    spaced = " ".join(split_name(f":{local}"))
    return [
        word._replace(kind="name") if word.kind == "content" and word.key in names else word
        for word in split_text(spaced)
        if word.kind != "light"
    ]


def _is_in_order(words: Sequence[Word], others: Sequence[Word]) -> bool:
    following = iter(others)
    return all(any(is_same(word, other) for other in following) for word in words)


def _has_value(trait: _Trait, words: Sequence[Word]) -> bool:
    last = trait.value[-1]
    return any(is_same(last, word) for word in words)


def _comes_first(trait: _Trait, said: Sequence[Word], mentioned: Sequence[Word]) -> bool:
    """Returns whether who did it is named before what was done."""
    last = trait.value[-1]
    maker = next(index for index, word in enumerate(said) if is_same(last, word))
    thing = next(
        index for index, word in enumerate(said) if any(is_same(word, other) for other in mentioned)
    )
    return maker < thing
