"""Renders SHACL constraints in English, one sentence for each."""

from __future__ import annotations

import re
from typing import NamedTuple

from kg.base.plain_text import add_article, capitalise_sentence, clean_text, join_list
from kg.literals import DATATYPE_NOUNS, is_moment
from kg.shapes import Constraint
from kg.terms import XSD, is_literal
from kg.words.label_grammar import parse_label
from kg.words.phrasebook import Phrasebook
from kg.words.subject_nouns import find_subject_nouns

MAX_LISTED = 10
"""Maximum values of ``sh:in`` and similar lists that are rendered before "or n more"."""
MAX_PATTERN_LENGTH = 1_000
"""Maximum characters of an ``sh:pattern`` that are quoted."""

_NODE_KIND_NOUNS = {
    "IRI": "a named thing",
    "Literal": "a literal value",
    "BlankNode": "an unnamed thing",
    "BlankNodeOrIRI": "a thing, not a literal value",
    "IRIOrLiteral": "a named thing or a literal value",
    "BlankNodeOrLiteral": "an unnamed thing or a literal value",
}
_BOUNDS = {
    "MinExclusive": ("greater than", "after"),
    "MinInclusive": ("at least", "not before"),
    "MaxExclusive": ("less than", "before"),
    "MaxInclusive": ("at most", "not after"),
}
"""Component → what is said of its bound, and of one that is a date."""
_PATH_SIGNS = {
    "^": "the inverse of ",
    "/": " followed by ",
    "|": " or ",
    "+": " (once or repeatedly)",
    "*": " (any number of times)",
    "?": " (at most once)",
}


class SubjectWording(NamedTuple):
    """The words for the focus nodes in a sentence."""

    every: str
    """"every river", "it"."""
    some: str
    """"a river", "it"; empty if it can be left out."""
    negate: str
    """"no river", or empty if only the verb can be negated ("it is not")."""


IT = SubjectWording("it", "it", "")
WHOLE_NUMBER = "it is a whole number"
EVERYTHING = SubjectWording("everything", "", "nothing")


def render_constraint(phrasebook: Phrasebook, constraint: Constraint) -> str:
    """Renders the constraint as a sentence: "Every river has at most one mouth."."""
    clause = _render_clause(phrasebook, constraint, _describe_targets(phrasebook, constraint))
    return f"{capitalise_sentence(clause)}."


def _describe_targets(phrasebook: Phrasebook, constraint: Constraint) -> SubjectWording:
    if not constraint.target:
        return IT
    parts = [
        _describe_target(phrasebook, kind, term, constraint) for kind, term in constraint.target
    ]
    if len(parts) == 1:
        return parts[0]
    every = join_list([part.every for part in parts])
    # "and" between subjects would need a plural verb; a list after "each of" does not.
    return SubjectWording(f"each of the following ({every})", "each of these", "")


def _describe_target(
    phrasebook: Phrasebook, kind: str, term: str, constraint: Constraint
) -> SubjectWording:
    if kind == "class":
        noun = phrasebook.get_class_noun(term)
        return SubjectWording(f"every {noun}", add_article(noun), f"no {noun}")
    if kind == "node":
        name = phrasebook.render_term(term)
        return SubjectWording(name, name, "")
    if kind == "subjects-of":
        if constraint.path == term:
            nouns = " or ".join(find_subject_nouns(phrasebook, term))
            if nouns:
                nouns += " (or anything else)"  # cards do not always say what class a thing is of
            return SubjectWording(f"every {nouns}", "", f"no {nouns}") if nouns else EVERYTHING
        noun = _find_noun(phrasebook, term)
        condition = (
            f"with {add_article(noun)}"
            if noun
            else f"that has a value of {_render_path(phrasebook, term)}"
        )
        return SubjectWording(
            f"everything {condition}", f"something {condition}", f"nothing {condition}"
        )
    noun = _find_noun(phrasebook, term)
    role = (
        f"that is {add_article(noun)} of something"
        if noun
        else f"that is a value of {_render_path(phrasebook, term)}"
    )
    return SubjectWording(f"everything {role}", f"something {role}", f"nothing {role}")


def _render_clause(phrasebook: Phrasebook, constraint: Constraint, subject: SubjectWording) -> str:
    component = constraint.component.removesuffix("ConstraintComponent")
    value_set_clause = _render_value_set_clause(phrasebook, constraint, component, subject)
    if value_set_clause:
        return value_set_clause
    every_value, no_value = subject.every, subject.negate
    if constraint.path:
        noun = _find_noun(phrasebook, constraint.path)
        value = noun or f"value of {_render_path(phrasebook, constraint.path)}"
        link = f" {'of' if noun else 'for'} {subject.some}" if subject.some else ""
        every_value, no_value = f"every {value}{link}", f"no {value}{link}"
    if component == "Not" and no_value:
        # "Every river is not a lake" could be read as "not every river is a lake".
        return f"{no_value} {_render_denied_condition(phrasebook, constraint)}"
    return f"{every_value} {_render_value_condition(phrasebook, constraint, component)}"


def _render_value_set_clause(
    phrasebook: Phrasebook, constraint: Constraint, component: str, subject: SubjectWording
) -> str:
    """Renders constraints on all values together, or on their relation to the focus node.

    Returns an empty string for constraints on single values.
    """
    noun = _find_noun(phrasebook, constraint.path) if constraint.path else ""
    quoted_path = _render_path(phrasebook, constraint.path) if constraint.path else ""
    if component in ("MinCount", "MaxCount", "QualifiedMinCount", "QualifiedMaxCount"):
        return _render_count(phrasebook, constraint, component, subject, noun, quoted_path)
    if component == "HasValue":
        value = phrasebook.render_term(
            _get_value(constraint, "hasValue"), _get_single_predicate(constraint.path)
        )
        if not constraint.path:
            return f"{subject.every} is {value}"
        if noun:
            return f"{subject.every} has {value} as {add_article(noun)}"
        return f"{subject.every} has {value} among the values of {quoted_path}"
    if component == "Disjoint":
        other = _get_value(constraint, "disjoint")
        return _render_disjoint(phrasebook, other, subject, noun, quoted_path)
    if component == "Equals":
        other_path = _render_path(phrasebook, _get_value(constraint, "equals"))
        if not constraint.path:
            return f"{subject.every} is its own only value of {other_path}"
        return f"{subject.every} has the same values of {quoted_path} as of {other_path}"
    if component == "UniqueLang":
        subject_phrase = f" for {subject.some}" if subject.some else ""
        return f"no two values of {quoted_path}{subject_phrase} are in the same language"
    if component == "Closed":
        allowed = [
            _render_path(phrasebook, p) for p in _get_values(constraint, "allowedProperties")
        ]
        exception = f" other than {join_list(allowed)}" if allowed else " at all"
        return f"{subject.every} has no properties{exception}"
    return ""


def _render_count(
    phrasebook: Phrasebook,
    constraint: Constraint,
    component: str,
    subject: SubjectWording,
    noun: str,
    quoted_path: str,
) -> str:
    key = component[0].lower() + component[1:]
    number = _get_value(constraint, key) or "0"
    condition = ""
    if component.startswith("Qualified"):
        inner = (
            " and ".join(_render_inner_clauses(phrasebook, constraint, IT))
            or "it is anything at all"
        )
        condition = f" for which this holds: {inner}"
    if number == "0":
        if component.endswith("MinCount"):
            return f"{subject.every} may have any number of values of {quoted_path}{condition}"
        value = add_article(noun) if noun else f"a value of {quoted_path}"
        if subject.negate:
            return f"{subject.negate} has {value}{condition}"
        return f"{subject.every} does not have {value}{condition}"
    bound = "at least" if component.endswith("MinCount") else "at most"
    if number == "1":
        return f"{subject.every} has {bound} one {noun or f'value of {quoted_path}'}{condition}"
    return f"{subject.every} has {bound} {number} values of {quoted_path}{condition}"


def _render_disjoint(
    phrasebook: Phrasebook, other: str, subject: SubjectWording, noun: str, quoted_path: str
) -> str:
    other_noun = _find_noun(phrasebook, other)
    if quoted_path:
        value = noun or f"value of {quoted_path}"
        link = f" {'of' if noun else 'for'} {subject.some}" if subject.some else ""
        return (
            f"no {value}{link} is also a value of {_render_path(phrasebook, other)} for the same "
            "thing"
        )
    own_value = (
        f"its own {other_noun}"
        if other_noun
        else f"a value of {_render_path(phrasebook, other)} for itself"
    )
    if subject.negate:
        return f"{subject.negate} is {own_value}"
    return f"{subject.every} is not {own_value}"


def _render_value_condition(phrasebook: Phrasebook, constraint: Constraint, component: str) -> str:
    """Renders the condition on each value: a verb phrase in the third person singular."""
    pred = _get_single_predicate(constraint.path)
    if component == "Class":
        classes = _get_values(constraint, "class")
        nouns = [add_article(phrasebook.get_class_noun(cls)) for cls in classes]
        return f"is {join_list(nouns, 'or')}"
    if component == "Datatype":
        datatype = _get_value(constraint, "datatype")
        label = phrasebook.get_label(datatype)
        if pred and phrasebook.has_only_days(pred, datatype):
            datatype = XSD + "date"
        return f"is {DATATYPE_NOUNS.get(datatype) or f'a literal of type “{label}”'}"
    if component == "NodeKind":
        kind = re.split(r"[#/]", _get_value(constraint, "nodeKind"))[-1]
        return f"is {_NODE_KIND_NOUNS.get(kind, kind)}"
    if component in _BOUNDS:
        key = component[0].lower() + component[1:]
        term = _get_value(constraint, key)
        comparison = _BOUNDS[component][is_moment(term)]
        return f"is {comparison} {_render_value(phrasebook, term, pred)}"
    if component in ("MinLength", "MaxLength"):
        number = _get_value(constraint, component[0].lower() + component[1:])
        bound = "at least" if component == "MinLength" else "at most"
        return f"has {bound} {number} character{'' if number == '1' else 's'}"
    if component == "Pattern":
        # The pattern is no term: its slashes are no path.
        pattern = clean_text(_get_value(constraint, "pattern"), MAX_PATTERN_LENGTH)
        case = " in capitals or not" if "i" in _get_value(constraint, "flags") else ""
        return f"matches the pattern “{pattern}”{case}"
    if component == "LanguageIn":
        tags = [clean_text(tag.strip('"')) for tag in _get_values(constraint, "languageIn")]
        return (
            f"is in {'the language' if len(tags) == 1 else 'one of the languages'} "
            f"{_join_limited(tags)}"
        )
    if component == "In":
        values = [_render_value(phrasebook, value, pred) for value in _get_values(constraint, "in")]
        return f"is {'' if len(values) == 1 else 'one of '}{_join_limited(values)}"
    if component in ("LessThan", "LessThanOrEquals"):
        other = _get_value(constraint, component[0].lower() + component[1:])
        other_noun = _find_noun(phrasebook, other)
        other_value = (
            f"the {other_noun}" if other_noun else f"the value of {_render_path(phrasebook, other)}"
        )
        words = _BOUNDS["MaxExclusive" if component == "LessThan" else "MaxInclusive"]
        return f"is {words[phrasebook.has_moments(other)]} {other_value} of the same thing"
    if component in ("Not", "And", "Or", "Xone", "Node"):
        return _render_logic(phrasebook, constraint, component)
    if component == "SPARQL":
        return "meets a condition that the shapes state as a SPARQL query"
    shape_label = phrasebook.get_label(constraint.shape)
    return f"meets the constraint “{component}” of the shape “{shape_label}”"


def _render_logic(phrasebook: Phrasebook, constraint: Constraint, component: str) -> str:
    groups = [_render_group(phrasebook, group, IT) for group in constraint.inner]
    if component in ("Node", "And"):
        return _join_conditions([clause for group in groups for clause in group])
    if component == "Not":
        nouns = (
            _find_class_alternatives(phrasebook, constraint.inner[0])
            if len(constraint.inner) == 1
            else []
        )
        if len(nouns) == 1:
            return f"is not {nouns[0]}"
        if nouns:
            return f"is neither {' nor '.join(nouns)}"
        inner = " and ".join(clause for group in groups for clause in group)
        return f"does not meet this condition: {inner or 'none'}"
    alternatives = [" and ".join(group) for group in groups]
    if component == "Or":
        kinds = [_find_class_alternatives(phrasebook, group) for group in constraint.inner]
        if all(len(kind) == 1 for kind in kinds):
            return f"is {join_list([*dict.fromkeys(kind[0] for kind in kinds)], 'or')}"
        alternatives = list(dict.fromkeys(alternatives))
        if WHOLE_NUMBER in alternatives:
            # Publishers list all integer datatypes, such as those of positive ones.
            narrower = f"{WHOLE_NUMBER} "
            alternatives = [text for text in alternatives if not text.startswith(narrower)]
        if len(alternatives) == 1 and alternatives[0].startswith("it "):
            return alternatives[0].removeprefix("it ")
        return f"meets at least one of these conditions: {'; '.join(alternatives)}"
    return f"meets exactly one of these conditions: {'; '.join(alternatives)}"


def _render_denied_condition(phrasebook: Phrasebook, constraint: Constraint) -> str:
    """Renders the condition that a ``sh:not`` forbids, as a verb phrase to follow "no river"."""
    nouns = (
        _find_class_alternatives(phrasebook, constraint.inner[0])
        if len(constraint.inner) == 1
        else []
    )
    if nouns:
        return f"is {join_list(nouns, 'or')}"
    return _join_conditions(_render_inner_clauses(phrasebook, constraint, IT))


def _join_conditions(clauses: list[str]) -> str:
    if clauses and all(clause.startswith("it ") for clause in clauses):
        return join_list([clause.removeprefix("it ") for clause in clauses])
    return f"meets this condition: {' and '.join(clauses)}" if clauses else "exists"


def _find_class_alternatives(phrasebook: Phrasebook, group: tuple[Constraint, ...]) -> list[str]:
    """Returns the nouns, with articles, of a group that is ``class`` or ``or`` of classes only.

    Returns an empty list for other groups.
    """
    if len(group) != 1 or group[0].path:
        return []
    constraint = group[0]
    component = constraint.component.removesuffix("ConstraintComponent")
    if component == "Class" and len(_get_values(constraint, "class")) == 1:
        return [add_article(phrasebook.get_class_noun(_get_value(constraint, "class")))]
    if component == "Or":
        inner_nouns = [_find_class_alternatives(phrasebook, inner) for inner in constraint.inner]
        return (
            [noun[0] for noun in inner_nouns] if all(len(noun) == 1 for noun in inner_nouns) else []
        )
    return []


def _render_inner_clauses(
    phrasebook: Phrasebook, constraint: Constraint, subject: SubjectWording
) -> list[str]:
    return [
        clause for group in constraint.inner for clause in _render_group(phrasebook, group, subject)
    ]


def _render_group(
    phrasebook: Phrasebook, group: tuple[Constraint, ...], subject: SubjectWording
) -> list[str]:
    return [_render_clause(phrasebook, inner, subject) for inner in group]


def _find_noun(phrasebook: Phrasebook, path: str) -> str:
    """Returns the noun of a path ("mouth" for ``wm:flowsInto``); empty if it has none."""
    pred = _get_single_predicate(path)
    if not pred or phrasebook.find_value_kind(pred) == "booleans":
        return ""
    phrase = parse_label(phrasebook.get_label(pred))
    return phrase.words if phrase.kind == "noun" else ""


def _get_single_predicate(path: str) -> str:
    """Returns the predicate of a path that is one forward predicate; else an empty string.

    The characters searched for are the operators of SPARQL paths and the brackets of IRIs.
    """
    predicate = path.strip("<>")
    return "" if re.search(r"[<>^|*?]|\)|\+$", predicate) else predicate


def _render_path(phrasebook: Phrasebook, path: str) -> str:
    """Renders any path, with its predicates' labels quoted."""
    pred = _get_single_predicate(path)
    if pred:
        return f"“{phrasebook.get_label(pred)}”"
    parts = re.split(r"(<[^<>]*>)", path)
    rendered = ""
    for part in parts:
        if part.startswith("<"):
            rendered += f"“{phrasebook.get_label(part[1:-1])}”"
        else:
            rendered += "".join(_PATH_SIGNS.get(char, char) for char in part)
    return re.sub(r"\((“[^“”]*”)\)", r"\1", rendered)


def _render_value(phrasebook: Phrasebook, term: str, pred: str) -> str:
    return phrasebook.render_term(term, pred) if term else ""


def _join_limited(values: list[str]) -> str:
    if len(values) <= MAX_LISTED:
        return join_list(values, "or")
    return f"{', '.join(values[:MAX_LISTED])} or {len(values) - MAX_LISTED} more"


def _get_values(constraint: Constraint, *keys: str) -> list[str]:
    values: list[str] = []
    for key in keys:
        value = constraint.parameters.get(key, ())
        values += [value] if isinstance(value, str) else list(value)
    return values


def _get_value(constraint: Constraint, key: str) -> str:
    values = _get_values(constraint, key)
    value = values[0] if values else ""
    # Counts are given in digits or as literals; both are rendered as digits.
    if is_literal(value) and key.endswith(("Count", "Length")):
        return value.split('"')[1]
    return value
