"""The licence oracle: decides whether a graph entails a claim, contradicts it, or neither.

* **E** (entailed): the claim is in the closure of the graph: asserted, or derived with a proof.
* **C** (contradictory): not E, and the graph denies it (``owl:NegativePropertyAssertion``), or
  adding it causes a ``sh:Violation`` that the graph alone does not have and that does not rest on
  absent triples.
* **U** (unknown): neither.

The closure is computed once, and nothing is ever inferred *from* the claim: inference can hide a
contradiction (``rdfs:range`` would give the wrong object the right type).
``docs/explanation/labels.md`` describes guarantees, limits and performance.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Literal

from kg.base.errors import ShapesEngineError
from kg.claims import Claim, Proof, Regime, Verdict, Violation
from kg.entailment import Closure, compile_axioms
from kg.graph import Graph
from kg.reasoning.axioms import CompiledAxioms
from kg.shapes import Shapes
from kg.shapes.evaluation import NO_VALUE, Result
from kg.shapes.model import RawResult
from kg.shapes.program import Program
from kg.shapes.sparql import SparqlConstraint
from kg.shapes.violations import make_violation
from kg.terms import is_blank, is_literal, parse_literal, to_rdflib, write_literal
from kg.triples.index import Index, Triple
from kg.validation.absence import ThreeValuedEvaluator
from kg.validation.denials import Denials
from kg.validation.engines import (
    DataGraph,
    Findings,
    IncrementalEngine,
    PyrudofEngine,
    PyshaclEngine,
)
from kg.validation.same_names import find_same_terms

Engine = Literal["incremental", "pyshacl", "pyrudof"]

NOTHING_VIOLATED = "not entailed, and adding it violates nothing"
_CLOSED = "ClosedConstraintComponent"


class Oracle:
    """Gives verdicts on claims over one graph and its shapes.

    Args:
        graph: the asserted triples, or their closure if it has been computed already.
        shapes: the constraints, or None.
        regime: the entailment regime; ignored for a closure, which has its own.
        unique_names: whether different names denote different things, so that exceeding a maximum
            count is a contradiction.
        engine: ``incremental`` (default), or one that validates the whole graph for every claim:
            ``pyshacl`` (the reference) or ``pyrudof`` (faster; needs the extra ``rudof``).
        audit_rate: share of shape checks that are repeated by pySHACL on the affected focus
            nodes; a disagreement raises ``ShapesEngineError``.
        audit_seed: seed that decides which claims are audited.
        parent: an oracle over the same terms whose lock, compiled shapes and compiled axioms this
            oracle shares (see ``make_local_oracle``).

    An oracle can be used from several threads; a lock ensures that only one claim is checked at a
    time. A claim is added to ``closure.index`` while it is checked: if you call ``license`` while
    iterating over the index, iterate over a copy.

    Attributes:
        closure: the closed graph.
    """

    def __init__(
        self,
        graph: Graph | Closure,
        shapes: Shapes | None,
        *,
        regime: Regime = "owl-rl",
        unique_names: bool = True,
        engine: Engine = "incremental",
        audit_rate: float = 0.0,
        audit_seed: int = 0,
        parent: Oracle | None = None,
    ) -> None:
        self.closure = graph if isinstance(graph, Closure) else Closure(graph, regime)
        self._index: Index = self.closure.index
        self._unique_names = unique_names
        self._engine: Engine = engine
        self._audit_rate = audit_rate
        self._random = random.Random(audit_seed)  # noqa: S311  # draws samples, keeps no secret
        self._denials: Denials | None = None
        # The claim that is in the index while its violations are judged.
        self._added_triple: Triple | None = None
        # Checking a claim changes the index and the term table, which local oracles share.
        self._lock: threading.RLock = threading.RLock() if parent is None else parent._lock
        self._programs: dict[tuple[int, tuple[str, ...]], tuple[Shapes, Program]]
        self._programs = {} if parent is None else parent._programs
        self._axioms: dict[tuple[Claim, ...], CompiledAxioms] = (
            {} if parent is None else parent._axioms
        )
        self._checker: IncrementalEngine | PyshaclEngine | PyrudofEngine | None = None
        self._program: Program | None = None
        if shapes is not None:
            # Answers about types may be cached only if the program is used with a single index.
            has_single_index = parent is None
            terms = self._index.terms
            program = (
                Program(shapes, terms) if has_single_index else self._get_shared_program(shapes)
            )
            self._program = program
            self._data = DataGraph(self._index)
            self._checker = (
                IncrementalEngine(self._index, program, self._data, memoise=has_single_index)
                if engine == "incremental"
                else (PyrudofEngine if engine == "pyrudof" else PyshaclEngine)(
                    self._index, program, self._data
                )
            )

    # Public methods

    @property
    def engine(self) -> Engine:
        """The engine that checks shapes."""
        return self._engine

    def license(self, claim: Claim) -> Verdict:
        """Returns the verdict on one claim, with its proof.

        Raises:
            ValueError: the claim is not a triple (a literal as subject, a predicate that is not an
                IRI, or a literal that is not in N-Triples form).
            ShapesEngineError: pySHACL was needed and failed, or the audit found a disagreement.
        """
        with self._lock:
            return self._license_locked(claim)

    def _license_locked(self, claim: Claim) -> Verdict:
        triple = self._to_triple(claim)
        index = self._index
        if index.has_triple(*triple):
            return Verdict(claim, "E", self._prove_entailment(claim, triple))
        if self._denials is None:
            self._denials = Denials(index, self.closure.regime)
        premises = self._denials.find_premises(*triple)
        if premises:
            return Verdict(claim, "C", Proof("denied", "index", premises=premises))
        if self._checker is None:
            return Verdict(claim, "U", Proof("unproved", "index", reason=NOTHING_VIOLATED))
        findings = self._checker.find_new_results(triple)
        if self._audit_rate and self._random.random() < self._audit_rate:
            self._audit_findings(claim, triple, findings)
        if not findings.new_results:
            proof = Proof(
                "unproved",
                findings.engine,
                checked=tuple(findings.checked_pairs),
                reason=NOTHING_VIOLATED,
            )
            return Verdict(claim, "U", proof)
        return self._judge_violations(claim, triple, findings)

    def license_many(self, claims: Iterable[Claim]) -> Iterator[Verdict]:
        """Yields the verdicts on claims, in order, each independent of the others."""
        return map(self.license, claims)

    def find_violations(self, *, certain_only: bool = False) -> tuple[Violation, ...]:
        """Returns the violations of the graph itself, which never contradict a claim.

        Names that ``owl:sameAs`` makes one thing count once for maximum counts.

        Args:
            certain_only: whether to leave out those that rest on something not being stated, so
                that the graph may be incomplete there, but is not wrong; and properties that a
                closed shape does not allow, but which only follow from others, such as an inverse.
        """
        if self._checker is None:
            return ()
        program = self._program
        assert program is not None
        with self._lock:
            results = [*map(program.from_raw_result, self._checker.collect_baseline().elements())]
            if certain_only:
                explain = self._make_evaluator(program).explain_no_contradiction
                results = [r for r in results if not explain(r[0], r[1], r[2], r[4])]
            violations = sorted(map(self._to_violation, results))
            return tuple(
                v for v in violations if not (certain_only and self._breaks_by_inference(v))
            )

    def _breaks_by_inference(self, violation: Violation) -> bool:
        claim = Claim(violation.focus_node, violation.path, violation.value)
        return violation.component == _CLOSED and self.closure.is_inferred(claim)

    def find_new_results(self, claim: Claim) -> tuple[RawResult, ...]:
        """Returns the results that a claim adds, including those that rest on absent triples.

        Used to compare engines.
        """
        with self._lock:
            triple = self._to_triple(claim)
            if self._checker is None or self._program is None or self._index.has_triple(*triple):
                return ()
            return tuple(
                sorted(
                    map(
                        self._program.to_raw_result,
                        self._checker.find_new_results(triple).new_results,
                    )
                )
            )

    def make_local_oracle(
        self, triples: Iterable[Claim], shapes: Shapes | None, axioms: Iterable[Claim] = ()
    ) -> Oracle:
        """Makes an oracle over the given triples and axioms only, such as those of one card.

        It shares this oracle's term table and its compiled shapes and axioms, so that making it is
        fast.

        Args:
            triples: the facts.
            shapes: the constraints, or None.
            axioms: schema triples (``owl:inverseOf`` …).
        """
        with self._lock:
            return self._build_local_oracle(triples, shapes, tuple(axioms))

    def _build_local_oracle(
        self, triples: Iterable[Claim], shapes: Shapes | None, schema: tuple[Claim, ...]
    ) -> Oracle:
        index = self._index.make_empty_index()
        intern = index.terms.intern
        for claim in triples:
            index.add_triple(
                intern(claim.subj), intern(claim.pred), intern(_canonicalise_object(claim.obj))
            )
        regime = self.closure.regime
        if regime == "none":
            for claim in schema:
                index.add_triple(
                    intern(claim.subj), intern(claim.pred), intern(_canonicalise_object(claim.obj))
                )
            closure = Closure(index, regime)
        else:
            compiled_axioms = self._axioms.get(schema)
            if compiled_axioms is None:
                compiled_axioms = self._axioms[schema] = compile_axioms(index, schema, regime)
            closure = Closure(index, regime, axioms=compiled_axioms)
        return Oracle(
            closure, shapes, unique_names=self._unique_names, engine=self._engine, parent=self
        )

    # Proofs

    def _prove_entailment(self, claim: Claim, triple: Triple) -> Proof:
        if self.closure.is_asserted(*triple):
            return Proof("asserted", "index", premises=(claim,))
        get_text = self._index.terms.get_text
        steps = self.closure.derive_claim(Claim(*map(get_text, triple))) or ()
        conclusions = {step.conclusion for step in steps}
        premises = dict.fromkeys(
            premise for step in steps for premise in step.premises if premise not in conclusions
        )
        return Proof("derived", "index", premises=tuple(premises), steps=steps)

    def _judge_violations(self, claim: Claim, triple: Triple, findings: Findings) -> Verdict:
        index, program = self._index, self._program
        assert program is not None
        evaluator = self._make_evaluator(program)
        index.add_triple(*triple)
        self._added_triple = triple
        try:
            explain = evaluator.explain_no_contradiction
            reasons = [
                explain(shape, component, focus, value)
                for shape, component, focus, _, value in findings.new_results
            ]
        finally:
            index.discard_triple(*triple)
            self._added_triple = None
        contradicting = [
            result
            for result, reason in zip(findings.new_results, reasons, strict=True)
            if not reason
        ]
        records = sorted(map(self._to_violation, contradicting or findings.new_results))
        if contradicting:
            proof = Proof("violation", findings.engine, violations=tuple(records))
            return Verdict(claim, "C", proof)
        proof = Proof(
            "unproved",
            findings.engine,
            violations=tuple(records),
            checked=tuple(findings.checked_pairs),
            reason="; ".join(sorted(set(reasons))),
        )
        return Verdict(claim, "U", proof)

    def _to_violation(self, result: Result) -> Violation:
        shape, component, focus, path, value = result
        texts, shape_model = self._index.terms.texts, shape.shape
        return make_violation(
            shape_model,
            component,
            texts[focus],
            shape_model.path_text if path is None else path,
            "" if value == NO_VALUE else texts[value],
        )

    # Details

    def _make_evaluator(self, program: Program) -> ThreeValuedEvaluator:
        # The evaluator is not stored as an attribute: its callbacks refer to this oracle, so each
        # of thousands of small oracles would be part of a reference cycle, which only the garbage
        # collector can free.
        return ThreeValuedEvaluator(
            self._index,
            program.compiler.rdflib_terms,
            partial(find_same_terms, self._index),
            unique_names=self._unique_names,
            query_conforms=self._query_conforms,
            without_claim=self._without_claim,
        )

    def _to_triple(self, claim: Claim) -> Triple:
        if is_literal(claim.subj) or is_literal(claim.pred) or is_blank(claim.pred):
            raise ValueError(f"not a triple: {claim}")
        intern = self._index.terms.intern
        return intern(claim.subj), intern(claim.pred), intern(_canonicalise_object(claim.obj))

    @contextlib.contextmanager
    def _without_claim(self) -> Iterator[None]:
        triple = self._added_triple
        if triple is not None:
            self._index.discard_triple(*triple)
        try:
            yield
        finally:
            if triple is not None:
                self._index.add_triple(*triple)

    def _query_conforms(self, constraint: SparqlConstraint, focus: int) -> bool:
        """Returns whether a focus node conforms to a SPARQL constraint that is not compiled.

        The query runs in rdflib on the graph with the claim, if there is one.
        """
        triple = self._added_triple
        this = to_rdflib(self._index.terms.get_text(focus))
        with (
            self._data.graph_with(triple)
            if triple is not None
            else contextlib.nullcontext(self._data.graph_without(None))
        ) as data:
            rows = data.query(constraint.query.text, initBindings={"this": this})
            return len(rows) == 0

    def _get_shared_program(self, shapes: Shapes) -> Program:
        # The key contains an id(). The cache also stores the shapes, so that they stay alive and
        # Python cannot reuse the id for another object.
        key = (id(shapes.shapes), shapes.targeted_nodes)
        cached = self._programs.get(key)
        if cached is None:
            cached = self._programs[key] = (shapes, Program(shapes, self._index.terms))
        return cached[1]

    def _audit_findings(self, claim: Claim, triple: Triple, findings: Findings) -> None:
        if not isinstance(self._checker, IncrementalEngine) or self._program is None:
            return
        to_raw_result = self._program.to_raw_result
        engine_results = sorted(map(to_raw_result, findings.new_results))
        pyshacl_results = sorted(map(to_raw_result, self._checker.recheck_with_pyshacl(triple)))
        if pyshacl_results != engine_results:
            raise ShapesEngineError(
                f"audit: the {findings.engine} engine and pySHACL disagree on {claim}: "
                f"{engine_results} versus {pyshacl_results}",
                hint="Use --engine pyshacl and report this: it is a bug.",
            )


def _canonicalise_object(text: str) -> str:
    """Returns an object in canonical term text: no ``xsd:string``, lower-case language tags."""
    # Only a literal with a datatype or language tag starts but does not end with a quotation mark.
    if text[:1] != '"' or text[-1:] == '"':
        return text
    lexical, datatype, language = parse_literal(text)
    return write_literal(lexical, datatype, language)
