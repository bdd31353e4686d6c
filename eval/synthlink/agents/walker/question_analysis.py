"""Finds the nodes that a question mentions and the relations that it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from eval.questions.cues import collect_cues, stem_tokens
from eval.questions.mentions import tokenise_text
from eval.synthlink.agents.walker.fact_map import FactMap
from eval.synthlink.agents.walker.node_names import Keys, NodeNames, extract_keys

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MIN_ASKED_SHARE: Final = 1 / 3
"""Minimum share of a node's name, weighted by rarity, at which a question mentions the node."""
_ANSWER_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "who": ("person", "organisation"),
    "whose": ("person", "organisation"),
    "whom": ("person", "organisation"),
    "where": ("country", "place", "city"),
}
"""Question word → nouns for the types of thing it asks for."""


class QuestionAnalysis(NamedTuple):
    """The nodes and predicates that a question mentions or asks for."""

    keys: Keys
    """Keys of the question's words."""
    node_shares: dict[str, float]
    """Node → share of its name, weighted by rarity, that occurs in the question."""
    predicates: frozenset[str]
    """Predicates that the question asks for: by words, or by the type of their values."""


class QuestionAnalyser:
    """Analyses questions.

    Args:
        kb: the graph, with the wording of its predicates and types.
        fact_map: the facts whose predicates and types are looked for.
        node_names: finds nodes by their names.
    """

    def __init__(self, kb: KnowledgeBase, fact_map: FactMap, node_names: NodeNames) -> None:
        self._node_names = node_names
        self._cues: dict[tuple[str, ...], dict[str, None]] = {}
        for cue in collect_cues(kb, dict.fromkeys(claim.pred for claim in fact_map.claims)):
            self._cues.setdefault(cue.stems, {})[cue.pred] = None
        self._max_cue_length = max(map(len, self._cues), default=0)
        self._trait_predicates: dict[Keys, dict[str, None]] = {}
        for claim in fact_map.claims:
            if not fact_map.can_be_path_step(claim):
                for kind in kb.verbaliser.collect_types(claim.obj):
                    noun = extract_keys(kb.verbaliser.get_class_noun(kind))
                    self._trait_predicates.setdefault(noun, {})[claim.pred] = None

    def analyse_question(self, question: str) -> QuestionAnalysis:
        """Finds the nodes that a question mentions, and the predicates that it asks for."""
        keys = extract_keys(question)
        tokens = tokenise_text(question)
        nouns = [
            extract_keys(noun) for token in tokens for noun in _ANSWER_TYPES.get(token.key, ())
        ]
        predicates = {
            pred
            for noun, preds in self._trait_predicates.items()
            if noun and (noun <= keys or noun in nouns)
            for pred in preds
        }
        predicates.update(self._iter_cued_predicates(stem_tokens(tokens)))
        return QuestionAnalysis(
            keys, self._node_names.find_named_nodes(keys, MIN_ASKED_SHARE), frozenset(predicates)
        )

    def _iter_cued_predicates(self, stems: Sequence[str]) -> Iterator[str]:
        """Yields the predicates whose cue words occur in a question.

        At each position the longest cue counts, so that "led to" (a cause) is not confused with
        "led" (a leader).
        """
        start = 0
        while start < len(stems):
            for length in range(min(self._max_cue_length, len(stems) - start), 0, -1):
                predicates = self._cues.get(tuple(stems[start : start + length]))
                if predicates:
                    yield from predicates
                    break
            else:  # no cue begins at this word
                length = 1
            start += length
