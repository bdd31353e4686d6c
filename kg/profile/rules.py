"""Decides which rules of the data can be true, and writes rules as SHACL."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec

from kg.base.plain_text import clean_text, format_count
from kg.profile.known_labels import find_known_label
from kg.profile.names import is_usable_iri
from kg.profile.plausibility import (
    find_bounds,
    is_birthplace,
    is_code_list,
    is_mutual,
    is_parent,
    is_part,
    is_repeatable,
    is_sex,
    is_single_by_definition,
    judge_single_value,
    may_be_mutual,
)
from kg.profile.predicates import PredicateProfile
from kg.terms import (
    TEXT_DATATYPES,
    XSD,
    iri_tail,
    is_literal,
    parse_literal,
    to_ntriples,
    write_literal,
)

MIN_SUBJECTS = 15
"""Minimum number of subjects that must confirm a rule; one exception, and it is none."""
MIN_CHAINED = 10
"""Minimum number of subjects whose value has a value, for a rule about chains."""

Origin = Literal["mined", "ontology", "confirmed"]
RuleKind = Literal["one value", "one way", ""]

ANSWER_TABLES: Mapping[str, Literal["one_value", "one_way"]] = {
    "one-value": "one_value",
    "no-cycle": "one_way",
    "no-reverse": "one_way",
}
"""Kinds of drafted rules that are judged for each predicate (``Judgement``) → where the user says
whether one is true, see ``Answers``."""
MAY_HAVE_SEVERAL = "a subject may have several values in the world; confirm.toml can say it has one"
NAME_PREFIX = "urn:epoche:"
"""Prefix of the names of drafted shapes; the origin follows, so that proofs show it."""

_NUMBERS = frozenset(
    XSD + name for name in ("integer", "decimal", "double", "float", "int", "long", "short")
)


class DraftRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the draft, as a SHACL shape."""

    origin: Origin
    kind: str
    """Short name, such as ``one-value``."""
    about: str
    """IRI of the predicate or class."""
    support: str
    body: str
    """Turtle: the targets and constraints of the shape."""
    is_doubtful: bool = False
    """Whether only the user can say that it is true."""


class Judgement(NamedTuple):
    """Whether a predicate has a rule by which claims can be false."""

    kind: RuleKind
    """The rule, or the one in doubt."""
    origin: Origin | None
    """None if it is no rule."""
    support: str
    reason: str = ""
    """Why it is no rule."""

    @property
    def is_doubtful(self) -> bool:
        """Whether the data confirm the rule, and only the user can say that it is true."""
        return self.origin is None and bool(self.kind)

    def withdraw(self) -> Judgement:
        """Returns the judgement without a rule that what follows from the axioms breaks."""
        if self.origin is None:
            return self
        return Judgement("", None, "", "what follows from the graph's axioms breaks its rule")

    def take_back(self) -> Judgement:
        """Returns the judgement without a rule that the user rejects: it is no longer in doubt."""
        if self.origin is None:
            return self
        reason = "confirm.toml says that its rule is false in the world"
        return self._replace(kind="", origin=None, reason=reason)


class GivenRule(NamedTuple):
    """A rule about a predicate that is not judged, because an ontology or the user states it."""

    kind: RuleKind
    support: str
    """Who states it."""
    covers_all: bool = False
    """Whether it is about all subjects of the predicate, so that no other rule is needed."""


class Answers(NamedTuple):
    """What the user said about rules: whether they are true in the world."""

    one_value: Mapping[str, bool]
    """Predicate → whether each subject has one value."""
    one_way: Mapping[str, bool]
    """Predicate → whether it never holds in both directions."""
    rules: Mapping[str, bool] = MappingProxyType({})
    """Name of a drafted shape of another kind → whether its rule is true."""

    def rejects(self, name: str, rule: DraftRule) -> bool:
        """Returns whether a drafted rule is false: the user says so, or not that it is true."""
        if table := ANSWER_TABLES.get(rule.kind):
            return getattr(self, table).get(rule.about) is False
        return not self.rules.get(name, not rule.is_doubtful)

    def rejects_judgement(self, iri: str, kind: RuleKind) -> bool:
        """Returns whether the user said that a rule of a predicate is false."""
        answers = {"one value": self.one_value, "one way": self.one_way}.get(kind, {})
        return answers.get(iri) is False


class Declarations(NamedTuple):
    """What the graph's ontology says of predicates, by IRI."""

    mutual: Collection[str] = ()
    """Symmetric ones."""
    transitive: Collection[str] = ()
    cube: Collection[str] = ()
    """Dimensions and measures of an RDF data cube: an observation has one value of each."""
    code_lists: Collection[frozenset[str]] = ()
    """The members of closed lists, each."""


def judge_predicate(
    profile: PredicateProfile, answers: Answers, declarations: Declarations
) -> Judgement:
    """Judges whether the data confirm a rule about a predicate, and whether it can be true.

    Names and texts have no rules. What an ontology or the user states needs no further support;
    what the user rejects is taken back later, with the ontology's rules (``Answers.rejects``).
    Values that are subjects again make a hierarchy or a sequence: several values need not
    contradict each other there, but its links go one way. Where a chain leads back to its start,
    it is none, even if no link is stated in reverse.
    """
    iri, n = profile.iri, profile.subjects
    names = (profile.label, profile.local_name)
    support = f"{n:,} of {format_count(n, 'subject')} {'have' if n != 1 else 'has'} one value"
    if profile.has_texts:
        return Judgement("", None, "", "its values are names or texts")
    if profile.is_single_valued and answers.one_value.get(iri):
        return Judgement("one value", "confirmed", support)
    if profile.is_single_valued and profile.single_value.by_axiom:
        return Judgement("one value", "ontology", support)
    if (
        profile.is_single_valued
        and n >= MIN_SUBJECTS
        and _is_single_by_nature(profile, declarations)
    ):
        return Judgement("one value", "mined", support)
    if profile.chained_subjects and (n >= MIN_SUBJECTS or answers.one_way.get(iri)):
        judgement = _judge_chain(profile, answers, declarations)
        has_levels = iri in declarations.transitive or any(map(is_part, names))
        is_symmetric = iri in declarations.mutual or is_mutual(*names)
        may_be_single = profile.is_single_valued and n >= MIN_SUBJECTS
        if judgement.kind or not may_be_single or has_levels or is_symmetric:
            return judgement
        return Judgement("one value", None, support, MAY_HAVE_SEVERAL)
    if n < MIN_SUBJECTS:
        return Judgement("", None, "", f"fewer than {MIN_SUBJECTS} subjects have a value")
    if not profile.is_single_valued:
        reason = "subjects have several values, so another value contradicts nothing"
        return Judgement("", None, "", reason)
    contains = profile.value_kind == "things" and any(map(is_part, names))
    if iri in declarations.transitive and not profile.chained_subjects:
        reason = "it makes no chains of links that a NO could ask about in reverse"
        return Judgement("", None, "", reason)
    if iri in declarations.transitive or contains:
        reason = "it says what contains or includes something, and that has several levels"
        return Judgement("", None, "", reason)
    verdicts = {
        judge_single_value(name, profile.value_kind, of_events=profile.describes_events)
        for name in names
    }
    is_single = False if False in verdicts else True if True in verdicts else None
    if is_single is None and profile.describes_records:
        is_single = True  # a payment has one payee, an address one country
    if is_single is None:
        recurs = not profile.describes_events and any(map(is_repeatable, names))
        is_single = profile.value_kind == "measures" and not recurs
    if is_single:
        return Judgement("one value", "mined", support)
    return Judgement("one value", None, support, MAY_HAVE_SEVERAL)


def _is_single_by_nature(profile: PredicateProfile, declarations: Declarations) -> bool:
    """Returns whether a vocabulary, or what everyone knows, gives each subject one value."""
    names = (profile.label, profile.local_name, find_known_label(profile.iri))
    return (
        is_single_by_definition(profile.iri)
        or profile.iri in declarations.cube
        or any(map(is_parent, names))
        or (profile.has_one_level and any(map(is_birthplace, names)))
        or (profile.describes_living and any(map(is_sex, names)))
    )


def _judge_chain(
    profile: PredicateProfile, answers: Answers, declarations: Declarations
) -> Judgement:
    m = profile.chained_subjects
    if profile.iri in declarations.mutual or not profile.is_asymmetric:
        return Judgement("", None, "", "two things can stand in this relation to each other")
    is_confirmed = answers.one_way.get(profile.iri)
    if m < MIN_CHAINED and not is_confirmed:
        reason = f"only {format_count(m, 'chain')} of two links confirm that it goes one way"
        return Judgement("", None, "", reason)
    support = _describe_chains(profile)
    may_go_back = may_be_mutual(
        profile.label, profile.local_name, of_documents=profile.describes_documents
    )
    if is_confirmed:
        return Judgement("one way", "confirmed", support)
    if profile.is_acyclic and not may_go_back:
        return Judgement("one way", "mined", support)
    reason = "it may hold in both directions in the world; confirm.toml can say it does not"
    return Judgement("one way", None, support, reason)


def _describe_chains(profile: PredicateProfile) -> str:
    what = "leads back to its start" if profile.is_acyclic else "is also stated in reverse"
    start = "chain" if profile.is_acyclic else "link"
    return (
        f"no {start} of {profile.facts:,} links {what} ({profile.chained_subjects:,} subjects "
        "start longer chains)"
    )


def iter_predicate_rules(
    profile: PredicateProfile, judgement: Judgement, code_lists: Collection[frozenset[str]] = ()
) -> Iterator[DraftRule]:
    """Yields the rules about one predicate: what it contradicts, and the form of its values.

    Args:
        profile: the predicate.
        judgement: whether it has a rule by which claims can be false.
        code_lists: the members of the closed lists that the graph declares.
    """
    iri = profile.iri
    if not profile.label:
        return
    path = to_ntriples(iri)
    target = f"sh:targetSubjectsOf {path}"
    origin = judgement.origin
    if origin is not None and judgement.kind == "one value":
        yield DraftRule(
            origin=origin,
            kind="one-value",
            about=iri,
            support=judgement.support,
            body=f"a sh:PropertyShape ; {target} ; sh:path {path} ; sh:maxCount 1",
        )
        is_chain = profile.is_acyclic and profile.chained_subjects >= MIN_CHAINED
        if is_chain and any(map(is_parent, (profile.label, profile.local_name))):
            yield _write_chain_rule(profile, "mined", _describe_chains(profile))
    elif origin is not None:
        yield _write_chain_rule(profile, origin, judgement.support)
    if profile.subjects >= MIN_SUBJECTS:
        support = f"all {format_count(profile.facts, 'value')}"
        body = f"a sh:PropertyShape ; {target} ; sh:path {path}"
        for kind, constraint in _iter_value_constraints(profile):
            yield DraftRule(
                origin="mined",
                kind=kind,
                about=iri,
                support=support,
                body=f"{body} ; {constraint}",
            )
        codes = profile.codes
        if codes and is_code_list(profile.label) and all(map(_is_writable, codes)):
            declared = next((one for one in code_lists if one.issuperset(codes)), None)
            names = ", ".join(map(_name_code, codes))
            yield DraftRule(
                origin="mined",
                kind="codes",
                about=iri,
                support=f"{support} are in a list that the graph declares"
                if declared
                else f"{support} are one of {names}",
                body=f"{body} ; sh:in ( {' '.join(map(to_ntriples, sorted(declared or codes)))} )",
                is_doubtful=declared is None,
            )


def _name_code(text: str) -> str:
    return parse_literal(text).lexical if is_literal(text) else iri_tail(text)


def _write_chain_rule(profile: PredicateProfile, origin: Origin, support: str) -> DraftRule:
    """Writes the rule that the links of a predicate go one way."""
    path = to_ntriples(profile.iri)
    step = f"[ sh:inversePath {path} ]"
    label = profile.label.replace("“", "").replace("”", "")
    if profile.is_acyclic:
        kind, step = "no-cycle", f"[ sh:oneOrMorePath {step} ]"
        message = f"No chain of “{label}” leads back to where it started."
    else:
        kind, message = "no-reverse", f"“{label}” never holds in both directions."
    return DraftRule(
        origin=origin,
        kind=kind,
        about=profile.iri,
        support=support,
        body=f"a sh:NodeShape ; sh:targetSubjectsOf {path} ; sh:property [ sh:path {step} ; "
        f"sh:disjoint {path} ; sh:message {write_literal(message)} ]",
    )


def _iter_value_constraints(profile: PredicateProfile) -> Iterator[tuple[str, str]]:
    """Yields constraints that all values meet and that can be true of values not in the graph."""
    if len(profile.datatypes) != 1 or not profile.has_literals:
        return
    datatype = profile.datatypes[0]
    if datatype not in TEXT_DATATYPES and is_usable_iri(datatype):
        yield "datatype", f"sh:datatype {to_ntriples(datatype)}"
    if datatype in _NUMBERS:
        low, high = find_bounds(profile.label)
        bounds = (("sh:minInclusive", low), ("sh:maxInclusive", high))
        written = " ; ".join(f"{key} {bound}" for key, bound in bounds if bound is not None)
        if written:
            yield "range", written


def _is_writable(text: str) -> bool:
    if not is_literal(text):
        return is_usable_iri(text)
    lexical, datatype, language = parse_literal(text)
    is_word = re.search(r"[^\W\d_]", lexical) is not None  # numbers have no closed list
    return is_word and not language and len(lexical) <= 100 and is_usable_iri(datatype)


def name_rules(rules: Iterable[DraftRule]) -> dict[str, DraftRule]:
    """Names rules in the order of origin, kind and IRI; the names do not depend on their order."""
    named: dict[str, DraftRule] = {}
    numbers: Counter[str] = Counter()
    for rule in sorted(rules, key=lambda rule: (rule.origin, rule.kind, rule.about, rule.body)):
        local = re.sub(r"[^A-Za-z0-9]+", "-", iri_tail(rule.about))[:60].strip("-")
        name = f"{NAME_PREFIX}{rule.origin}:{rule.kind}#{local or 'rule'}"
        numbers[name] += 1
        named[name if numbers[name] == 1 else f"{name}-{numbers[name]}"] = rule
    return named


def render_shapes(rules: Mapping[str, DraftRule], labels: Mapping[str, str]) -> str:
    """Renders named rules as Turtle, with the support of each as a comment.

    Args:
        rules: name → rule.
        labels: IRI of a predicate or class → what it is called.
    """
    parts = ["@prefix sh: <http://www.w3.org/ns/shacl#> .\n"]
    for name, rule in sorted(rules.items(), key=lambda item: (item[1].about, item[0])):
        label = clean_text(labels.get(rule.about) or iri_tail(rule.about))
        body = rule.body.replace(" ; ", " ;\n    ") if '"' not in rule.body else rule.body
        parts.append(f"# {label}: {clean_text(rule.support)}\n<{name}>\n    {body} .\n")
    return "\n".join(parts)
