"""The licence oracle: is a claim entailed by the graph, contradictory to it, or unknown?

* **E** — the claim is in the closure of the graph: asserted, or derived with a proof.
* **C** — not E, and the graph denies it (``owl:NegativePropertyAssertion``), or adding it gives
  a ``sh:Violation`` that the graph alone has not and that does not rest on absence.
* **U** — neither.

The graph is closed once; nothing is ever inferred *from* the claim, for inference can hide a
contradiction (``rdfs:range`` would give the wrong object the right type). What is sound, fast and
what is not is described in ``docs/oracle.md``.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from kg.base.errors import ShapesEngineError
from kg.checking import DataGraph, Findings, Incremental, WholeGraph
from kg.claims import Claim, Proof, Regime, Verdict, Violation
from kg.denials import Denials
from kg.entailment import Closure, compile_axioms
from kg.graph import Graph
from kg.index import Index, Triple
from kg.reading import Reader
from kg.reasoning.axioms import Axioms
from kg.shapes import Shapes
from kg.shapes.evaluation import NO_VALUE, Result
from kg.shapes.model import Raw
from kg.shapes.program import Program
from kg.shapes.sparql import SparqlConstraint
from kg.shapes.wording import violation
from kg.terms import OWL, is_blank, is_literal, literal_text, parse_literal, to_rdflib

Engine = Literal["incremental", "pyshacl"]

NOT_STATED = "not entailed, and adding it violates nothing"


class Oracle:
    """Licenses claims over one graph and its shapes.

    Args:
        graph: the asserted triples, or their closure where it is made already.
        shapes: the constraints; None for none.
        regime: what counts as entailed; a closure brings its own.
        unique_names: whether different names are different things, so that one value too many
            is a contradiction.
        engine: ``incremental`` (default) or ``pyshacl`` (whole graph, the reference).
        audit_rate: share of shape checks that are done again by pySHACL on the affected focus
            nodes; a disagreement raises ``ShapesEngineError``.
        audit_seed: which claims are drawn.
        within: an oracle over the same terms whose lock and compiled shapes and axioms to share
            (see ``local``).

    Safe to use from several threads, one claim at a time. While a claim is checked it stands in
    ``closure.index``, so copy what you iterate over if you license in the loop.

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
        within: Oracle | None = None,
    ) -> None:
        self.closure = graph if isinstance(graph, Closure) else Closure(graph, regime)
        self._index: Index = self.closure.index
        self._unique_names = unique_names
        self._engine: Engine = engine
        self._audit_rate = audit_rate
        self._random = random.Random(audit_seed)  # noqa: S311  # draws samples, keeps no secret
        self._denials: Denials | None = None
        self._pending: Triple | None = None
        # A claim stands in the index while it is checked, and local oracles share the terms.
        self._lock: threading.RLock = threading.RLock() if within is None else within._lock
        self._programs: dict[tuple[int, tuple[str, ...]], tuple[Shapes, Program]]
        self._programs = {} if within is None else within._programs
        self._axioms: dict[tuple[Claim, ...], Axioms] = {} if within is None else within._axioms
        self._checker: Incremental | WholeGraph | None = None
        self._program: Program | None = None
        if shapes is not None:
            # Only a program used for one index alone may remember answers about types.
            alone = within is None
            terms = self._index.terms
            program = Program(shapes, terms) if alone else self._shared_program(shapes)
            self._program = program
            self._data = DataGraph(self._index)
            self._checker = (
                Incremental(self._index, program, self._data, memoise=alone)
                if engine == "incremental"
                else WholeGraph(self._index, program, self._data)
            )

    # Questions

    def license(self, claim: Claim) -> Verdict:
        """The verdict on one claim, with its proof.

        Raises:
            ValueError: the claim is no triple (a literal as subject, a predicate that is no IRI,
                or a literal that is not in N-Triples form).
            ShapesEngineError: pySHACL was needed and gave up, or the audit found a disagreement.
        """
        with self._lock:
            return self._license(claim)

    def _license(self, claim: Claim) -> Verdict:
        triple = self._triple(claim)
        index = self._index
        if index.has(*triple):
            return Verdict(claim, "E", self._entailed(claim, triple))
        if self._denials is None:
            self._denials = Denials(index, self.closure.regime)
        premises = self._denials.of(*triple)
        if premises:
            return Verdict(claim, "C", Proof("denied", "index", premises=premises))
        if self._checker is None:
            return Verdict(claim, "U", Proof("unproved", "index", reason=NOT_STATED))
        findings = self._checker.find(triple)
        if self._audit_rate and self._random.random() < self._audit_rate:
            self._audit(claim, triple, findings)
        if not findings.new:
            proof = Proof(
                "unproved", findings.engine, checked=tuple(findings.checked), reason=NOT_STATED
            )
            return Verdict(claim, "U", proof)
        return self._read(claim, triple, findings)

    def license_many(self, claims: Iterable[Claim]) -> Iterator[Verdict]:
        """The verdicts on claims, in order, each independent of the others."""
        return map(self.license, claims)

    def violations(self) -> tuple[Violation, ...]:
        """Violations the graph itself has, over the whole graph; they count against no claim."""
        if self._checker is None:
            return ()
        program = self._program
        assert program is not None
        with self._lock:
            results = map(program.result, self._checker.before().elements())
            return tuple(sorted(map(self._record, results)))

    def new_results(self, claim: Claim) -> tuple[Raw, ...]:
        """Results that adding the claim would give, unread; for comparing engines."""
        with self._lock:
            triple = self._triple(claim)
            if self._checker is None or self._program is None or self._index.has(*triple):
                return ()
            return tuple(sorted(map(self._program.raw, self._checker.find(triple).new)))

    def local(
        self, triples: Iterable[Claim], shapes: Shapes | None, axioms: Iterable[Claim] = ()
    ) -> Oracle:
        """An oracle over these triples and axioms alone, as a reader of a card has them.

        It shares the term table, and what was compiled for the same shapes and axioms before.

        Args:
            triples: the facts.
            shapes: the constraints in force, or None.
            axioms: schema triples (``owl:inverseOf`` …) that hold besides.
        """
        with self._lock:
            return self._local(triples, shapes, tuple(axioms))

    def _local(
        self, triples: Iterable[Claim], shapes: Shapes | None, schema: tuple[Claim, ...]
    ) -> Oracle:
        index = self._index.scratch()
        intern = index.terms.intern
        for claim in triples:
            index.add(intern(claim.subj), intern(claim.pred), intern(_canonical(claim.obj)))
        regime = self.closure.regime
        if regime == "none":
            for claim in schema:
                index.add(intern(claim.subj), intern(claim.pred), intern(_canonical(claim.obj)))
            closure = Closure(index, regime)
        else:
            compiled = self._axioms.get(schema)
            if compiled is None:
                compiled = self._axioms[schema] = compile_axioms(index, schema, regime)
            closure = Closure(index, regime, axioms=compiled)
        return Oracle(
            closure, shapes, unique_names=self._unique_names, engine=self._engine, within=self
        )

    # Proofs

    def _entailed(self, claim: Claim, triple: Triple) -> Proof:
        if self.closure.asserted(*triple):
            return Proof("asserted", "index", premises=(claim,))
        text = self._index.terms.text
        steps = self.closure.derive(Claim(*map(text, triple))) or ()
        concluded = {step.conclusion for step in steps}
        premises = dict.fromkeys(
            premise for step in steps for premise in step.premises if premise not in concluded
        )
        return Proof("derived", "index", premises=tuple(premises), steps=steps)

    def _read(self, claim: Claim, triple: Triple, findings: Findings) -> Verdict:
        index, program = self._index, self._program
        assert program is not None
        # Made anew each time: kept, it would tie small oracles by the thousand into cycles.
        reader = Reader(
            index,
            program.compiler.lexicon,
            self._names_of,
            unique_names=self._unique_names,
            query_conforms=self._query_conforms,
            without_claim=self._without_claim,
        )
        index.add(*triple)
        self._pending = triple
        try:
            why = reader.reason_to_spare
            reasons = [why(shape, name, focus, o) for shape, name, focus, _, o in findings.new]
        finally:
            index.discard(*triple)
        held = [raw for raw, reason in zip(findings.new, reasons, strict=True) if not reason]
        records = sorted(map(self._record, held or findings.new))
        if held:
            proof = Proof("violation", findings.engine, violations=tuple(records))
            return Verdict(claim, "C", proof)
        proof = Proof(
            "unproved",
            findings.engine,
            violations=tuple(records),
            checked=tuple(findings.checked),
            reason="; ".join(sorted(set(reasons))),
        )
        return Verdict(claim, "U", proof)

    def _record(self, result: Result) -> Violation:
        shape, component, focus, path, value = result
        texts, own = self._index.terms.texts, shape.shape
        return violation(
            own,
            component,
            texts[focus],
            own.path_text if path is None else path,
            "" if value == NO_VALUE else texts[value],
        )

    # Details

    def _triple(self, claim: Claim) -> Triple:
        if is_literal(claim.subj) or is_literal(claim.pred) or is_blank(claim.pred):
            raise ValueError(f"not a triple: {claim}")
        intern = self._index.terms.intern
        return intern(claim.subj), intern(claim.pred), intern(_canonical(claim.obj))

    def _names_of(self, term: int) -> Collection[int]:
        """Everything that ``owl:sameAs`` holds to be one with ``term``, whatever the regime."""
        index = self._index
        same = index.terms.get(OWL + "sameAs")
        if same is None or not index.subjects_of(same):
            return (term,)
        found = {term: None}
        queue = [term]
        for item in queue:
            for other in (*index.objects(item, same), *index.subjects(same, item)):
                if other not in found:
                    found[other] = None
                    queue.append(other)
        return found

    @contextlib.contextmanager
    def _without_claim(self) -> Iterator[None]:
        triple = self._pending
        assert triple is not None
        self._index.discard(*triple)
        try:
            yield
        finally:
            self._index.add(*triple)

    def _query_conforms(self, constraint: SparqlConstraint, focus: int) -> bool:
        """Asks rdflib about a nested SPARQL constraint that is not compiled."""
        triple = self._pending
        assert triple is not None
        this = to_rdflib(self._index.terms.text(focus))
        with self._data.having(triple) as data:
            rows = data.query(constraint.query.text, initBindings={"this": this})
            return len(rows) == 0

    def _shared_program(self, shapes: Shapes) -> Program:
        # The shapes are kept alive beside the program, so that their id() stays theirs.
        key = (id(shapes.shapes), shapes.targeted)
        known = self._programs.get(key)
        if known is None:
            known = self._programs[key] = (shapes, Program(shapes, self._index.terms))
        return known[1]

    def _audit(self, claim: Claim, triple: Triple, findings: Findings) -> None:
        if not isinstance(self._checker, Incremental) or self._program is None:
            return
        raw = self._program.raw
        found = sorted(map(raw, findings.new))
        again = sorted(map(raw, self._checker.recheck(triple)))
        if again != found:
            raise ShapesEngineError(
                f"audit: the {findings.engine} engine and pySHACL disagree on {claim}: "
                f"{found} against {again}",
                hint="Use --engine pyshacl and report this: it is a bug.",
            )


def _canonical(text: str) -> str:
    """An object as the term table writes it: no ``xsd:string``, language tags in lower case."""
    if text[:1] != '"' or text[-1:] == '"':
        return text
    lexical, datatype, language = parse_literal(text)
    return literal_text(lexical, datatype, language)
