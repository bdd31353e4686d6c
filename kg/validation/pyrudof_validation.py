"""Validates the whole graph with pyrudof, for the constraint components on which it is reliable.

pyrudof reads the graph once and then takes single claims in and out. Other shapes are left to
pySHACL: pyrudof 0.3 reports the results of nested shapes as results of their own (``sh:node``,
``and``, ``or``, ``xone``), ignores literals as focus nodes, stops at some paths and at
``sh:languageIn "*"``, and does not bind the variables of ``sh:sparql`` as SHACL says.
"""

from __future__ import annotations

import importlib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, cast

from kg.base.errors import MissingExtraError, ShapesEngineError
from kg.shapes import Shapes
from kg.shapes.model import RawResult, Shape
from kg.shapes.paths import Step
from kg.shapes.vocabulary import SH
from kg.terms import from_rdflib, is_blank, is_literal, parse_literal, to_ntriples, to_rdflib

if TYPE_CHECKING:
    from rdflib.term import Identifier, Node

    from kg.triples.index import Index, Triple

_VALUE_TESTS = frozenset(
    {
        *("Class", "Datatype", "HasValue", "In", "MaxExclusive", "MaxInclusive", "MaxLength"),
        *("MinExclusive", "MinInclusive", "MinLength", "NodeKind", "Pattern"),
    }
)
_NESTED_TESTS = frozenset({"Not", "QualifiedMaxCount", "QualifiedMinCount"})
_PAIR_TESTS = frozenset({"Disjoint", "Equals"})
_ON_NODES = _VALUE_TESTS | {"Closed", "Not", "Property"}
_ON_PROPERTIES = _VALUE_TESTS | _NESTED_TESTS | _PAIR_TESTS | {"MaxCount", "MinCount"}
# Blank nodes get new names in pyrudof's report, so they go in as IRIs; these components see that.
_SENSITIVE_TO_BLANKS = frozenset({"MaxLength", "MinLength", "NodeKind", "Pattern"})
_BLANK = "urn:epoche:blank-node:"


def is_supported(shapes: Shapes, node: str, *, has_blanks: bool) -> bool:
    """Returns whether pyrudof evaluates a targeted shape as pySHACL does.

    It does where a shape tests its focus nodes, and the values of single predicates, by components
    that need no other shapes than tests of one value.
    """
    excluded = _SENSITIVE_TO_BLANKS if has_blanks else frozenset()

    def accepts(name: str, allowed: frozenset[str]) -> bool:
        shape = shapes.shapes[name]
        allowed -= excluded
        if shape.path is not None and not _is_single_step(shape):
            return False
        return all(
            parameter.component in allowed
            and not any(
                is_literal(term) and parse_literal(term).language for term in parameter.terms
            )
            and all(
                accepts(
                    nested, _ON_PROPERTIES if parameter.component == "Property" else _VALUE_TESTS
                )
                for nested in parameter.shapes
            )
            for parameter in shape.parameters
        )

    # Counts of the values of a literal are not checked by pyrudof.
    shape = shapes.shapes[node]
    if shape.targets.objects_of or any(map(is_literal, shape.targets.nodes)):
        return False
    return accepts(node, _ON_NODES if shape.path is None else _ON_PROPERTIES)


def _is_single_step(shape: Shape) -> bool:
    # As it is written: pyrudof stops at the inverse of an inverse.
    path = shape.path
    return isinstance(path, Step) and shape.path_text in {path.predicate, f"^<{path.predicate}>"}


class PyrudofSession:
    """A graph and shapes that pyrudof has loaded.

    Raises:
        MissingExtraError: pyrudof is not installed.
        ShapesEngineError: pyrudof cannot read the graph or the shapes.
    """

    def __init__(self, index: Index, shapes: Shapes) -> None:
        self._library = _import_pyrudof()
        self._shapes = shapes
        self._get_text = index.terms.get_text
        self._session: Any = self._library.Rudof(self._library.RudofConfig())
        self._call("read_data", self._write_lines(index), self._library.RDFFormat.NTriples)
        self._call("read_shacl", self._write_shapes(), self._library.ShaclFormat.NTriples)

    def validate(self, triple: Triple | None = None) -> Counter[RawResult]:
        """Returns all violations of the graph, with ``triple`` added if one is given."""
        if triple is None:
            return self._validate()
        terms = [_write_term(self._get_text(term)) for term in triple]
        self._call("add_triple", *terms)
        try:
            return self._validate()
        finally:
            self._call("remove_triple", *terms)

    def _validate(self) -> Counter[RawResult]:
        import pyoxigraph

        self._call("validate_shacl")
        text = self._call(
            "serialize_shacl_validation_results",
            self._library.ResultShaclValidationFormat.NTriples,
        )
        # By pyoxigraph, because rdflib would normalise literals.
        nodes: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for quad in pyoxigraph.parse(str(text), format=pyoxigraph.RdfFormat.N_TRIPLES):
            value = quad.object
            is_iri = isinstance(value, pyoxigraph.NamedNode)
            nodes[str(quad.subject)][quad.predicate.value] = value.value if is_iri else str(value)
        return Counter(
            self._read_result({name.removeprefix(SH): text for name, text in node.items()})
            for node in nodes.values()
            if node.get(SH + "resultSeverity") == SH + "Violation"
        )

    def _read_result(self, node: dict[str, str]) -> RawResult:
        shape, path = _restore_blank(node["sourceShape"]), node.get("resultPath", "")
        return RawResult(
            shape=shape,
            component=node["sourceConstraintComponent"].removeprefix(SH),
            focus=_restore_blank(node["focusNode"]),
            path=self._shapes.shapes[shape].path_text if path.startswith("_:") else path,
            value=_restore_blank(node.get("value", "")),
        )

    def _write_lines(self, index: Index) -> str:
        # pyrudof refuses an empty text.
        return "# graph\n" + "".join(
            " ".join(_write_term(self._get_text(term)) for term in triple) + " .\n"
            for triple in index.iter_triples()
        )

    def _write_shapes(self) -> str:
        from rdflib import Graph

        # What other shapes need may stop pyrudof, so it reads only what the targeted ones refer to.
        source = self._shapes.to_rdflib()
        graph = Graph(bind_namespaces="none")
        open_nodes: list[Node] = [to_rdflib(node) for node in self._shapes.targeted_nodes]
        while open_nodes:
            node = open_nodes.pop()
            if (node, None, None) not in graph:
                for triple in source.triples((node, None, None)):
                    graph.add(triple)
                    open_nodes.append(triple[2])
        # Only shapes get IRIs for their blank nodes: those of paths and lists must stay blank.
        named = self._shapes.shapes
        return "# shapes\n" + "".join(
            " ".join(_write_term(t) if t in named else to_ntriples(t) for t in terms) + " .\n"
            for terms in (
                [from_rdflib(cast("Identifier", term)) for term in triple] for triple in graph
            )
        )

    def _call(self, method: str, *arguments: object) -> Any:
        try:
            return getattr(self._session, method)(*arguments)
        except Exception as error:  # pyrudof has an error class for every step
            raise ShapesEngineError(
                f"pyrudof could not validate: {type(error).__name__}: {error!s:.200}",
                hint="Use --engine incremental or --engine pyshacl.",
            ) from error


def _import_pyrudof() -> Any:
    try:
        return importlib.import_module("pyrudof")
    except ImportError as error:
        raise MissingExtraError(
            "pyrudof is not installed",
            where="--engine pyrudof",
            hint="Install it with `pip install 'epoche[rudof]'`.",
        ) from error


def _write_term(text: str) -> str:
    return f"<{_BLANK}{text[2:]}>" if is_blank(text) else to_ntriples(text)


def _restore_blank(text: str) -> str:
    return f"_:{text[len(_BLANK) :]}" if text.startswith(_BLANK) else text
