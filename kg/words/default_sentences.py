"""Makes sentences and questions for predicates without templates, from what their labels are.

Each kind of label has its own sentences, which keep every word of it. A label of no known kind, or
of another language than English, is quoted, because 'X has Y as a value of “label”' is grammatical
with any label.
"""

from __future__ import annotations

from typing import Literal

from kg.base.plain_text import add_article, clean_text, list_words
from kg.base.templates import escape_template
from kg.predicate_words import PredicateWording
from kg.words.label_grammar import (
    BE_FORMS,
    HAVE_FORMS,
    MODALS,
    ParsedLabel,
    get_base_form,
    is_english,
    is_participle,
    looks_plural,
    parse_label,
    split_name,
)

Possessive = Literal["its", "their"]
ValueKind = Literal["", "numbers", "years", "dates", "booleans"]
"""What all values of a predicate are."""

# What can be done on a date, or in a year, to what has one.
_DEEDS = frozenset(
    list_words("""
    adopted approved archived born built closed completed created demolished designed discovered
    elected enacted established expired founded inaugurated introduced issued launched licensed
    modified opened published ratified recorded registered released renamed repealed restored
    retired revised signed submitted updated verified written
    """)
)
# Kind of values → the prepositions that stand before one: "opened in 1931", but not "in 3 May".
_TIME_PREPOSITIONS = {
    "years": frozenset(("in", "since", "from", "until", "before", "after", "during")),
    "dates": frozenset(("on", "at", "since", "from", "until", "before", "after")),
}
_ABOUT_CLAUSE = (
    "Is it correct that {clause}?",
    "Is it the case that {clause}?",
    "Is it a fact that {clause}?",
    "Would it be right to say that {clause}?",
    "Is the statement “{clause}” true?",
    "Does this hold: {clause}?",
)
_ABOUT_NOUN = ("For {subj}, is the {noun} {obj}?", "Is {obj} the {noun} of {subj}?")


def make_default_wording(
    label: str,
    language: str = "",
    *,
    single_valued: bool = False,
    values: ValueKind = "",
    possessive: Possessive = "its",
) -> PredicateWording:
    """Makes the sentence templates of a predicate from its label.

    Args:
        label: ``rdfs:label``, local name, or the value of ``--pred-label``.
        language: the label's language tag, if it has one.
        single_valued: whether a subject has at most one value ("its mouth", but "a tributary").
        values: what all values are. No verb has a number as its object: "wins 2" says less than
            "has 2 as its value of “wins”"; but what is "opened in" a year was opened in it.
        possessive: "their" if the subjects are people.
    """
    parsed = parse_label(label, language)
    text = split_name(label) if is_english(language) else clean_text(label)
    if parsed.kind == "quoted" and values in ("dates", "years") and text.lower() in _DEEDS:
        # What has "created" a date was created on it.
        parsed = parse_label(f"{text} {'on' if values == 'dates' else 'in'}", language)
    if parsed.kind in ("verb", "copula") and values not in ("", "booleans"):
        parsed = _fit_to_values(parsed, values, text)
    fact, denied, question = (
        _make_boolean_clauses(text)
        if values == "booleans"
        else _make_clauses(parsed, single_valued=single_valued, possessive=possessive)
    )
    return PredicateWording(
        fact=f"{fact}.",
        denied=f"{denied}.",
        questions=(f"{question}?", f"Is it true that {fact[0].lower()}{fact[1:]}?"),
        label=text,
    )


def _fit_to_values(parsed: ParsedLabel, values: ValueKind, label: str) -> ParsedLabel:
    """Returns a verb phrase that numbers, years or dates can follow; quoted if it is none."""
    words = parsed.words.split(" ")
    if words[-1] in _TIME_PREPOSITIONS.get(values, ()):
        is_past = words[-1] in ("in", "on", "at") and is_participle(words[0])
        return parsed._replace(auxiliary="was") if is_past and parsed.auxiliary == "is" else parsed
    return parsed if values == "dates" else ParsedLabel("quoted", label)


def _make_boolean_clauses(label: str) -> tuple[str, str, str]:
    """Returns the templates for "true" and "false", which nothing has as its anything."""
    quoted = f"“{escape_template(label)}”"
    return (
        f"For {{{{ subj }}}}, {quoted} is {{{{ obj }}}}",
        f"For {{{{ subj }}}}, {quoted} is not {{{{ obj }}}}",
        f"Is {quoted} {{{{ obj }}}} for {{{{ subj }}}}",
    )


def _make_clauses(
    parsed: ParsedLabel, *, single_valued: bool, possessive: Possessive
) -> tuple[str, str, str]:
    """Returns the templates of statement, denial and question, without final punctuation."""
    kind, words, auxiliary = parsed
    text = escape_template(words)
    subj, obj = "{{ subj }}", "{{ obj }}"
    if kind in ("verb", "past"):
        infinitive = escape_template(get_base_form(words))
        do = "did" if kind == "past" else "does"
        return (
            f"{subj} {text} {obj}",
            f"{subj} {do} not {infinitive} {obj}",
            f"{do.capitalize()} {subj} {infinitive} {obj}",
        )
    if kind in ("copula", "of"):
        if kind == "of":
            noun = words.partition(" of")[0]
            is_plural = looks_plural(noun.split(" ")[-1])
            text = escape_template(f"among the {words}" if is_plural else add_article(words))
        if auxiliary in MODALS:
            # "May not" could mean that it perhaps does not.
            return (
                f"{subj} {auxiliary} {text} {obj}",
                f"It is not the case that {subj} {auxiliary} {text} {obj}",
                f"{auxiliary.capitalize()} {subj} {text} {obj}",
            )
        be, negated_be = BE_FORMS[auxiliary]
        return (
            f"{subj} {auxiliary} {text} {obj}",
            f"{subj} {negated_be} {text} {obj}",
            f"{be} {subj} {text} {obj}",
        )
    if kind == "quoted":
        words, auxiliary = f"value of “{words}”", "has"
    if single_valued:
        role = f"as {possessive} {words}"
    elif kind == "plural":
        role = f"among {possessive} {words}"
    else:
        role = f"as {add_article(words)}"
    do, have, negated_have = HAVE_FORMS[auxiliary]
    role = escape_template(role)
    return (
        f"{subj} {auxiliary} {obj} {role}",
        f"{subj} {negated_have} {obj} {role}",
        f"{do} {subj} {have} {obj} {role}",
    )


def list_general_questions(clause: str, subj: str, obj: str, noun: str = "") -> list[str]:
    """Lists questions that ask whether a claim is true, whatever its predicate.

    All mean what "Is it true that …?" means, and none of them is a usual question.

    Args:
        clause: the claim: "the Rhine flows into the North Sea".
        subj: the name of its subject.
        obj: the name of its object.
        noun: what the object is to the subject, if it is its only one: "mouth".
    """
    questions = [question.replace("{clause}", clause) for question in _ABOUT_CLAUSE]
    if noun:
        questions += [q.format(subj=subj, obj=obj, noun=noun) for q in _ABOUT_NOUN]
    return questions
