"""Drafts a domain from a graph: the texts of its files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from kg.base.console import StageCallback
from kg.base.plain_text import clean_text, format_count
from kg.entailment import Closure
from kg.graph import Graph
from kg.predicate_words import PredicateWording
from kg.profile.answers import (
    UnknownAnswer,
    explain_ineffective_answers,
    find_unknown_answers,
    quote_toml,
    remove_answers,
    render_answers,
)
from kg.profile.axioms import AxiomReader
from kg.profile.class_links import list_class_links, render_class_links
from kg.profile.classes import iter_class_rules
from kg.profile.folder import ANSWERS_FILE, CLASS_LINKS, READINESS_PAGE, TYPED_GRAPH, make_title
from kg.profile.names import Names, Naming, choose_naming
from kg.profile.predicates import GraphProfiler
from kg.profile.readiness import (
    Readiness,
    ReadinessReport,
    assess_predicates,
    build_report,
    describe_doubtful,
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
from kg.words.qualifiers import INVERSE

HEAD = "Written by `epoche kg init`"
"""What each file of a draft says in its first line."""

MIN_TOTAL_CEILING = 15
"""Number of cards of each label below which things are named by their UUIDs and hashes, too."""
CODED_NAMES_NOTE = (
    "Things without a label are called by their class and the start of the code in their IRI, such "
    "as “order 5715fe11”; labels would read better."
)
_LEFT_OUT = "it describes an ontology and its terms and not things"
MAX_PAGE_ROWS = 200
"""Maximum number of predicates on the readiness page."""


class DomainTexts(NamedTuple):
    """What is known of a graph that was extracted from documents."""

    wordings: Mapping[str, PredicateWording] = MappingProxyType({})
    """IRI of the predicate → templates; the others are made from the label."""
    passages: Path | None = None
    quotes: str = ""
    """Name of the file of quotes in the folder."""


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
    graph, n_typed = (graph, 0) if shapes is None else add_missing_datatypes(graph, shapes)
    typed_text = f"# {HEAD}\n{graph.to_ntriples().decode()}" if n_typed else ""
    class_links = list_class_links(graph)
    if class_links:
        graph = graph.with_claims(class_links)
    own = _OwnRules()
    if shapes is not None:
        own = _OwnRules(shapes.list_constraints(), find_broken_shapes(graph, shapes))
    show_stage("deriving what follows", 0, 0)
    closure = Closure(graph)
    assessment = _assess(graph, closure, choose_naming(graph), answers, own, show_stage)
    is_small = assessment.ceiling < MIN_TOTAL_CEILING and not class_links
    if is_small and (class_links := list_class_links(graph, beside_things=True)):
        linked = graph.with_claims(class_links)
        links_closure = Closure(linked)
        other = _assess(linked, links_closure, choose_naming(linked), answers, own, show_stage)
        if other.ceiling > assessment.ceiling:
            graph, closure, assessment = linked, links_closure, other
        else:
            class_links = []
    if assessment.ceiling < MIN_TOTAL_CEILING:
        naming = choose_naming(graph, with_opaque=True)
        other = _assess(graph, closure, naming, answers, own, show_stage)
        assessment = other if other.ceiling > assessment.ceiling else assessment
    naming, rows, drafted, kept, nouns, left_out, vocabulary = assessment
    unknown = find_unknown_answers(answers, {row.iri for row in rows}, drafted)
    answers = remove_answers(answers, unknown)
    files = {path.resolve() for path in graph.sources}
    uses_shapes = not files.isdisjoint(path.resolve() for path in shapes_files)
    report = build_report(
        rows,
        domain=name,
        triples=len(graph),
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
    if own.broken.nodes:
        remarks.append(own.broken.describe())
    if n_typed:
        n_values = format_count(n_typed, "value")
        remarks.append(f"{n_values} without a datatype: your shapes give it (`{TYPED_GRAPH}`).")
    report = msgspec.structs.replace(report, summary=" ".join(remarks))
    drafted_graphs = [TYPED_GRAPH] * bool(n_typed) + [CLASS_LINKS] * bool(class_links)
    domain = _Domain(folder, name, graph, shapes_files, naming, drafted_graphs)
    return Draft(
        {
            "domain.toml": _render_domain(domain, rows, texts or DomainTexts()),
            "shapes.ttl": f"# {HEAD}: rules that hold in the graph, each with its support.\n"
            "# Say in confirm.toml which of them are false in the world.\n\n"
            + render_shapes(kept, nouns),
            ANSWERS_FILE: f"# {HEAD}\n{render_answers(rows, answers, drafted, kept, nouns)}",
            **({CLASS_LINKS: render_class_links(class_links, HEAD)} if class_links else {}),
            **({TYPED_GRAPH: typed_text} if n_typed else {}),
            READINESS_PAGE: f"<!-- {HEAD} -->\n{render_page(report)}",
        },
        report,
        tuple(unknown),
        tuple(explain_ineffective_answers(answers, rows, kept.values())),
    )


class _OwnRules(NamedTuple):
    """The rules of the user's own shapes."""

    constraints: Sequence[Constraint] = ()
    broken: BrokenShapes = BrokenShapes()


class _Assessment(NamedTuple):
    """What can be asked about a graph if its things are named in one way."""

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
    graph: Graph,
    closure: Closure,
    naming: Naming,
    answers: Answers,
    own: _OwnRules,
    show_stage: StageCallback,
) -> _Assessment:
    labels = naming.make_labels(graph)
    pages = find_web_pages(graph, labels)
    names = Names(graph, labels, {*own.broken.nodes, *pages.values})
    profiler = GraphProfiler(graph, names, naming.predicates, closure.index)
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
    return _Assessment(naming, rows, rules, kept, nouns, left_out, vocabulary)


class _Domain(NamedTuple):
    folder: Path
    name: str
    graph: Graph
    shapes_files: Sequence[Path]
    naming: Naming
    drafted_graphs: Sequence[str]


def _render_domain(domain: _Domain, rows: Sequence[Readiness], texts: DomainTexts) -> str:
    graph_files = [*domain.drafted_graphs]
    sources = [_relate(path, domain.folder) for path in domain.graph.sources]
    is_typed = TYPED_GRAPH in graph_files
    graph_files = graph_files if is_typed else sources + graph_files
    shapes_files = ["shapes.ttl", *(_relate(path, domain.folder) for path in domain.shapes_files)]
    lines = [
        f"# {HEAD}. A predicate needs only a label; fact, denied and questions may word it",
        "# better. default = true: cards ask about it. The others are only stated as facts.",
        f"name = {quote_toml(domain.name)}",
        f"title = {quote_toml(make_title(domain.name, domain.folder, domain.graph.sources))}",
        *([f"# If {_quote_list(sources)} changes, run `epoche kg init` again."] * is_typed),
        f"graph = {_quote_list(graph_files)}",
        f"shapes = {_quote_list(shapes_files)}",
        f"languages = {_quote_list(domain.naming.languages)}",
    ]
    if texts.passages:
        lines.append(f"passages = {quote_toml(_relate(texts.passages, domain.folder))}")
        lines.append(f"quotes = {quote_toml(texts.quotes)}")
    if domain.naming.predicates:
        names = [f"<{iri}>" for iri in domain.naming.predicates]
        lines.append(f"naming_predicates = {_quote_list(names)}")
    if domain.naming.qualifiers:
        lines.append("# By what things of the same name are told apart, best first.")
        names = [
            INVERSE * text.startswith(INVERSE) + f"<{text.removeprefix(INVERSE)}>"
            for text in domain.naming.qualifiers
        ]
        lines.append(f"qualifiers = {_quote_list(names)}")
    if domain.naming.coded_names:
        example = "order 5715fe11" if domain.naming.coded_names == "all" else "order 10248"
        lines.append(f'# Things without a label are called by their class and code: "{example}".')
        lines.append(f"coded_names = {quote_toml(domain.naming.coded_names)}")
    facts = [row for row in rows if row.is_fact or row.is_asked]
    prefixes = {
        prefix: namespace
        for prefix, namespace in sorted(domain.graph.prefixes.items())
        if prefix and namespace and any(row.iri.startswith(namespace) for row in facts)
    }
    if prefixes:
        lines += ["", "[prefixes]"]
        lines += [f"{quote_toml(key)} = {quote_toml(value)}" for key, value in prefixes.items()]
    for row in facts:
        lines += [
            "",
            f"[predicates.{quote_toml(f'<{row.iri}>')}]",
            f"label = {quote_toml(row.label)}",
        ]
        wording = texts.wordings.get(row.iri)
        if wording:
            lines += [
                f"fact = {quote_toml(wording.fact)}",
                f"denied = {quote_toml(wording.denied)}",
                f"questions = {_quote_list(wording.questions)}",
            ]
        if row.is_asked:
            lines.append("default = true")
    return "\n".join(lines) + "\n"


def render_page(report: ReadinessReport) -> str:
    """Renders the readiness page in Markdown."""
    doubtful = describe_doubtful(report)
    lines = [
        f"# What can be asked about {_escape(report.domain)}",
        "",
        " ".join(filter(None, (report.summary, report.advice))),
        "",
        f"`shapes.ttl` has {format_count(report.rules, 'rule')}, confirmed by the graph's "
        f"{report.triples:,} triples.{f' {doubtful}: say so in `confirm.toml`.' * bool(doubtful)}",
        "",
        *(
            [f"Left out, because {_LEFT_OUT}: {'; '.join(map(_escape, report.left_out))}.", ""]
            * bool(report.left_out)
        ),
        *(
            [f"Reading the files: {'; '.join(map(_escape, report.skipped))}.", ""]
            * bool(report.skipped)
        ),
        "| predicate | facts | subjects | nameable | ceiling | rule, or why nothing is asked |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in report.predicates[:MAX_PAGE_ROWS]:
        why = f"{row.rule}: {row.support}" if row.is_asked else row.reason
        if row.shares_links_with:
            why += f"; counted with “{row.shares_links_with}”, which links the same things"
        lines.append(
            f"| {_escape(row.label or row.iri)} | {row.facts:,} | {row.subjects:,} | "
            f"{row.nameable:,} | {row.ceiling:,} | {_escape(why)} |"
        )
    n_more = len(report.predicates) - MAX_PAGE_ROWS
    if n_more > 0:
        lines += ["", f"{n_more:,} more predicates are in the output of `epoche kg init --json`."]
    return "\n".join([*lines, "", report.formula, ""])


def _escape(text: str) -> str:
    """Returns text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", clean_text(text))


def _relate(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on Windows, there is no relative path to another drive
        return path.resolve().as_posix()


def _quote_list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(quote_toml, texts))}]"
