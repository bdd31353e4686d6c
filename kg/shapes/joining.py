"""Triple patterns of a query joined over the index, and where a path in them may start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kg.index import Index
from kg.shapes.lexicon import Lexicon
from kg.shapes.paths import (
    Alternative,
    Passage,
    Path,
    Repeat,
    Sequence,
    Step,
    Walk,
    compile_path,
    reverse,
)
from kg.terms import from_rdflib

THIS = "this"

Binding = dict[str, int]
Term = str | int
"""A variable's name, or a constant's id."""


@dataclass(frozen=True)
class Pattern:
    """One triple pattern."""

    subject: Term
    predicate: int | None
    """The predicate's id; None where a path stands instead."""
    path: Path | None
    object: Term
    walk: Walk | None = None
    walk_back: Walk | None = None
    passage: Passage | None = None

    def variables(self) -> list[str]:
        """Names of the variables in it."""
        return [term for term in (self.subject, self.object) if isinstance(term, str)]


class NotCompiledError(Exception):
    """The query is outside what is compiled."""


def starts(pattern: Pattern, index: Index, s: int, p: int, o: int) -> Iterator[Binding]:
    """Bindings from which the pattern can be matched by way of the triple ``s p o``."""
    if pattern.path is None:
        if pattern.predicate == p:
            binding = _bind({}, pattern.subject, s)
            binding = None if binding is None else _bind(binding, pattern.object, o)
            if binding is not None:
                yield binding
        return
    # A path may run through the triple anywhere: every node before it is a possible start.
    assert pattern.passage is not None
    for node in pattern.passage.starts(index, s, p, o):
        binding = _bind({}, pattern.subject, node)
        if binding is not None:
            yield binding


def _bind(binding: Binding, term: Term, value: int) -> Binding | None:
    if isinstance(term, int):
        return binding if term == value else None
    known = binding.get(term)
    if known is None:
        return {**binding, term: value}
    return binding if known == value else None


def ordered(patterns: tuple[Pattern, ...], bound: set[str]) -> list[Pattern]:
    """Patterns in an order that starts from what is bound and stays connected."""
    rest, plan = list(patterns), []
    bound = set(bound)

    def unbound(pattern: Pattern) -> tuple[int, int]:
        free = sum(name not in bound for name in set(pattern.variables()))
        return (free, 0 if pattern.path is None else 1)

    while rest:
        best = min(rest, key=unbound)
        rest.remove(best)
        plan.append(best)
        bound.update(best.variables())
    return plan


def check_connected(patterns: tuple[Pattern, ...]) -> None:
    """Refuses queries that would have to walk a path with neither end known.

    Raises:
        NotCompiledError: ``$this`` is not in the patterns, or a path hangs free of the rest.
    """
    names = {name for pattern in patterns for name in pattern.variables()}
    if THIS not in names:
        raise NotCompiledError
    starts: list[set[str]] = [{THIS}]
    for pattern in patterns:
        ends = pattern.variables()
        starts.append(set(ends) if pattern.path is None else set(ends[:1]))
    for start in starts:
        bound = set(start)
        for pattern in ordered(patterns, bound):
            ends = pattern.variables()
            if pattern.path is not None and len(ends) == 2 and not bound.intersection(ends):
                raise NotCompiledError
            bound.update(ends)


def join(index: Index, plan: list[Pattern], at: int, binding: Binding) -> Iterator[Binding]:
    """Solutions of ``plan[at:]`` that extend ``binding``."""
    if at == len(plan):
        yield binding
        return
    pattern = plan[at]
    for more in _matches(index, pattern, binding):
        yield from join(index, plan, at + 1, more)


def _matches(index: Index, pattern: Pattern, binding: Binding) -> Iterator[Binding]:
    subject, object_ = pattern.subject, pattern.object
    s = subject if isinstance(subject, int) else binding.get(subject)
    o = object_ if isinstance(object_, int) else binding.get(object_)
    if s is not None:
        if pattern.walk is None:
            objects = index.objects(s, pattern.predicate)  # type: ignore[arg-type]  # no path here
        else:
            objects = pattern.walk(index, s)
        if o is not None:
            if o in objects:
                yield binding
            return
        for value in objects:
            yield {**binding, object_: value}  # type: ignore[dict-item]  # unbound, so a name
        return
    if o is not None:
        if pattern.walk_back is None:
            subjects = index.subjects(pattern.predicate, o)  # type: ignore[arg-type]  # as above
        else:
            subjects = pattern.walk_back(index, o)
        for value in subjects:
            yield {**binding, subject: value}  # type: ignore[dict-item]  # unbound, so a name
        return
    if pattern.walk is not None:
        raise NotCompiledError
    for s, o in index.pairs(pattern.predicate):  # type: ignore[arg-type]  # as above
        both = _bind({**binding, subject: s}, object_, o)  # type: ignore[dict-item]  # as above
        if both is not None:
            yield both


# Compilation


def make_pattern(triple: tuple[Any, Any, Any], lexicon: Lexicon) -> Pattern:
    """One triple pattern of rdflib's algebra.

    Raises:
        NotCompiledError: its predicate is a variable or a negated property set.
    """
    from rdflib import URIRef
    from rdflib.paths import Path as SparqlPath

    s, p, o = triple
    subject, object_ = _term(s, lexicon), _term(o, lexicon)
    if isinstance(p, URIRef):
        return Pattern(subject, lexicon.terms.intern(str(p)), None, object_)
    if isinstance(p, SparqlPath):
        path = make_path(p)
        walk = compile_path(path, lexicon.terms)
        back = compile_path(reverse(path), lexicon.terms)
        passage = Passage(path, lexicon.terms)
        return Pattern(subject, None, path, object_, walk, back, passage)
    raise NotCompiledError  # a variable


def _term(term: Any, lexicon: Lexicon) -> Term:
    from rdflib import BNode, Variable

    if isinstance(term, Variable):
        return str(term)
    if isinstance(term, BNode):
        return f"_:{term}"  # a blank node in a query is a variable that is never shown
    return lexicon.terms.intern(from_rdflib(term))


def make_path(path: Any, inverse: bool = False) -> Path:
    """An rdflib path as ours, with inverses pushed down as SPARQL means them."""
    from rdflib import URIRef
    from rdflib.paths import AlternativePath, InvPath, MulPath, SequencePath

    if isinstance(path, URIRef):
        return Step(str(path), inverse)
    if isinstance(path, InvPath):
        return make_path(path.arg, not inverse)
    if isinstance(path, SequencePath):
        parts = reversed(path.args) if inverse else path.args
        return Sequence(tuple(make_path(part, inverse) for part in parts))
    if isinstance(path, AlternativePath):
        return Alternative(tuple(make_path(part, inverse) for part in path.args))
    if isinstance(path, MulPath):
        return Repeat(make_path(path.path, inverse), zero=path.zero, many=path.more)
    raise NotCompiledError  # negated property sets
