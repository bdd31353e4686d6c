"""Extracts triples from texts by rules, with the statement reader that also checks model replies.

The reader only knows the sentence patterns and relation names of the graph and skips everything
else. On texts generated from the graph it measures the losses of converting a graph to text and
back (homonyms, denials, lists); on other texts it measures how well rules perform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from eval.extraction.own_extractors.graph_triples import Triple, TripleNormaliser, triples_to_json
from eval.extraction.samples.sample import Sample
from eval.harness.reply import Reply
from eval.questions.parser import ClaimParser
from eval.questions.statements import Statement, StatementReader
from eval.skn.retention.statements import split_statements

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

SYSTEM = "rules"


def extract_triples(
    samples: Sequence[Sample], kb: KnowledgeBase, on_done: Callable[[int], None]
) -> Iterator[Reply]:
    """Yields one prediction per text, extracted by rules; no model is called.

    Args:
        samples: the texts.
        kb: graph whose entities and relations are recognised.
        on_done: called with the number of texts read so far.
    """
    reader, normaliser = StatementReader(ClaimParser(kb)), TripleNormaliser(kb)
    for n_done, sample in enumerate(samples, start=1):
        extraction = triples_to_json(_iter_triples(sample.text, reader, normaliser))
        yield Reply(id=sample.id, system=SYSTEM, value=extraction)
        on_done(n_done)


def _iter_triples(
    text: str, reader: StatementReader, normaliser: TripleNormaliser
) -> Iterator[Triple]:
    for sentence in split_statements(text):
        statement = reader.read_statement(sentence)
        if isinstance(statement, Statement) and not statement.negated:
            for alternatives in statement.claims:
                # With several entities of the same label, any choice would be a guess.
                if len(alternatives) == 1:
                    yield normaliser.triple_from_claim(alternatives[0])
