"""SHACL constraints in plain English: one grammatical sentence for each component."""

from __future__ import annotations

import re
from typing import NamedTuple

from kg.shapes import Constraint
from kg.terms import RDF, XSD, is_literal
from kg.words.phrasebook import Phrasebook
from kg.words.phrasing import parse_label
from kg.words.plain_text import article, listing, plain, sentence

MAX_LISTED = 10
"""Values of ``sh:in`` and the like that are spelt out before "and n more"."""

_DATATYPES = {
    XSD + "integer": "a whole number",
    XSD + "int": "a whole number",
    XSD + "long": "a whole number",
    XSD + "nonNegativeInteger": "a whole number not below zero",
    XSD + "positiveInteger": "a whole number above zero",
    XSD + "decimal": "a decimal number",
    XSD + "double": "a number",
    XSD + "float": "a number",
    XSD + "string": "a text without a language",
    RDF + "langString": "a text in a stated language",
    XSD + "boolean": "either true or false",
    XSD + "date": "a date",
    XSD + "dateTime": "a date with a time",
    XSD + "gYear": "a year",
    XSD + "anyURI": "a web address",
}
_NODE_KINDS = {
    "IRI": "a named thing",
    "Literal": "a literal value",
    "BlankNode": "an unnamed thing",
    "BlankNodeOrIRI": "a thing, not a literal value",
    "IRIOrLiteral": "a named thing or a literal value",
    "BlankNodeOrLiteral": "an unnamed thing or a literal value",
}
_BOUNDS = {
    "MinExclusive": "greater than",
    "MinInclusive": "at least",
    "MaxExclusive": "less than",
    "MaxInclusive": "at most",
}
_PATH_SIGNS = {
    "^": "the inverse of ",
    "/": " followed by ",
    "|": " or ",
    "+": " (once or repeatedly)",
    "*": " (any number of times)",
    "?": " (at most once)",
}


class Subject(NamedTuple):
    """How a sentence speaks of the focus nodes."""

    every: str
    """"every river", "it"."""
    some: str
    """"a river", "it"; empty when it need not be said."""
    negate: str
    """"no river", or empty when only the verb can be negated ("it is not")."""


IT = Subject("it", "it", "")


def constraint_sentence(words: Phrasebook, constraint: Constraint) -> str:
    """The constraint as a sentence of its own: "Every river has at most one mouth."."""
    clause = _clause(words, constraint, _subject(words, constraint))
    return f"{sentence(clause)}."


def _subject(words: Phrasebook, constraint: Constraint) -> Subject:
    if not constraint.target:
        return IT
    parts = [_target(words, kind, term, constraint.path) for kind, term in constraint.target]
    if len(parts) == 1:
        return parts[0]
    every = listing([part.every for part in parts])
    # "and" between subjects would need a plural verb; a list behind "each of" does not.
    return Subject(f"each of the following ({every})", "each of these", "")


def _target(words: Phrasebook, kind: str, term: str, path: str) -> Subject:
    if kind == "class":
        noun = words.class_noun(term)
        return Subject(f"every {noun}", article(noun), f"no {noun}")
    if kind == "node":
        name = words.name(term)
        return Subject(name, name, "")
    if kind == "subjects-of":
        if path == term:
            return Subject("everything", "", "nothing")
        noun = _noun(words, term)
        has = f"with {article(noun)}" if noun else f"that has a value of {_path(words, term)}"
        return Subject(f"everything {has}", f"something {has}", f"nothing {has}")
    noun = _noun(words, term)
    being = (
        f"that is {article(noun)} of something"
        if noun
        else f"that is a value of {_path(words, term)}"
    )
    return Subject(f"everything {being}", f"something {being}", f"nothing {being}")


def _clause(words: Phrasebook, c: Constraint, subject: Subject) -> str:
    component = c.component.removesuffix("ConstraintComponent")
    special = _about_all_values(words, c, component, subject)
    if special:
        return special
    every, no = subject.every, subject.negate
    if c.path:
        noun = _noun(words, c.path)
        value = noun or f"value of {_path(words, c.path)}"
        link = f" {'of' if noun else 'for'} {subject.some}" if subject.some else ""
        every, no = f"every {value}{link}", f"no {value}{link}"
    if component == "Not" and no:
        # "Every river is not a lake" could be read as "not every river is one".
        return f"{no} {_denied_condition(words, c)}"
    return f"{every} {_predicate(words, c, component)}"


def _about_all_values(words: Phrasebook, c: Constraint, component: str, subject: Subject) -> str:
    """Clauses that speak of the values together, or of the focus node's relation to them."""
    noun = _noun(words, c.path) if c.path else ""
    quoted = _path(words, c.path) if c.path else ""
    if component in ("MinCount", "MaxCount", "QualifiedMinCount", "QualifiedMaxCount"):
        return _count(words, c, component, subject, noun, quoted)
    if component == "HasValue":
        value = words.name(_one(c, "hasValue"), _predicate_of(c.path))
        if not c.path:
            return f"{subject.every} is {value}"
        if noun:
            return f"{subject.every} has {value} as {article(noun)}"
        return f"{subject.every} has {value} among the values of {quoted}"
    if component == "Disjoint":
        other = _one(c, "disjoint")
        return _disjoint(words, other, subject, noun, quoted)
    if component == "Equals":
        other_path = _path(words, _one(c, "equals"))
        if not c.path:
            return f"{subject.every} is its own only value of {other_path}"
        return f"{subject.every} has the same values of {quoted} as of {other_path}"
    if component == "UniqueLang":
        about = f" for {subject.some}" if subject.some else ""
        return f"no two values of {quoted}{about} are in the same language"
    if component == "Closed":
        allowed = [_path(words, p) for p in _many(c, "allowedProperties")]
        but = f" other than {listing(allowed)}" if allowed else " at all"
        return f"{subject.every} has no properties{but}"
    return ""


def _count(
    words: Phrasebook, c: Constraint, component: str, subject: Subject, noun: str, quoted: str
) -> str:
    key = component[0].lower() + component[1:]
    number = _one(c, key) or "0"
    condition = ""
    if component.startswith("Qualified"):
        inner = " and ".join(_clauses(words, c, IT)) or "it is anything at all"
        condition = f" for which this holds: {inner}"
    if number == "0":
        if component.endswith("MinCount"):
            return f"{subject.every} may have any number of values of {quoted}{condition}"
        one = article(noun) if noun else f"a value of {quoted}"
        if subject.negate:
            return f"{subject.negate} has {one}{condition}"
        return f"{subject.every} does not have {one}{condition}"
    bound = "at least" if component.endswith("MinCount") else "at most"
    if number == "1":
        return f"{subject.every} has {bound} one {noun or f'value of {quoted}'}{condition}"
    return f"{subject.every} has {bound} {number} values of {quoted}{condition}"


def _disjoint(words: Phrasebook, other: str, subject: Subject, noun: str, quoted: str) -> str:
    other_noun = _noun(words, other)
    if quoted:
        value = noun or f"value of {quoted}"
        link = f" {'of' if noun else 'for'} {subject.some}" if subject.some else ""
        return f"no {value}{link} is also a value of {_path(words, other)} for the same thing"
    own = f"its own {other_noun}" if other_noun else f"a value of {_path(words, other)} for itself"
    if subject.negate:
        return f"{subject.negate} is {own}"
    return f"{subject.every} is not {own}"


def _predicate(words: Phrasebook, c: Constraint, component: str) -> str:
    """What is said of each value: a verb phrase in the third person singular."""
    pred = _predicate_of(c.path)
    if component == "Class":
        return f"is {listing([article(words.class_noun(cls)) for cls in _many(c, 'class')], 'or')}"
    if component == "Datatype":
        datatype = _one(c, "datatype")
        return f"is {_DATATYPES.get(datatype) or f'a literal of type “{words.label(datatype)}”'}"
    if component == "NodeKind":
        kind = re.split(r"[#/]", _one(c, "nodeKind"))[-1]
        return f"is {_NODE_KINDS.get(kind, kind)}"
    if component in _BOUNDS:
        key = component[0].lower() + component[1:]
        return f"is {_BOUNDS[component]} {_value(words, _one(c, key), pred)}"
    if component in ("MinLength", "MaxLength"):
        number = _one(c, component[0].lower() + component[1:])
        bound = "at least" if component == "MinLength" else "at most"
        return f"has {bound} {number} character{'' if number == '1' else 's'}"
    if component == "Pattern":
        return f"matches the pattern “{plain(_value(words, _one(c, 'pattern'), ''))}”"
    if component == "LanguageIn":
        tags = [plain(tag.strip('"')) for tag in _many(c, "languageIn")]
        return f"is in {'the language' if len(tags) == 1 else 'one of the languages'} {_some(tags)}"
    if component == "In":
        values = [_value(words, value, pred) for value in _many(c, "in")]
        return f"is {'' if len(values) == 1 else 'one of '}{_some(values)}"
    if component in ("LessThan", "LessThanOrEquals"):
        other = _one(c, component[0].lower() + component[1:])
        other_noun = _noun(words, other)
        named = f"the {other_noun}" if other_noun else f"the value of {_path(words, other)}"
        return (
            f"is {'less than' if component == 'LessThan' else 'at most'} {named} of the same thing"
        )
    if component in ("Not", "And", "Or", "Xone", "Node"):
        return _logic(words, c, component)
    if component == "SPARQL":
        return "meets a condition that the shapes state as a SPARQL query"
    return f"meets the constraint “{component}” of the shape “{words.label(c.shape)}”"


def _logic(words: Phrasebook, c: Constraint, component: str) -> str:
    groups = [_clauses_of(words, group, IT) for group in c.inner]
    if component in ("Node", "And"):
        return _meets([clause for group in groups for clause in group])
    if component == "Not":
        nouns = _class_alternatives(words, c.inner[0]) if len(c.inner) == 1 else []
        if len(nouns) == 1:
            return f"is not {nouns[0]}"
        if nouns:
            return f"is neither {' nor '.join(nouns)}"
        inner = " and ".join(clause for group in groups for clause in group)
        return f"does not meet this condition: {inner or 'none'}"
    alternatives = ["; ".join(group) if len(group) < 2 else " and ".join(group) for group in groups]
    if component == "Or":
        kinds = [_class_alternatives(words, group) for group in c.inner]
        if all(len(kind) == 1 for kind in kinds):
            return f"is {listing([kind[0] for kind in kinds], 'or')}"
        return f"meets at least one of these conditions: {'; '.join(alternatives)}"
    return f"meets exactly one of these conditions: {'; '.join(alternatives)}"


def _denied_condition(words: Phrasebook, c: Constraint) -> str:
    """What a ``sh:not`` forbids, as a verb phrase behind "no river"."""
    nouns = _class_alternatives(words, c.inner[0]) if len(c.inner) == 1 else []
    if nouns:
        return f"is {listing(nouns, 'or')}"
    return _meets(_clauses(words, c, IT))


def _meets(clauses: list[str]) -> str:
    if clauses and all(clause.startswith("it ") for clause in clauses):
        return listing([clause.removeprefix("it ") for clause in clauses])
    return f"meets this condition: {' and '.join(clauses)}" if clauses else "exists"


def _class_alternatives(words: Phrasebook, group: tuple[Constraint, ...]) -> list[str]:
    """``class`` or ``or (class …)`` as nouns with article; empty for anything else."""
    if len(group) != 1 or group[0].path:
        return []
    only = group[0]
    component = only.component.removesuffix("ConstraintComponent")
    if component == "Class" and len(_many(only, "class")) == 1:
        return [article(words.class_noun(_one(only, "class")))]
    if component == "Or":
        found = [_class_alternatives(words, inner) for inner in only.inner]
        return [noun[0] for noun in found] if all(len(noun) == 1 for noun in found) else []
    return []


def _clauses(words: Phrasebook, c: Constraint, subject: Subject) -> list[str]:
    return [clause for group in c.inner for clause in _clauses_of(words, group, subject)]


def _clauses_of(words: Phrasebook, group: tuple[Constraint, ...], subject: Subject) -> list[str]:
    return [_clause(words, inner, subject) for inner in group]


def _noun(words: Phrasebook, path: str) -> str:
    """The noun a path is called by: "mouth" of ``wm:flowsInto``; empty when it has none."""
    pred = _predicate_of(path)
    if not pred:
        return ""
    phrase = parse_label(words.label(pred))
    return phrase.words if phrase.kind == "noun" else ""


def _predicate_of(path: str) -> str:
    """The predicate of a path that is one predicate forwards, else empty."""
    bare = path.strip("<>")
    return "" if re.search(r"[<>^|*?]|\)|\+$", bare) else bare


def _path(words: Phrasebook, path: str) -> str:
    """Any path in words, its predicates' labels quoted."""
    pred = _predicate_of(path)
    if pred:
        return f"“{words.label(pred)}”"
    parts = re.split(r"(<[^<>]*>)", path)
    out = ""
    for part in parts:
        if part.startswith("<"):
            out += f"“{words.label(part[1:-1])}”"
        else:
            out += "".join(_PATH_SIGNS.get(char, char) for char in part)
    return re.sub(r"\((“[^“”]*”)\)", r"\1", out)


def _value(words: Phrasebook, term: str, pred: str) -> str:
    return words.name(term, pred) if term else ""


def _some(values: list[str]) -> str:
    if len(values) <= MAX_LISTED:
        return listing(values, "or")
    return f"{', '.join(values[:MAX_LISTED])} or {len(values) - MAX_LISTED} more"


def _many(c: Constraint, *keys: str) -> list[str]:
    found: list[str] = []
    for key in keys:
        value = c.parameters.get(key, ())
        found += [value] if isinstance(value, str) else list(value)
    return found


def _one(c: Constraint, key: str) -> str:
    values = _many(c, key)
    value = values[0] if values else ""
    # Counts come in digits or as literals; both read as digits.
    if is_literal(value) and key.endswith(("Count", "Length")):
        return value.split('"')[1]
    return value
