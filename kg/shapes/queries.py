"""``sh:sparql``: prefixes, what a query may not hold, and its algebra."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kg.base.errors import ShapesError
from kg.shapes.vocabulary import SH
from kg.terms import OWL, RDF, RDFS

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

MAX_QUERY = 20_000
"""Characters in a SPARQL constraint."""

_PATH = re.compile(r"([\s{}()])[$?]PATH\b")
_FORBIDDEN = {
    "ServiceGraphPattern": "SERVICE",
    "Minus": "MINUS",
    "values": "VALUES",
    "Graph": "GRAPH",
}


def declared_prefixes(graph: Graph, node: Node, where: str) -> dict[str, str]:
    """Prefixes in force for a constraint: those that its ``sh:prefixes`` declare.

    As in pySHACL, ``rdf``, ``rdfs`` and ``owl`` are always there, and an ontology named without
    declarations of its own stands for those of every ontology in the graph.

    Raises:
        ShapesError: a declaration is incomplete, or two declare one prefix differently.
    """
    from rdflib import URIRef

    named = sorted(graph.objects(node, URIRef(SH + "prefixes")), key=str)
    prefixes = {"rdf": RDF, "rdfs": RDFS, "owl": OWL}
    if not named:
        return prefixes
    declare = URIRef(SH + "declare")
    ontologies = set(graph.subjects(URIRef(RDF + "type"), URIRef(OWL + "Ontology")))
    declarations: set[Node] = set()
    for ontology in named:
        own = set(graph.objects(ontology, declare))
        declarations |= own
        if not (own and ontology in ontologies):
            for other in ontologies:
                declarations |= set(graph.objects(other, declare))
    found: dict[str, str] = {}
    for declaration in sorted(declarations, key=str):
        names = list(graph.objects(declaration, URIRef(SH + "prefix")))
        spaces = list(graph.objects(declaration, URIRef(SH + "namespace")))
        if len(names) != 1 or len(spaces) != 1:
            raise ShapesError("sh:declare needs one sh:prefix and one sh:namespace", where=where)
        if found.setdefault(str(names[0]), str(spaces[0])) != str(spaces[0]):
            raise ShapesError(f"prefix {names[0]}: is declared twice, differently", where=where)
    return prefixes | found


def check_query(select: str, prefixes: dict[str, str], path: str | None, where: str) -> str:
    """Checks a constraint's query; returns it with prefixes and ``$PATH`` filled in.

    Raises:
        ShapesError: not a SELECT query, not parseable, without ``$this``, or with parts SHACL
            forbids (SERVICE above all: nothing is ever fetched).
    """
    if len(select) > MAX_QUERY:
        raise ShapesError(f"a SPARQL constraint longer than {MAX_QUERY} characters", where=where)
    if path is not None:
        select = _PATH.sub(lambda match: match.group(1) + path, select)
    elif _PATH.search(select):
        raise ShapesError("$PATH in a SPARQL constraint of a shape without sh:path", where=where)
    if re.search(r"[$?]shapesGraph\b", select):
        raise ShapesError("$shapesGraph in a SPARQL constraint is not evaluated", where=where)
    text = "".join(f"PREFIX {name}: <{space}>\n" for name, space in prefixes.items()) + select
    algebra = parse_query(text, where)
    if algebra.name != "SelectQuery":
        raise ShapesError("a SPARQL constraint must be a SELECT query", where=where)
    for name in names_in(algebra):
        if name in _FORBIDDEN:
            raise ShapesError(f"{_FORBIDDEN[name]} in a SPARQL constraint is refused", where=where)
    if not re.search(r"[\s{}()][$?]this\b", select):
        raise ShapesError("a SPARQL constraint without $this", where=where)
    return text


def parse_query(text: str, where: str = "") -> Any:
    """The SPARQL algebra of a query, as rdflib builds it.

    Raises:
        ShapesError: it does not parse.
    """
    from rdflib.plugins.sparql import prepareQuery

    try:
        return prepareQuery(text).algebra
    except Exception as error:  # rdflib raises pyparsing's, its own and bare ones
        raise ShapesError(
            f"a SPARQL constraint does not parse: {error!s:.200}", where=where
        ) from None


def names_in(algebra: Any) -> set[str]:
    """Names of all algebra nodes in a query, nested expressions included."""
    from rdflib.plugins.sparql.parserutils import CompValue

    names: set[str] = set()
    queue: list[Any] = [algebra]
    while queue:
        part = queue.pop()
        if isinstance(part, CompValue):
            names.add(part.name)
            queue.extend(part.values())
        elif isinstance(part, (list, tuple)):
            queue.extend(part)
    return names
