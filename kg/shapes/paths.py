"""Parses SHACL property paths, writes them as SPARQL, reverses them and walks them over an index.

Evaluation follows pySHACL, the reference, where it differs from the SHACL recommendation: an
inverse is pushed down to the single steps *without* reversing sequences, so ``^(a/b)`` is walked
as ``^a/^b`` (the recommendation walks ``^b/^a``). See ``docs/explanation/labels.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kg.base.errors import ShapesError
from kg.shapes.vocabulary import SH
from kg.terms import RDF
from kg.triples.index import Index
from kg.triples.term_table import TermTable

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

MAX_PATH_DEPTH = 9
"""Maximum nesting of a path and maximum length of a sequence; pySHACL itself fails above ten."""


@dataclass(frozen=True)
class Step:
    """One predicate, walked forwards or backwards."""

    predicate: str
    inverse: bool = False


@dataclass(frozen=True)
class Sequence:
    """Paths walked one after the other."""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class Alternative:
    """The union of paths."""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class Repeat:
    """A repeated path: ``*`` (``zero`` and ``many``), ``+`` (``many``) or ``?`` (``zero``)."""

    path: Path
    zero: bool
    many: bool


Path: TypeAlias = Step | Sequence | Alternative | Repeat
Walk: TypeAlias = Callable[[Index, int], Collection[int]]
"""(index, node) → the nodes that the path reaches, each once, in a deterministic order."""

_REPEAT_KINDS = {"zeroOrMorePath": (True, True), "oneOrMorePath": (False, True)} | {
    "zeroOrOnePath": (True, False)
}


def parse_path(graph: Graph, node: Node, where: str, inverse: bool = False, depth: int = 0) -> Path:
    """Reads a path node of a shapes graph.

    Raises:
        ShapesError: it is not a well-formed SHACL path, or nested too deeply.
    """
    from rdflib import BNode, URIRef

    if isinstance(node, URIRef):
        return Step(str(node), inverse)
    if not isinstance(node, BNode):
        raise ShapesError(f"sh:path contains the literal {node!s:.80}", where=where)
    if depth > MAX_PATH_DEPTH:
        raise ShapesError(f"a path is nested deeper than {MAX_PATH_DEPTH}", where=where)
    if graph.value(node, URIRef(RDF + "first")) is not None:
        members = read_list(graph, node, where)
        if len(members) + depth > MAX_PATH_DEPTH:
            raise ShapesError(f"a sequence path is longer than {MAX_PATH_DEPTH}", where=where)
        return Sequence(_parse_members(graph, members, where, inverse, depth, "sequence"))
    keywords = _get_path_keywords(graph, node)
    if len(keywords) != 1:
        raise ShapesError("sh:path points to a node that is not a SHACL path", where=where)
    kind, value = keywords[0]
    if kind == "inversePath":
        return parse_path(graph, value, where, not inverse, depth + 1)
    if kind == "alternativePath":
        members = read_list(graph, value, where)
        return Alternative(_parse_members(graph, members, where, inverse, depth, "alternative"))
    if kind in _REPEAT_KINDS:
        zero, many = _REPEAT_KINDS[kind]
        inner = parse_path(graph, value, where, inverse, depth + 1)
        if isinstance(inner, Repeat) and (many or inner.many):  # (p*)* is p*, and much faster.
            return Repeat(inner.path, zero or inner.zero, many=True)
        return Repeat(inner, zero, many)
    raise ShapesError(f"sh:{kind} cannot be used in a path", where=where)


def _parse_members(
    graph: Graph, members: list[Node], where: str, inverse: bool, depth: int, kind: str
) -> tuple[Path, ...]:
    if len(members) < 2:
        raise ShapesError(f"a path {kind} needs at least two members", where=where)
    return tuple(parse_path(graph, member, where, inverse, depth + 1) for member in members)


def _get_path_keywords(graph: Graph, node: Node) -> list[tuple[str, Node]]:
    edges = ((str(p), o) for p, o in graph.predicate_objects(node))
    return [(p[len(SH) :], o) for p, o in edges if p.startswith(SH)]


def read_list(graph: Graph, node: Node, where: str) -> list[Node]:
    """Returns the members of an RDF list.

    Raises:
        ShapesError: the list is broken, branches, or is circular.
    """
    from rdflib import URIRef

    first, rest, nil = (URIRef(RDF + name) for name in ("first", "rest", "nil"))
    members: list[Node] = []
    visited: set[Node] = set()
    while node != nil:
        values, rests = list(graph.objects(node, first)), list(graph.objects(node, rest))
        if len(values) != 1 or len(rests) != 1 or node in visited:
            raise ShapesError("a broken RDF list", where=where, hint="Write it as ( … ) in Turtle.")
        visited.add(node)
        members.append(values[0])
        node = rests[0]
    return members


def format_result_path(graph: Graph, node: Node) -> str:
    """Returns a path node as a SPARQL property path; a single predicate as its bare IRI."""
    from rdflib import URIRef

    return str(node) if isinstance(node, URIRef) else format_sparql_path(graph, node)


def format_sparql_path(graph: Graph, node: Node) -> str:
    """Returns a path node as it is written in a SPARQL query, with full IRIs."""
    from rdflib import URIRef

    if isinstance(node, URIRef):
        return f"<{node}>"
    if graph.value(node, URIRef(RDF + "first")) is not None:
        return "/".join(
            _parenthesise(format_sparql_path(graph, part)) for part in read_list(graph, node, "")
        )
    kind, value = _get_path_keywords(graph, node)[0]
    if kind == "alternativePath":
        return "|".join(
            _parenthesise(format_sparql_path(graph, part)) for part in read_list(graph, value, "")
        )
    inner = _parenthesise(format_sparql_path(graph, value))
    if kind == "inversePath":
        return f"^{inner}"
    return inner + {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}[kind]


def _parenthesise(text: str) -> str:
    # A single IRI in angle brackets needs no parentheses.
    return text if text[0] == "<" and text.find(">") == len(text) - 1 else f"({text})"


def group_path_text(text: str) -> str:
    """Returns the path text of a record in a form that can be part of a longer SPARQL path."""
    is_single_predicate = not any(mark in text for mark in "<>|^()")
    return f"<{text}>" if is_single_predicate else _parenthesise(text)


def reverse_path(path: Path) -> Path:
    """Returns the path that leads from the end of ``path`` to its start."""
    match path:
        case Step(predicate, inverse):
            return Step(predicate, not inverse)
        case Sequence(parts):
            return Sequence(tuple(reverse_path(part) for part in reversed(parts)))
        case Alternative(parts):
            return Alternative(tuple(reverse_path(part) for part in parts))
        case Repeat(inner, zero, many):
            return Repeat(reverse_path(inner), zero, many)


def iter_steps(
    path: Path, prefix: tuple[Path, ...] = ()
) -> Iterator[tuple[tuple[Path, ...], Step]]:
    """Yields every single step of ``path``, with the parts of the path that lead to the step.

    With both, one can find the focus nodes that a new triple affects. A triple matches only the
    steps with its predicate. By matching a step, it can change the result of a focus node only if
    the parts that lead to the step also lead from the focus node to the triple.
    """
    match path:
        case Step():
            yield prefix, path
        case Sequence(parts):
            for i, part in enumerate(parts):
                yield from iter_steps(part, (*prefix, *parts[:i]))
        case Alternative(parts):
            for part in parts:
                yield from iter_steps(part, prefix)
        case Repeat(inner, _, many):
            repetition = (Repeat(inner, zero=True, many=True),) if many else ()
            yield from iter_steps(inner, (*prefix, *repetition))


def join_paths(parts: tuple[Path, ...]) -> Path | None:
    """Returns the parts as one path; None if there are none."""
    return None if not parts else parts[0] if len(parts) == 1 else Sequence(parts)


def compile_path(path: Path, terms: TermTable) -> Walk:
    """Returns a function that walks ``path`` over any index that shares ``terms``.

    The frequent forms (single predicates, also repeated or as alternatives) have walks of their
    own that read the index rows directly, because a call per step would dominate their cost. A cell
    of a row is one id or a collection of ids; see ``kg.triples.rows``.
    """
    match path:
        case Step(predicate, inverse):
            p = terms.intern(predicate)
            if inverse:
                return lambda index, node: index.find_subjects(p, node)
            return lambda index, node: index.find_objects(node, p)
        case Sequence(parts):
            last = parts[-1]
            if isinstance(last, Step):
                beginning = join_paths(parts[:-1])
                assert beginning is not None
                return _make_final_step_walk(
                    compile_path(beginning, terms), terms.intern(last.predicate), last.inverse
                )
            return _make_sequence_walk([compile_path(part, terms) for part in parts])
        case Alternative(parts):
            steps = [part for part in parts if isinstance(part, Step)]
            if len(steps) == len(parts):
                return _make_step_alternative_walk(
                    [(terms.intern(s.predicate), s.inverse) for s in steps]
                )
            return _make_alternative_walk([compile_path(part, terms) for part in parts])
        case Repeat(inner, zero, many):
            if many and isinstance(inner, Step):
                return _make_repeated_step_walk(
                    terms.intern(inner.predicate), zero, inverse=inner.inverse
                )
            if many and isinstance(inner, Alternative):
                steps = [part for part in inner.parts if isinstance(part, Step)]
                if len(steps) == len(inner.parts):
                    return _make_repeated_alternative_walk(
                        [(terms.intern(s.predicate), s.inverse) for s in steps], zero
                    )
            walk = compile_path(inner, terms)
            if many:
                return _make_repeated_walk(walk, zero)
            return lambda index, node: dict.fromkeys((node, *walk(index, node)))


def _make_alternative_walk(walks: list[Walk]) -> Walk:
    def walk_alternatives(index: Index, node: int) -> Collection[int]:
        nodes: Collection[int] = ()
        for walk in walks:
            values = walk(index, node)
            # Usually only one alternative has values; then nothing needs to be merged.
            if values:
                nodes = dict.fromkeys((*nodes, *values)) if nodes else values
        return nodes

    return walk_alternatives


def _make_step_alternative_walk(steps: list[tuple[int, bool]]) -> Walk:
    """Returns the walk of an alternative whose parts are single predicates.

    It makes no call per predicate.
    """

    def walk_alternatives(index: Index, node: int) -> Collection[int]:
        objects, subjects = index.find_objects, index.find_subjects
        nodes: Collection[int] = ()
        for p, inverse in steps:
            values = subjects(p, node) if inverse else objects(node, p)
            if values:
                nodes = dict.fromkeys((*nodes, *values)) if nodes else values
        return nodes

    return walk_alternatives


def _make_sequence_walk(walks: list[Walk]) -> Walk:
    def walk_sequence(index: Index, node: int) -> Collection[int]:
        nodes: Collection[int] = (node,)
        for walk in walks:
            if len(nodes) == 1:
                nodes = walk(index, next(iter(nodes)))
            else:
                nodes = dict.fromkeys(value for start in nodes for value in walk(index, start))
        return nodes

    return walk_sequence


def _make_final_step_walk(walk: Walk, p: int, inverse: bool) -> Walk:
    """Returns the walk of a sequence whose last part is one predicate.

    The last step makes no call per node.

    Args:
        walk: the walk of the parts before the last.
        p: id of the last part's predicate.
        inverse: whether the predicate is walked backwards.
    """

    def walk_final_step(index: Index, node: int) -> Collection[int]:
        get_cell = (index.get_reverse_row(p) if inverse else index.get_row(p)).get
        cells = [cell for start in walk(index, node) if (cell := get_cell(start)) is not None]
        if len(cells) == 1:
            cell = cells[0]
            return (cell,) if isinstance(cell, int) else cell
        return dict.fromkeys(
            value for cell in cells for value in ((cell,) if isinstance(cell, int) else cell)
        )

    return walk_final_step


def _make_repeated_step_walk(p: int, zero: bool, *, inverse: bool) -> Walk:
    """Returns the walk of one repeated predicate; it makes no call per step."""

    def walk_repeatedly(index: Index, node: int) -> Collection[int]:
        get_cell = (index.get_reverse_row(p) if inverse else index.get_row(p)).get
        nodes: dict[int, None] = {node: None} if zero else {}
        queue = [node]
        for value in queue:
            cell = get_cell(value)
            if cell is None:
                continue
            for next_node in (cell,) if cell.__class__ is int else cell:  # type: ignore[union-attr]  # not int here
                if next_node not in nodes:
                    nodes[next_node] = None
                    # A cycle may lead back to the start, which has been expanded already.
                    if next_node != node:
                        queue.append(next_node)
        return nodes

    return walk_repeatedly


def _make_repeated_alternative_walk(steps: list[tuple[int, bool]], zero: bool) -> Walk:
    """Returns the walk of a repeated alternative of single predicates.

    It neither makes a call nor merges sets for each step.
    """

    def walk_repeatedly(index: Index, node: int) -> Collection[int]:
        rows = [index.get_reverse_row(p) if inverse else index.get_row(p) for p, inverse in steps]
        cell_getters = [row.get for row in rows if row]
        nodes: dict[int, None] = {node: None} if zero else {}
        queue = [node]
        for value in queue:
            for get_cell in cell_getters:
                cell = get_cell(value)
                if cell is None:
                    continue
                for next_node in (cell,) if cell.__class__ is int else cell:  # type: ignore[union-attr]  # not int here
                    if next_node not in nodes:
                        nodes[next_node] = None
                        # A cycle may lead back to the start, which has been expanded already.
                        if next_node != node:
                            queue.append(next_node)
        return nodes

    return walk_repeatedly


def _make_repeated_walk(walk: Walk, zero: bool) -> Walk:
    def walk_repeatedly(index: Index, node: int) -> Collection[int]:
        nodes: dict[int, None] = {node: None} if zero else {}
        queue = list(walk(index, node))
        for value in queue:
            if value not in nodes:
                nodes[value] = None
                queue.extend(walk(index, value))
        return nodes

    return walk_repeatedly


class PathStartFinder:
    """Finds the nodes from which a path can pass through a given triple.

    Args:
        path: the path.
        terms: the term table of the indexes it will be used with.
    """

    def __init__(self, path: Path, terms: TermTable) -> None:
        self._steps: list[tuple[int, bool, Walk | None]] = []
        for prefix, step in iter_steps(path):
            beginning = join_paths(prefix)
            walk_back = None if beginning is None else compile_path(reverse_path(beginning), terms)
            self._steps.append((terms.intern(step.predicate), step.inverse, walk_back))

    def find_starts(self, index: Index, s: int, p: int, o: int) -> Iterator[int]:
        """Yields the nodes from which the path can pass through the triple.

        The triple must be in ``index``.
        """
        for predicate, inverse, walk_back in self._steps:
            if predicate == p:
                near_end = o if inverse else s
                yield from (near_end,) if walk_back is None else walk_back(index, near_end)
