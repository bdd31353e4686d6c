"""What a question asks: the nodes it speaks of, the relations it has words for, the kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from eval.questions.cues import cues_of, stems_of
from eval.questions.linking import tokens_of
from eval.synthlink.agents.walking.facts import FactMap
from eval.synthlink.agents.walking.naming import Keys, Naming, keys_of

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

LEAST_ASKED: Final = 1 / 3
"""Share of a node's name, by weight, from which a question speaks of it."""
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "who": ("person", "organisation"),
    "whose": ("person", "organisation"),
    "whom": ("person", "organisation"),
    "where": ("country", "place", "city"),
}
"""Question words that ask for a kind of thing, and nouns for those kinds."""


class Asked(NamedTuple):
    """A question as it was understood."""

    keys: Keys
    nodes: dict[str, float]
    """Node → share of its name, by weight, that stands in the question."""
    predicates: frozenset[str]
    """Those the question has words for, or whose values are of a kind it asks for."""


class Asking:
    """Understands questions.

    Args:
        kb: whose words predicates and kinds have.
        facts: which predicates and kinds there are.
        naming: finds nodes.
    """

    def __init__(self, kb: KnowledgeBase, facts: FactMap, naming: Naming) -> None:
        self._naming = naming
        self._cues: dict[tuple[str, ...], dict[str, None]] = {}
        for cue in cues_of(kb, dict.fromkeys(claim.pred for claim in facts.claims)):
            self._cues.setdefault(cue.stems, {})[cue.pred] = None
        self._longest = max(map(len, self._cues), default=0)
        self._traits: dict[Keys, dict[str, None]] = {}
        for claim in facts.claims:
            if not facts.is_way(claim):
                for kind in kb.words.types(claim.obj):
                    noun = keys_of(kb.words.class_noun(kind))
                    self._traits.setdefault(noun, {})[claim.pred] = None

    def understand(self, question: str) -> Asked:
        """What a question asks."""
        keys = keys_of(question)
        tokens = tokens_of(question)
        nouns = [keys_of(noun) for token in tokens for noun in _KINDS.get(token.key, ())]
        asked = {
            pred
            for noun, preds in self._traits.items()
            if noun and (noun <= keys or noun in nouns)
            for pred in preds
        }
        asked.update(self._cued(stems_of(tokens)))
        return Asked(keys, self._naming.named(keys, LEAST_ASKED), frozenset(asked))

    def _cued(self, stems: Sequence[str]) -> Iterator[str]:
        """Predicates whose words stand in a question; at each place the longest run counts.

        So "led to" is not taken for "led", which is said of leaders.
        """
        at = 0
        while at < len(stems):
            for length in range(min(self._longest, len(stems) - at), 0, -1):
                found = self._cues.get(tuple(stems[at : at + length]))
                if found:
                    yield from found
                    break
            else:
                length = 1
            at += length
