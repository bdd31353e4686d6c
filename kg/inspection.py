"""What is in a graph, and what about it should worry someone who wants to measure with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from kg.claims import Violation
from kg.index import Index
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, is_blank, is_iri, is_literal, is_malformed_iri
from kg.words.labels import LABEL_PREDICATES, Labels
from kg.words.plain_text import plain

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.oracle import Oracle
    from kg.shapes import Shapes
    from kg.shapes.model import Constraint

SHOWN = 20
"""Rows of each list that ``InspectionReport.text`` shows; the report itself holds more."""
KEPT = 1000
"""Malformed IRIs, homonyms and violations kept in the report; their totals always count all."""

_IRI_IN_PATH = re.compile(r"<([^<>]*)>")
_LOCAL_NAME = re.compile(r":([\w.%-]*[\w%-])")


class PredicateCount(msgspec.Struct, frozen=True):
    """One predicate and how it is used."""

    iri: str
    triples: int
    """Stated triples."""
    entailed: int
    """Triples that are not stated but follow; 0 where no oracle was given."""
    subjects: int
    """Distinct subjects that state it."""
    single_valued: bool
    """Every one of two or more subjects states exactly one value."""
    functional: bool
    """Declared ``owl:FunctionalProperty``."""
    constrained: bool
    """Some shape speaks of it."""


class ClassCount(msgspec.Struct, frozen=True):
    """One class and its instances."""

    iri: str
    instances: int
    """Stated instances."""
    entailed: int
    """Instances that are not stated but follow; 0 where no oracle was given."""
    constrained: bool
    """Some shape targets or names it."""


class Homonym(msgspec.Struct, frozen=True):
    """A label that several things bear."""

    label: str
    iris: tuple[str, ...]


class InspectionReport(msgspec.Struct, frozen=True, kw_only=True):
    """The findings; ``text()`` for people, the fields for programs."""

    sources: tuple[str, ...]
    sha256: str
    regime: str
    triples: int
    entailed: int
    iris: int
    blank_nodes: int
    literals: int
    predicates: tuple[PredicateCount, ...]
    """Most used first."""
    classes: tuple[ClassCount, ...]
    """Largest first."""
    unlabelled: int
    """Subjects that are IRIs and state no label."""
    malformed_iris: tuple[str, ...]
    malformed_count: int
    homonyms: tuple[Homonym, ...]
    homonym_count: int
    shapes: int | None
    """Shapes with targets, or None where no shapes were given."""
    violations: tuple[Violation, ...]
    violation_count: int | None
    """Violations that the graph itself has, or None where no oracle was given."""
    inconsistencies: tuple[str, ...]
    """What OWL 2 RL concludes *false* from, as ``rule: premises``."""
    inconsistency_count: int | None
    """Or None where no oracle was given."""
    notes: tuple[str, ...]
    """Remarks from loading, e.g. that named graphs were merged."""

    def text(self) -> str:
        """The report in lines, lists cut at ``SHOWN`` rows with the rest counted."""
        return "\n".join(_lines(self)) + "\n"


def inspect_graph(
    graph: Graph, shapes: Shapes | None = None, oracle: Oracle | None = None
) -> InspectionReport:
    """Looks a graph over.

    Args:
        graph: what to inspect.
        shapes: to count which predicates and classes are constrained.
        oracle: over the same graph and shapes, to count what is entailed and list violations.
    """
    stated = graph.index
    closed = oracle.closure.index if oracle is not None else stated
    mentions = _mentions(shapes.constraints()) if shapes is not None else _Mentions()
    malformed = list(malformed_iris(stated))
    homonyms = Labels(graph).homonyms()
    violations = oracle.violations() if oracle is not None else ()
    clashes = list(_clashes(oracle)) if oracle is not None else []
    kinds = [0, 0, 0]
    for term in _used_terms(stated):
        text = stated.terms.text(term)
        kinds[2 if is_literal(text) else 1 if is_blank(text) else 0] += 1
    return InspectionReport(
        sources=tuple(map(str, graph.sources)),
        sha256=graph.sha256,
        regime=oracle.closure.regime if oracle is not None else "none",
        triples=len(stated),
        entailed=len(closed) - len(stated),
        iris=kinds[0],
        blank_nodes=kinds[1],
        literals=kinds[2],
        predicates=tuple(_predicates(stated, closed, mentions)),
        classes=tuple(_classes(stated, closed, mentions)),
        unlabelled=_unlabelled(stated),
        malformed_iris=tuple(malformed[:KEPT]),
        malformed_count=len(malformed),
        homonyms=tuple(Homonym(k, tuple(v)) for k, v in list(homonyms.items())[:KEPT]),
        homonym_count=len(homonyms),
        shapes=len(shapes.iris()) if shapes is not None else None,
        violations=tuple(violations[:KEPT]),
        violation_count=len(violations) if oracle is not None else None,
        inconsistencies=tuple(clashes[:KEPT]),
        inconsistency_count=len(clashes) if oracle is not None else None,
        notes=graph.notes,
    )


def malformed_iris(index: Index) -> Iterator[str]:
    """IRIs of the graph that are none, or that carry another IRI as if it were a name."""
    for term in _used_terms(index):
        text = index.terms.text(term)
        if is_iri(text) and is_malformed_iri(text):
            yield text


def _clashes(oracle: Oracle) -> Iterator[str]:
    for found in oracle.closure.inconsistencies():
        premises = "; ".join(f"{p.subj} {p.pred} {p.obj}" for p in found.premises)
        yield f"{found.rule}: {premises}"


class _Mentions:
    """What the shapes speak of: IRIs in full, and local names read off SPARQL text."""

    def __init__(self) -> None:
        self.iris: set[str] = set()
        self.local_names: set[str] = set()

    def __contains__(self, iri: str) -> bool:
        if iri in self.iris:
            return True
        return bool(self.local_names) and re.split(r"[#/:]", iri)[-1] in self.local_names


def _mentions(constraints: Iterable[Constraint]) -> _Mentions:
    found = _Mentions()
    open_constraints = list(constraints)
    while open_constraints:
        constraint = open_constraints.pop()
        found.iris.update(term for _, term in constraint.target)
        texts = [constraint.path]
        for name, value in constraint.parameters.items():
            if name == "select":
                # Prefixes may be declared in the shapes graph: the local name has to do.
                found.local_names.update(_LOCAL_NAME.findall(str(value)))
                texts.append(str(value))
            else:
                texts += [value] if isinstance(value, str) else value
        for text in texts:
            if "<" in text and not is_literal(text):
                found.iris.update(_IRI_IN_PATH.findall(text))
            else:
                found.iris.add(text)
        for inner in constraint.inner:
            open_constraints += inner
    return found


def _used_terms(index: Index) -> dict[int, None]:
    """Terms that occur in triples, in a deterministic order (the table may hold more)."""
    used: dict[int, None] = {}
    for p in index.predicates():
        used[p] = None
        for s, o in index.pairs(p):
            used[s] = None
            used[o] = None
    return used


def _predicates(stated: Index, closed: Index, mentions: _Mentions) -> list[PredicateCount]:
    text, get = closed.terms.text, closed.terms.get
    kind, functional = get(RDF_TYPE), get(OWL + "FunctionalProperty")
    rows = []
    for p in closed.predicates():
        triples = stated.count(p)
        subjects = len(stated.subjects_of(p))
        declared = kind is not None and functional is not None and closed.has(p, kind, functional)
        rows.append(
            PredicateCount(
                iri=text(p),
                triples=triples,
                entailed=closed.count(p) - triples,
                subjects=subjects,
                single_valued=subjects > 1 and subjects == triples,
                functional=declared,
                constrained=text(p) in mentions,
            )
        )
    return sorted(rows, key=lambda row: (-row.triples - row.entailed, row.iri))


def _classes(stated: Index, closed: Index, mentions: _Mentions) -> list[ClassCount]:
    kind = closed.terms.get(RDF_TYPE)
    if kind is None:
        return []
    counts: dict[int, list[int]] = {}
    for index, column in ((stated, 0), (closed, 1)):
        for _, c in index.pairs(kind):
            counts.setdefault(c, [0, 0])[column] += 1
    rows = [
        ClassCount(text, own, total - own, text in mentions)
        for c, (own, total) in counts.items()
        if (text := closed.terms.text(c))
    ]
    return sorted(rows, key=lambda row: (-row.instances - row.entailed, row.iri))


def _unlabelled(index: Index) -> int:
    labelled: set[int] = set()
    for text in LABEL_PREDICATES:
        term = index.terms.get(text)
        if term is not None:
            labelled.update(index.subjects_of(term))
    subjects: set[int] = set()
    for p in index.predicates():
        subjects.update(index.subjects_of(p))
    return sum(is_iri(index.terms.text(s)) for s in subjects - labelled)


def _lines(report: InspectionReport) -> Iterator[str]:
    yield f"graph       {', '.join(report.sources) or '(claims)'}"
    yield f"sha256      {report.sha256}"
    yield f"triples     {report.triples:,} stated, {report.entailed:,} entailed ({report.regime})"
    yield (
        f"terms       {report.iris:,} IRIs, {report.blank_nodes:,} blank nodes, "
        f"{report.literals:,} literals; {report.unlabelled:,} subjects without a label"
    )
    for note in report.notes:
        yield f"note        {plain(note)}"
    covered = report.shapes is not None
    yield ""
    yield f"PREDICATES ({len(report.predicates)})"
    yield f"{'stated':>10} {'entailed':>10} {'subjects':>10}  "
    yield from _cut(
        (
            f"{row.triples:>10,} {row.entailed:>10,} {row.subjects:>10,}  {plain(row.iri)}"
            f"{_marks(row, covered)}"
            for row in report.predicates
        ),
        len(report.predicates),
    )
    yield ""
    yield f"CLASSES ({len(report.classes)})"
    yield from _cut(
        (
            f"{row.instances:>10,} {row.entailed:>10,}  {plain(row.iri)}"
            f"{'' if row.constrained or not covered else '  [no shape]'}"
            for row in report.classes
        ),
        len(report.classes),
    )
    if covered:
        yield ""
        yield from _coverage(report)
    yield ""
    yield f"MALFORMED IRIS ({report.malformed_count})"
    yield from _cut((f"  {plain(iri)}" for iri in report.malformed_iris), report.malformed_count)
    yield ""
    yield f"SAME LABEL, DIFFERENT THINGS ({report.homonym_count})"
    yield from _cut(
        (
            f"  {plain(row.label)}: {', '.join(map(plain, row.iris[:5]))}"
            f"{f' and {len(row.iris) - 5} more' if len(row.iris) > 5 else ''}"
            for row in report.homonyms
        ),
        report.homonym_count,
    )
    if report.violation_count is not None:
        yield ""
        yield f"VIOLATIONS THE GRAPH ALREADY HAS ({report.violation_count})"
        yield from _cut(
            (
                f"  {plain(v.focus_node)} {plain(v.path)} {plain(v.value)} "
                f"[{v.component} of {plain(v.shape)}] {plain(v.message)}"
                for v in report.violations
            ),
            report.violation_count,
        )
    if report.inconsistency_count is not None:
        yield ""
        yield f"WHAT THE AXIOMS FORBID ({report.inconsistency_count})"
        yield from _cut(
            (f"  {plain(found, 400)}" for found in report.inconsistencies),
            report.inconsistency_count,
        )


def _marks(row: PredicateCount, covered: bool) -> str:
    marks = []
    if row.functional:
        marks.append("functional")
    elif row.single_valued:
        marks.append("single-valued")
    if covered and not row.constrained:
        marks.append("no shape")
    return f"  [{', '.join(marks)}]" if marks else ""


def _coverage(report: InspectionReport) -> Iterator[str]:
    own = [row for row in report.predicates if not row.iri.startswith((RDF, RDFS, OWL))]
    classes = [row for row in report.classes if not row.iri.startswith((RDF, RDFS, OWL))]
    yield f"CONSTRAINT COVERAGE ({report.shapes} shapes; RDF and OWL vocabulary not counted)"
    yield f"  predicates  {sum(row.constrained for row in own)} of {len(own)}"
    yield f"  classes     {sum(row.constrained for row in classes)} of {len(classes)}"


def _cut(rows: Iterable[str], total: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == SHOWN:
            yield f"  … and {total - SHOWN:,} more (--json lists them)"
            return
        yield row
    if not total:
        yield "  none"
