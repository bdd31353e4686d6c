"""Triples read off texts by rules: the reader of statements that checks what models say.

It knows the graph's own sentences and the words of its relations, and no others; what it cannot
read it leaves. So on a graph put in its own words it shows what is lost between a graph and its
text and back (homonyms, denials, lists), and on other texts how far rules come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from eval.extraction.own.graph_triples import Naming, Triple, written
from eval.extraction.own.predictions import Prediction
from eval.extraction.samples.sample import Sample
from eval.questions.parsing import ClaimParser
from eval.questions.statements import Statement, StatementReader
from eval.skn.rules.statements import statements

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

SYSTEM = "rules"


def read_by_rules(
    samples: Sequence[Sample], kb: KnowledgeBase, on_done: Callable[[int], None]
) -> Iterator[Prediction]:
    """What rules read off the texts; nothing is called.

    Args:
        samples: the texts.
        kb: whose things and relations are looked for.
        on_done: is told how many texts are read.
    """
    reader, naming = StatementReader(ClaimParser(kb)), Naming(kb)
    for done, sample in enumerate(samples, start=1):
        read = written(_read(sample.text, reader, naming))
        yield Prediction(id=sample.id, system=SYSTEM, predicted=read)
        on_done(done)


def _read(text: str, reader: StatementReader, naming: Naming) -> Iterator[Triple]:
    for piece in statements(text):
        said = reader.read(piece)
        if isinstance(said, Statement) and not said.negated:
            for ways in said.claims:
                # Of a name that several things bear any choice would be a guess.
                if len(ways) == 1:
                    yield naming.triple(ways[0])
