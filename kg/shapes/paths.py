"""Property paths: parsing, SPARQL text, evaluation over the index, reversal, what they touch.

Evaluation follows pySHACL, the reference, where it differs from the recommendation: an inverse
is pushed down to the single steps *without* reversing sequences, so ``^(a/b)`` is walked as
``^a/^b`` (the recommendation walks ``^b/^a``). See ``docs/oracle.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kg.base.errors import ShapesError
from kg.index import Index
from kg.shapes.vocabulary import SH
from kg.term_table import TermTable
from kg.terms import RDF

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

MAX_PATH_DEPTH = 9
"""pySHACL gives up on paths nested (or sequences longer) than ten."""


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
    """A path walked ``*`` (``zero``, ``many``), ``+`` (``many``) or ``?`` (``zero``)."""

    path: Path
    zero: bool
    many: bool


Path: TypeAlias = Step | Sequence | Alternative | Repeat
Walk: TypeAlias = Callable[[Index, int], Collection[int]]
"""(index, node) → the nodes the path leads to, each once, in a deterministic order."""

_REPEATS = {"zeroOrMorePath": (True, True), "oneOrMorePath": (False, True)} | {
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
        raise ShapesError(f"sh:path has the literal {node!s:.80}", where=where)
    if depth > MAX_PATH_DEPTH:
        raise ShapesError(f"a path nested deeper than {MAX_PATH_DEPTH}", where=where)
    if graph.value(node, URIRef(RDF + "first")) is not None:
        members = read_list(graph, node, where)
        if len(members) + depth > MAX_PATH_DEPTH:
            raise ShapesError(f"a sequence path longer than {MAX_PATH_DEPTH}", where=where)
        return Sequence(_parts(graph, members, where, inverse, depth, "sequence"))
    found = _path_parts(graph, node)
    if len(found) != 1:
        raise ShapesError("sh:path leads to a node that is no SHACL path", where=where)
    kind, value = found[0]
    if kind == "inversePath":
        return parse_path(graph, value, where, not inverse, depth + 1)
    if kind == "alternativePath":
        members = read_list(graph, value, where)
        return Alternative(_parts(graph, members, where, inverse, depth, "alternative"))
    if kind in _REPEATS:
        zero, many = _REPEATS[kind]
        return Repeat(parse_path(graph, value, where, inverse, depth + 1), zero, many)
    raise ShapesError(f"sh:{kind} is no path", where=where)


def _parts(
    graph: Graph, members: list[Node], where: str, inverse: bool, depth: int, kind: str
) -> tuple[Path, ...]:
    if len(members) < 2:
        raise ShapesError(f"a path {kind} needs at least two members", where=where)
    return tuple(parse_path(graph, member, where, inverse, depth + 1) for member in members)


def _path_parts(graph: Graph, node: Node) -> list[tuple[str, Node]]:
    edges = ((str(p), o) for p, o in graph.predicate_objects(node))
    return [(p[len(SH) :], o) for p, o in edges if p.startswith(SH)]


def read_list(graph: Graph, node: Node, where: str) -> list[Node]:
    """Members of an RDF list.

    Raises:
        ShapesError: it is broken, branches, or runs in a circle.
    """
    from rdflib import URIRef

    first, rest, nil = (URIRef(RDF + name) for name in ("first", "rest", "nil"))
    members: list[Node] = []
    seen: set[Node] = set()
    while node != nil:
        values, nexts = list(graph.objects(node, first)), list(graph.objects(node, rest))
        if len(values) != 1 or len(nexts) != 1 or node in seen:
            raise ShapesError("a broken RDF list", where=where, hint="Write it as ( … ) in Turtle.")
        seen.add(node)
        members.append(values[0])
        node = nexts[0]
    return members


def path_text(graph: Graph, node: Node) -> str:
    """A well-formed path node as a SPARQL property path; a lone predicate as its bare IRI."""
    from rdflib import URIRef

    return str(node) if isinstance(node, URIRef) else sparql_path(graph, node)


def sparql_path(graph: Graph, node: Node) -> str:
    """A well-formed path node as it would be written in a SPARQL query, IRIs in full."""
    from rdflib import URIRef

    if isinstance(node, URIRef):
        return f"<{node}>"
    if graph.value(node, URIRef(RDF + "first")) is not None:
        return "/".join(_group(sparql_path(graph, part)) for part in read_list(graph, node, ""))
    kind, value = _path_parts(graph, node)[0]
    if kind == "alternativePath":
        return "|".join(_group(sparql_path(graph, part)) for part in read_list(graph, value, ""))
    inner = _group(sparql_path(graph, value))
    if kind == "inversePath":
        return f"^{inner}"
    return inner + {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}[kind]


def _group(text: str) -> str:
    return text if text[0] == "<" and text.find(">") == len(text) - 1 else f"({text})"


def sparql_group(text: str) -> str:
    """A path as written in records, made ready to stand inside a longer SPARQL path."""
    bare = not any(mark in text for mark in "<>|^()")
    return f"<{text}>" if bare else _group(text)


def reverse(path: Path) -> Path:
    """The path walked from its end to its start."""
    match path:
        case Step(predicate, inverse):
            return Step(predicate, not inverse)
        case Sequence(parts):
            return Sequence(tuple(reverse(part) for part in reversed(parts)))
        case Alternative(parts):
            return Alternative(tuple(reverse(part) for part in parts))
        case Repeat(inner, zero, many):
            return Repeat(reverse(inner), zero, many)


def steps_with_prefix(
    path: Path, prefix: tuple[Path, ...] = ()
) -> Iterator[tuple[tuple[Path, ...], Step]]:
    """Every single step of ``path`` with the path that leads to where it is taken.

    This is what a path depends on: a new triple can change where the path leads from ``f`` only
    if its near end can be reached from ``f`` by one of these prefixes.
    """
    match path:
        case Step():
            yield prefix, path
        case Sequence(parts):
            for i, part in enumerate(parts):
                yield from steps_with_prefix(part, (*prefix, *parts[:i]))
        case Alternative(parts):
            for part in parts:
                yield from steps_with_prefix(part, prefix)
        case Repeat(inner, _, many):
            extra = (Repeat(inner, zero=True, many=True),) if many else ()
            yield from steps_with_prefix(inner, (*prefix, *extra))


def joined(parts: tuple[Path, ...]) -> Path | None:
    """Parts as one path; None for the empty path."""
    return None if not parts else parts[0] if len(parts) == 1 else Sequence(parts)


def compile_path(path: Path, terms: TermTable) -> Walk:
    """A function that walks ``path`` over any index that shares ``terms``."""
    match path:
        case Step(predicate, inverse):
            p = terms.intern(predicate)
            if inverse:
                return lambda index, node: index.subjects(p, node)
            return lambda index, node: index.objects(node, p)
        case Sequence(parts):
            last = parts[-1]
            if isinstance(last, Step):
                before = joined(parts[:-1])
                assert before is not None
                return _then_step(
                    compile_path(before, terms), terms.intern(last.predicate), last.inverse
                )
            return _walk_sequence([compile_path(part, terms) for part in parts])
        case Alternative(parts):
            steps = [part for part in parts if isinstance(part, Step)]
            if len(steps) == len(parts):
                return _step_any([(terms.intern(s.predicate), s.inverse) for s in steps])
            return _walk_any([compile_path(part, terms) for part in parts])
        case Repeat(inner, zero, many):
            if many and isinstance(inner, Step):
                return _follow(terms.intern(inner.predicate), zero, inverse=inner.inverse)
            if many and isinstance(inner, Alternative):
                steps = [part for part in inner.parts if isinstance(part, Step)]
                if len(steps) == len(inner.parts):
                    return _follow_any(
                        [(terms.intern(s.predicate), s.inverse) for s in steps], zero
                    )
            walk = compile_path(inner, terms)
            if many:
                return _walk_many(walk, zero)
            return lambda index, node: dict.fromkeys((node, *walk(index, node)))


def _walk_any(walks: list[Walk]) -> Walk:
    def walk_each(index: Index, node: int) -> Collection[int]:
        found: Collection[int] = ()
        for walk in walks:
            values = walk(index, node)
            # Mostly one way alone leads on, and then nothing need be merged.
            if values:
                found = dict.fromkeys((*found, *values)) if found else values
        return found

    return walk_each


def _step_any(steps: list[tuple[int, bool]]) -> Walk:
    """The commonest alternative, of single predicates, without a call in between for each."""

    def step_each(index: Index, node: int) -> Collection[int]:
        objects, subjects = index.objects, index.subjects
        found: Collection[int] = ()
        for p, inverse in steps:
            values = subjects(p, node) if inverse else objects(node, p)
            if values:
                found = dict.fromkeys((*found, *values)) if found else values
        return found

    return step_each


def _walk_sequence(walks: list[Walk]) -> Walk:
    def walk_all(index: Index, node: int) -> Collection[int]:
        nodes: Collection[int] = (node,)
        for walk in walks:
            if len(nodes) == 1:
                nodes = walk(index, next(iter(nodes)))
            else:
                nodes = dict.fromkeys(value for start in nodes for value in walk(index, start))
        return nodes

    return walk_all


def _then_step(walk: Walk, p: int, inverse: bool) -> Walk:
    """A path that ends in a single predicate, asked of all nodes before it without a call each."""

    def step_on(index: Index, node: int) -> Collection[int]:
        find = (index.reverse_row(p) if inverse else index.row(p)).get
        cells = [cell for start in walk(index, node) if (cell := find(start)) is not None]
        if len(cells) == 1:
            cell = cells[0]
            return (cell,) if isinstance(cell, int) else cell
        return dict.fromkeys(
            value for cell in cells for value in ((cell,) if isinstance(cell, int) else cell)
        )

    return step_on


def _follow(p: int, zero: bool, *, inverse: bool) -> Walk:
    """The commonest repeated path, one predicate, without a call per step."""

    def follow(index: Index, node: int) -> Collection[int]:
        find = (index.reverse_row(p) if inverse else index.row(p)).get
        found: dict[int, None] = {node: None} if zero else {}
        queue = [node]
        for value in queue:
            cell = find(value)
            if cell is None:
                continue
            for further in (cell,) if cell.__class__ is int else cell:  # type: ignore[union-attr]  # not int here
                if further not in found:
                    found[further] = None
                    # The start may be reached again, but was followed already.
                    if further != node:
                        queue.append(further)
        return found

    return follow


def _follow_any(steps: list[tuple[int, bool]], zero: bool) -> Walk:
    """A repeated alternative of single predicates, without a call or a merged set per step."""

    def follow(index: Index, node: int) -> Collection[int]:
        rows = [index.reverse_row(p) if inverse else index.row(p) for p, inverse in steps]
        finds = [row.get for row in rows if row]
        found: dict[int, None] = {node: None} if zero else {}
        queue = [node]
        for value in queue:
            for find in finds:
                cell = find(value)
                if cell is None:
                    continue
                for further in (cell,) if cell.__class__ is int else cell:  # type: ignore[union-attr]  # not int here
                    if further not in found:
                        found[further] = None
                        # The start may be reached again, but was followed already.
                        if further != node:
                            queue.append(further)
        return found

    return follow


def _walk_many(walk: Walk, zero: bool) -> Walk:
    def walk_on(index: Index, node: int) -> Collection[int]:
        found: dict[int, None] = {node: None} if zero else {}
        queue = list(walk(index, node))
        for value in queue:
            if value not in found:
                found[value] = None
                queue.extend(walk(index, value))
        return found

    return walk_on


class Passage:
    """Where a path must have started to pass through a given triple.

    Args:
        path: the path.
        terms: the term table of the indexes it will be asked on.
    """

    def __init__(self, path: Path, terms: TermTable) -> None:
        self._steps: list[tuple[int, bool, Walk | None]] = []
        for prefix, step in steps_with_prefix(path):
            before = joined(prefix)
            back = None if before is None else compile_path(reverse(before), terms)
            self._steps.append((terms.intern(step.predicate), step.inverse, back))

    def starts(self, index: Index, s: int, p: int, o: int) -> Iterator[int]:
        """Nodes from which the path can pass through the triple, which is in ``index``."""
        for predicate, inverse, back in self._steps:
            if predicate == p:
                near = o if inverse else s
                yield from (near,) if back is None else back(index, near)
