"""Drafts a domain from a graph: the texts of its files."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from kg.base.console import StageCallback
from kg.base.errors import GraphTooLargeError
from kg.base.plain_text import format_count
from kg.claims import Claim
from kg.entailment import Closure
from kg.graph import Graph
from kg.profile.answers import (
    UnknownAnswer,
    explain_ineffective_answers,
    find_unknown_answers,
    remove_answers,
    render_answers,
)
from kg.profile.axioms import AxiomReader
from kg.profile.classes import iter_class_rules
from kg.profile.domain_files import (
    HEAD,
    DomainTexts,
    DraftedDomain,
    render_domain,
    render_page,
)
from kg.profile.folder import ANSWERS_FILE, CLASS_LINKS, PREPARED_GRAPH, READINESS_PAGE
from kg.profile.graph_changes.blank_nodes import describe_named_nodes, name_blank_nodes
from kg.profile.graph_changes.class_links import list_class_links, render_class_links
from kg.profile.graph_changes.person_names import name_people
from kg.profile.names import Names, Naming, choose_naming
from kg.profile.predicates import GraphProfiler
from kg.profile.readiness import (
    Readiness,
    ReadinessReport,
    assess_predicates,
    build_report,
    describe_notes,
    describe_vocabulary,
)
from kg.profile.rules import (
    ANSWER_TABLES,
    NAME_PREFIX,
    Answers,
    DraftRule,
    iter_predicate_rules,
    judge_predicate,
    name_rules,
    render_shapes,
)
from kg.profile.verification import (
    BrokenShapes,
    add_missing_datatypes,
    find_broken_shapes,
    find_covered_predicates,
    find_given_rules,
    find_otherwise_limited,
    list_rule_kinds,
    select_kept_rules,
)
from kg.profile.web_pages import find_web_pages
from kg.shapes import Constraint, Shapes
from kg.skipped_content import describe_skipped_content

FULL_CEILING = 50
"""Number of cards of each label below which blank nodes get names."""
MIN_TOTAL_CEILING = 15
"""Number of cards of each label below which things are named by their UUIDs and hashes, too."""
CODED_NAMES_NOTE = (
    "Things without a label are called by their class and the start of the code in their IRI, such "
    "as “order 5715fe11”; labels would read better."
)


class Draft(NamedTuple):
    """A drafted domain."""

    files: dict[str, str]
    """File name → text."""
    report: ReadinessReport
    unknown_answers: tuple[UnknownAnswer, ...]
    """Answers about what the graph does not have; they are not in the files."""
    notes: tuple[str, ...]
    """Which answers have no effect, and why."""


def draft_domain(
    graph: Graph,
    folder: Path,
    answers: Answers,
    *,
    name: str,
    shapes_files: Sequence[Path] = (),
    texts: DomainTexts | None = None,
    show_stage: StageCallback,
) -> Draft:
    """Drafts the domain of a graph.

    Rules, answers and the readiness page depend on the triples alone, not on their order or on the
    format of the files.

    Args:
        graph: the graph, loaded from files.
        folder: the folder that the domain will be in.
        answers: what the user said about rules.
        name: name of the domain.
        shapes_files: the user's own shapes, used beside the drafted ones.
        texts: how the predicates are worded, and the passages that state the facts.
        show_stage: is told how far the work has come.
    """
    shapes = Shapes.load(shapes_files) if shapes_files else None
    by_ceiling = attrgetter("ceiling")
    loaded = graph
    typed, n_typed = (graph, 0) if shapes is None else add_missing_datatypes(graph, shapes)
    graph, n_people = name_people(typed if n_typed else graph)

    def assess(graph: Graph, class_links: Sequence[Claim]) -> _Assessment:
        prepared = _prepare(graph, class_links, shapes, show_stage)
        return _assess(prepared, choose_naming(prepared.linked), answers, show_stage)

    def improve(assessment: _Assessment, graph: Graph, links: Sequence[Claim]) -> _Assessment:
        """Returns the better one of two assessments, the second of a changed graph."""
        try:
            return max(assessment, assess(graph, links), key=by_ceiling)
        except GraphTooLargeError:  # more follows from the changed graph than can be derived
            return assessment

    best = assess(graph, list_class_links(graph))
    if best.ceiling < FULL_CEILING and (named := name_blank_nodes(graph)):
        best = improve(best, named, best.prepared.class_links)
    is_small = best.ceiling < MIN_TOTAL_CEILING and not best.prepared.class_links
    if is_small and (links := list_class_links(best.prepared.graph, beside_things=True)):
        best = improve(best, best.prepared.graph, links)
    if best.ceiling < MIN_TOTAL_CEILING:
        naming = choose_naming(best.prepared.linked, with_opaque=True)
        best = max(best, _assess(best.prepared, naming, answers, show_stage), key=by_ceiling)
    prepared, naming, rows, drafted, kept, nouns, left_out, vocabulary = best
    graph, class_links = prepared.linked, prepared.class_links
    unknown = find_unknown_answers(answers, {row.iri for row in rows}, drafted)
    answers = remove_answers(answers, unknown)
    files = {path.resolve() for path in loaded.sources}
    uses_shapes = not files.isdisjoint(path.resolve() for path in shapes_files)
    report = build_report(
        rows,
        domain=name,
        triples=len(loaded),
        n_rules=len(kept),
        left_out=left_out,
        skipped=(
            *(*graph.notes, *graph.omissions, *(() if shapes is None else shapes.notes)),
            *describe_skipped_content(graph.index, uses_shapes=uses_shapes),
        ),
        vocabulary=vocabulary,
    )
    remarks = [report.summary]
    if naming.coded_names == "all":
        remarks.append(CODED_NAMES_NOTE)
    if prepared.own.broken.nodes:
        remarks.append(prepared.own.broken.describe())
    if n_typed:
        n_values = format_count(n_typed, "value")
        remarks.append(f"{n_values} without a datatype: your shapes give it (`{PREPARED_GRAPH}`).")
    if n_people:
        people = format_count(n_people, "thing")
        remarks.append(
            f"{people} called by given and family names, without a label (`{PREPARED_GRAPH}`)."
        )
    remarks += describe_named_nodes(loaded, prepared.graph, PREPARED_GRAPH)
    report = msgspec.structs.replace(report, summary=" ".join(remarks))
    is_changed = prepared.graph is not loaded
    drafted_graphs = [PREPARED_GRAPH] * is_changed + [CLASS_LINKS] * bool(class_links)
    domain = DraftedDomain(folder, name, loaded, shapes_files, naming, drafted_graphs)
    return Draft(
        {
            "domain.toml": render_domain(domain, rows, texts or DomainTexts()),
            "shapes.ttl": f"# {HEAD}: rules that hold in the graph, each with its support.\n"
            "# Say in confirm.toml which of them are false in the world.\n\n"
            + render_shapes(kept, nouns),
            ANSWERS_FILE: f"# {HEAD}\n{render_answers(rows, answers, drafted, kept, nouns)}",
            **({CLASS_LINKS: render_class_links(class_links, HEAD)} if class_links else {}),
            **({PREPARED_GRAPH: f"# {HEAD}\n{_write_graph(prepared.graph)}"} if is_changed else {}),
            READINESS_PAGE: f"<!-- {HEAD} -->\n{render_page(report)}",
        },
        report,
        tuple(unknown),
        tuple(explain_ineffective_answers(answers, rows, kept.values())),
    )


def _write_graph(graph: Graph) -> str:
    """Writes a graph as N-Triples, without facts that these cannot state."""
    unwritable = graph.unwritable_triples
    return (graph.without(unwritable) if unwritable else graph).to_ntriples().decode()


class _OwnRules(NamedTuple):
    """The rules of the user's own shapes."""

    constraints: Sequence[Constraint] = ()
    broken: BrokenShapes = BrokenShapes()


class _Prepared(NamedTuple):
    """A graph as the domain may use it."""

    graph: Graph
    """The graph, in which literals may have got datatypes and blank nodes names."""
    class_links: Sequence[Claim]
    linked: Graph
    """The graph with the links between classes."""
    closure: Closure
    own: _OwnRules


def _prepare(
    graph: Graph, class_links: Sequence[Claim], shapes: Shapes | None, show_stage: StageCallback
) -> _Prepared:
    linked = graph.with_claims(class_links) if class_links else graph
    own = _OwnRules()
    if shapes is not None:
        own = _OwnRules(shapes.list_constraints(), find_broken_shapes(linked, shapes))
    show_stage("deriving what follows", 0, 0)
    return _Prepared(graph, class_links, linked, Closure(linked), own)


class _Assessment(NamedTuple):
    """What can be asked about a graph if its things are named in one way."""

    prepared: _Prepared
    naming: Naming
    rows: tuple[Readiness, ...]
    drafted: dict[str, DraftRule]
    """Name of the shape → rule, also of those that the user rejects or the graph breaks."""
    kept: dict[str, DraftRule]
    """Those of ``shapes.ttl``."""
    nouns: dict[str, str]
    """IRI of a predicate or class → what it is called."""
    left_out: tuple[str, ...]
    """What of the graph no card mentions."""
    vocabulary: str
    """That the graph is a vocabulary; empty if it is not."""

    @property
    def ceiling(self) -> int:
        """The number of cards of each label of the predicates that are asked about."""
        return sum(row.counted for row in self.rows if row.is_asked)


def _assess(
    prepared: _Prepared, naming: Naming, answers: Answers, show_stage: StageCallback
) -> _Assessment:
    graph, closure, own = prepared.linked, prepared.closure, prepared.own
    labels = naming.make_labels(graph)
    pages = find_web_pages(graph, labels)
    names = Names(graph, labels, {*own.broken.nodes, *pages.values})
    profiler = GraphProfiler(graph, names, naming.predicates, closure.index, own.broken.nodes)
    reader = AxiomReader(graph)
    declarations = reader.read_declarations()
    judged = []
    for number, profile in enumerate(profiler.iter_profiles(), 1):
        judged.append((profile, judge_predicate(profile, answers, declarations)))
        show_stage("profiling predicates", number, len(profiler))
    show_stage("testing rules", 0, 0)
    lists = declarations.code_lists
    declared = list(reader.iter_rules())
    closed = {rule.about for rule in declared if rule.kind == "codes"}
    rules = name_rules(
        [
            *(
                rule
                for pair in judged
                for rule in iter_predicate_rules(*pair, lists)
                if not (rule.is_doubtful and rule.about in closed)
            ),
            *declared,
            *iter_class_rules(graph),
        ]
    )
    accepted = {name: rule for name, rule in rules.items() if not answers.rejects(name, rule)}
    covered = find_covered_predicates(closure.index, own.constraints)
    needed = {
        name: rule
        for name, rule in accepted.items()
        if rule.kind != "one-value" or rule.about not in covered
    }
    kept, constraints = select_kept_rules(graph, closure, needed)
    broken = {
        rule.about
        for name, rule in needed.items()
        if name not in kept and rule.kind in ANSWER_TABLES
    }
    judged = [
        (
            profile,
            judgement.withdraw()
            if profile.iri in broken
            else judgement.take_back()
            if answers.rejects_judgement(profile.iri, judgement.kind)
            else judgement,
        )
        for profile, judgement in judged
    ]
    stated = [one for one in constraints if one.shape.startswith(f"{NAME_PREFIX}ontology:")]
    given = find_given_rules(stated, "the ontology states it")
    given |= find_given_rules(own.constraints, "your shapes state it", covered)
    nouns = {profile.iri: profile.label for profile, _ in judged}
    nouns |= {
        rule.about: names.find_class_noun(rule.about)
        for rule in rules.values()
        if not nouns.get(rule.about)
    }
    kinds = list_rule_kinds(kept, given, find_otherwise_limited(own.constraints))
    rows = pages.leave_out(
        assess_predicates(judged, given, profiler.compare_names, kinds, graph.index)
    )
    left_out = describe_notes(graph, names, naming.predicates)
    vocabulary = describe_vocabulary(graph, names)
    return _Assessment(prepared, naming, rows, rules, kept, nouns, left_out, vocabulary)
