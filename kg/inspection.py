"""Inspects a graph: counts of its contents, and problems to fix before evaluating with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from kg.base.plain_text import clean_text
from kg.claims import Violation
from kg.single_values import find_single_value
from kg.skipped_content import describe_skipped_content
from kg.terms import OWL, RDF, RDF_TYPE, RDFS, is_blank, is_iri, is_literal, is_malformed_iri
from kg.triples.index import Index
from kg.words.labels import LABEL_PREDICATES, Labels

if TYPE_CHECKING:
    from kg.graph import Graph
    from kg.oracle import Oracle
    from kg.shapes import Shapes
    from kg.shapes.model import Constraint

MAX_PRINTED_ROWS = 20
"""Maximum number of rows that ``InspectionReport.render_text`` shows of each list."""
MAX_LISTED_FINDINGS = 1000
"""Maximum length of the report's lists of malformed IRIs, homonyms, violations and inconsistencies;
the counts next to them include all."""

_IRI_IN_PATH = re.compile(r"<([^<>]*)>")
"""An IRI in angle brackets, as in SPARQL property paths and queries."""
_LOCAL_NAME = re.compile(r":([\w.%-]*[\w%-])")
"""The local name of a prefixed name (``ex:name``) in a SPARQL query; it does not end in a dot."""


class PredicateCount(msgspec.Struct, frozen=True):
    """One predicate and how it is used."""

    iri: str
    triples: int
    """Asserted triples."""
    entailed: int
    """Triples that are entailed but not asserted; 0 where no oracle was given."""
    subjects: int
    """Distinct subjects of asserted triples."""
    single_valued: bool
    """Whether there are two or more subjects and each has exactly one asserted value."""
    functional: bool
    """Whether it is declared an ``owl:FunctionalProperty``."""
    constrained: bool
    """Whether a shape mentions it."""


class ClassCount(msgspec.Struct, frozen=True):
    """One class and its instances."""

    iri: str
    instances: int
    """Asserted instances."""
    entailed: int
    """Instances that are entailed but not asserted; 0 where no oracle was given."""
    constrained: bool
    """Whether a shape targets or mentions it."""


class Homonym(msgspec.Struct, frozen=True):
    """A label that several entities share."""

    label: str
    iris: tuple[str, ...]


class InspectionReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of ``inspect_graph``; ``render_text()`` renders it for people."""

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
    """Number of subjects that are IRIs and have no label."""
    malformed_iris: tuple[str, ...]
    malformed_count: int
    homonyms: tuple[Homonym, ...]
    homonym_count: int
    shapes: int | None
    """Number of shapes with targets; None where no shapes were given."""
    violations: tuple[Violation, ...]
    violation_count: int | None
    """Violations that the graph itself has; None where no oracle was given."""
    inconsistencies: tuple[str, ...]
    """Each as ``rule: premises``: triples from which the OWL 2 RL rule concludes *false*."""
    inconsistency_count: int | None
    """None where no oracle was given."""
    notes: tuple[str, ...]
    """Remarks, e.g. that named graphs were merged, or which facts no card can state."""

    def render_text(self) -> str:
        """Renders the report as text, with at most ``MAX_PRINTED_ROWS`` rows of each list."""
        return "\n".join(_render_lines(self)) + "\n"


def inspect_graph(
    graph: Graph, shapes: Shapes | None = None, oracle: Oracle | None = None
) -> InspectionReport:
    """Inspects a graph.

    Args:
        graph: the graph.
        shapes: needed to count which predicates and classes are constrained.
        oracle: over the same graph and shapes; needed to count entailed triples and list
            violations.
    """
    asserted = graph.index
    closure = oracle.closure.index if oracle is not None else asserted
    mentions = (
        _collect_mentions(shapes.list_constraints()) if shapes is not None else _MentionedTerms()
    )
    malformed = list(find_malformed_iris(asserted))
    homonyms = Labels(graph).find_homonyms()
    violations = oracle.find_violations() if oracle is not None else ()
    inconsistencies = list(_describe_inconsistencies(oracle)) if oracle is not None else []
    n_iris = n_blank_nodes = n_literals = 0
    for term in _collect_used_terms(asserted):
        text = asserted.terms.get_text(term)
        if is_literal(text):
            n_literals += 1
        elif is_blank(text):
            n_blank_nodes += 1
        else:
            n_iris += 1
    return InspectionReport(
        sources=tuple(map(str, graph.sources)),
        sha256=graph.sha256,
        regime=oracle.closure.regime if oracle is not None else "none",
        triples=len(asserted),
        entailed=len(closure) - len(asserted),
        iris=n_iris,
        blank_nodes=n_blank_nodes,
        literals=n_literals,
        predicates=tuple(_count_predicates(asserted, closure, mentions)),
        classes=tuple(_count_classes(asserted, closure, mentions)),
        unlabelled=_count_unlabelled(asserted),
        malformed_iris=tuple(malformed[:MAX_LISTED_FINDINGS]),
        malformed_count=len(malformed),
        homonyms=tuple(
            Homonym(k, tuple(v)) for k, v in list(homonyms.items())[:MAX_LISTED_FINDINGS]
        ),
        homonym_count=len(homonyms),
        shapes=len(shapes.list_iris()) if shapes is not None else None,
        violations=tuple(violations[:MAX_LISTED_FINDINGS]),
        violation_count=len(violations) if oracle is not None else None,
        inconsistencies=tuple(inconsistencies[:MAX_LISTED_FINDINGS]),
        inconsistency_count=len(inconsistencies) if oracle is not None else None,
        notes=graph.notes
        + graph.omissions
        + describe_skipped_content(asserted)
        + (shapes.notes if shapes is not None else ()),
    )


def find_malformed_iris(index: Index) -> Iterator[str]:
    """Yields the graph's malformed IRIs; see ``is_malformed_iri``."""
    for term in _collect_used_terms(index):
        text = index.terms.get_text(term)
        if is_iri(text) and is_malformed_iri(text):
            yield text


def _describe_inconsistencies(oracle: Oracle) -> Iterator[str]:
    for inconsistency in oracle.closure.find_inconsistencies():
        premises = "; ".join(f"{p.subj} {p.pred} {p.obj}" for p in inconsistency.premises)
        yield f"{inconsistency.rule}: {premises}"


class _MentionedTerms:
    """The terms that shapes mention: full IRIs, and local names found in SPARQL text."""

    def __init__(self) -> None:
        self.iris: set[str] = set()
        self.local_names: set[str] = set()

    def __contains__(self, iri: str) -> bool:
        if iri in self.iris:
            return True
        return bool(self.local_names) and re.split(r"[#/:]", iri)[-1] in self.local_names


def _collect_mentions(constraints: Iterable[Constraint]) -> _MentionedTerms:
    mentions = _MentionedTerms()
    pending = list(constraints)
    while pending:
        constraint = pending.pop()
        mentions.iris.update(term for _, term in constraint.target)
        texts = [constraint.path]
        for name, value in constraint.parameters.items():
            if name == "select":
                # The query's prefixes may be declared elsewhere in the shapes graph, so only the
                # local names are compared.
                mentions.local_names.update(_LOCAL_NAME.findall(str(value)))
                texts.append(str(value))
            else:
                texts += [value] if isinstance(value, str) else value
        for text in texts:
            if "<" in text and not is_literal(text):
                mentions.iris.update(_IRI_IN_PATH.findall(text))
            else:
                mentions.iris.add(text)
        for inner in constraint.inner:
            pending += inner
    return mentions


def _collect_used_terms(index: Index) -> dict[int, None]:
    """Returns the terms that occur in triples, in a deterministic order.

    The term table may contain further terms that no triple uses.
    """
    used_terms: dict[int, None] = {}
    for p in index.list_predicates():
        used_terms[p] = None
        for s, o in index.iter_pairs(p):
            used_terms[s] = None
            used_terms[o] = None
    return used_terms


def _count_predicates(
    asserted: Index, closure: Index, mentions: _MentionedTerms
) -> list[PredicateCount]:
    get_text = closure.terms.get_text
    rows = []
    for p in closure.list_predicates():
        triples = asserted.count_triples(p)
        subjects = len(asserted.get_subjects(p))
        single_value = find_single_value(asserted, p, axioms=closure)
        rows.append(
            PredicateCount(
                iri=get_text(p),
                triples=triples,
                entailed=closure.count_triples(p) - triples,
                subjects=subjects,
                single_valued=single_value.in_data and subjects > 1,
                functional=single_value.by_axiom,
                constrained=get_text(p) in mentions,
            )
        )
    return sorted(rows, key=lambda row: (-row.triples - row.entailed, row.iri))


def _count_classes(asserted: Index, closure: Index, mentions: _MentionedTerms) -> list[ClassCount]:
    rdf_type = closure.terms.get(RDF_TYPE)
    if rdf_type is None:
        return []
    counts_by_class: dict[int, list[int]] = {}
    for index, column in ((asserted, 0), (closure, 1)):
        for _, c in index.iter_pairs(rdf_type):
            counts_by_class.setdefault(c, [0, 0])[column] += 1
    rows = [
        ClassCount(text, asserted_count, closure_count - asserted_count, text in mentions)
        for c, (asserted_count, closure_count) in counts_by_class.items()
        if (text := closure.terms.get_text(c))
    ]
    return sorted(rows, key=lambda row: (-row.instances - row.entailed, row.iri))


def _count_unlabelled(index: Index) -> int:
    labelled: set[int] = set()
    for text in LABEL_PREDICATES:
        term = index.terms.get(text)
        if term is not None:
            labelled.update(index.get_subjects(term))
    subjects: set[int] = set()
    for p in index.list_predicates():
        subjects.update(index.get_subjects(p))
    return sum(is_iri(index.terms.get_text(s)) for s in subjects - labelled)


def _render_lines(report: InspectionReport) -> Iterator[str]:
    yield f"graph       {', '.join(report.sources) or '(claims)'}"
    yield f"sha256      {report.sha256}"
    yield f"triples     {report.triples:,} asserted, {report.entailed:,} entailed ({report.regime})"
    yield (
        f"terms       {report.iris:,} IRIs, {report.blank_nodes:,} blank nodes, "
        f"{report.literals:,} literals; {report.unlabelled:,} subjects without a label"
    )
    for note in report.notes:
        yield f"note        {clean_text(note, 600)}"
    has_shapes = report.shapes is not None
    yield ""
    yield f"PREDICATES ({len(report.predicates)})"
    yield f"{'asserted':>10} {'entailed':>10} {'subjects':>10}  "
    yield from _limit_rows(
        (
            f"{row.triples:>10,} {row.entailed:>10,} {row.subjects:>10,}  {clean_text(row.iri)}"
            f"{_render_marks(row, has_shapes)}"
            for row in report.predicates
        ),
        len(report.predicates),
    )
    yield ""
    yield f"CLASSES ({len(report.classes)})"
    yield from _limit_rows(
        (
            f"{row.instances:>10,} {row.entailed:>10,}  {clean_text(row.iri)}"
            f"{'' if row.constrained or not has_shapes else '  [no shape]'}"
            for row in report.classes
        ),
        len(report.classes),
    )
    if has_shapes:
        yield ""
        yield from _render_coverage(report)
    yield ""
    yield f"MALFORMED IRIS ({report.malformed_count})"
    yield from _limit_rows(
        (f"  {clean_text(iri)}" for iri in report.malformed_iris), report.malformed_count
    )
    yield ""
    yield f"LABELS SHARED BY SEVERAL ENTITIES ({report.homonym_count})"
    yield from _limit_rows(
        (
            f"  {clean_text(row.label)}: {', '.join(map(clean_text, row.iris[:5]))}"
            f"{f' and {len(row.iris) - 5} more' if len(row.iris) > 5 else ''}"
            for row in report.homonyms
        ),
        report.homonym_count,
    )
    if report.violation_count is not None:
        yield ""
        yield f"SHACL VIOLATIONS ({report.violation_count})"
        yield from _limit_rows(
            (
                f"  {clean_text(v.focus_node)} {clean_text(v.path)} {clean_text(v.value)} "
                f"[{v.component} of {clean_text(v.shape)}] {clean_text(v.message)}"
                for v in report.violations
            ),
            report.violation_count,
        )
    if report.inconsistency_count is not None:
        yield ""
        yield f"OWL INCONSISTENCIES ({report.inconsistency_count})"
        yield from _limit_rows(
            (f"  {clean_text(inconsistency, 400)}" for inconsistency in report.inconsistencies),
            report.inconsistency_count,
        )


def _render_marks(row: PredicateCount, has_shapes: bool) -> str:
    marks = []
    if row.functional:
        marks.append("functional")
    elif row.single_valued:
        marks.append("single-valued")
    if has_shapes and not row.constrained:
        marks.append("no shape")
    return f"  [{', '.join(marks)}]" if marks else ""


def _render_coverage(report: InspectionReport) -> Iterator[str]:
    predicates = [row for row in report.predicates if not row.iri.startswith((RDF, RDFS, OWL))]
    classes = [row for row in report.classes if not row.iri.startswith((RDF, RDFS, OWL))]
    yield f"CONSTRAINT COVERAGE ({report.shapes} shapes; RDF and OWL vocabulary not counted)"
    yield f"  predicates  {sum(row.constrained for row in predicates)} of {len(predicates)}"
    yield f"  classes     {sum(row.constrained for row in classes)} of {len(classes)}"


def _limit_rows(rows: Iterable[str], total: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == MAX_PRINTED_ROWS:
            yield f"  … and {total - MAX_PRINTED_ROWS:,} more (--json lists them)"
            return
        yield row
    if not total:
        yield "  none"
