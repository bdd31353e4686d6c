"""Decides whether a subject has one value of a predicate: what data, axioms and shapes say of it.

Whether a *claim* of another value is false, the oracle alone decides (``Pool.is_single_valued`` in
``cards/generation``): a shape may be about some subjects only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kg.terms import OWL, RDF_TYPE
from kg.triples.index import Index

if TYPE_CHECKING:
    from kg.shapes.model import Constraint


class SingleValue(NamedTuple):
    """What says that a subject has one value of a predicate."""

    in_data: bool
    """No subject has two values."""
    by_axiom: bool
    """The predicate is an ``owl:FunctionalProperty``."""
    by_shape: bool
    """A shape allows one value."""

    @property
    def is_stated(self) -> bool:
        """Whether axioms or shapes allow one value only, whatever the data are."""
        return self.by_axiom or self.by_shape


def find_single_value(
    index: Index, p: int, constraints: Iterable[Constraint] = (), *, axioms: Index | None = None
) -> SingleValue:
    """Finds what says that a subject has one value of a predicate.

    Args:
        index: the facts.
        p: the predicate.
        constraints: those of the shapes.
        axioms: the graph with the axioms, if it is another one over the same terms.
    """
    schema = index if axioms is None else axioms
    terms = schema.terms
    rdf_type, functional = terms.get(RDF_TYPE), terms.get(OWL + "FunctionalProperty")
    iri = terms.get_text(p)
    return SingleValue(
        in_data=index.count_triples(p) == len(index.get_subjects(p)) > 0,
        by_axiom=rdf_type is not None
        and functional is not None
        and schema.has_triple(p, rdf_type, functional),
        by_shape=any(get_limited_predicate(constraint) == iri for constraint in constraints),
    )


def get_limited_predicate(constraint: Constraint) -> str:
    """Returns the predicate of which a constraint allows one value; empty if there is none."""
    path = constraint.path.strip("<>")
    is_limit = constraint.parameters.get("maxCount") == "1"
    return path if is_limit and not re.search(r"[<>^|*?]", path) else ""
