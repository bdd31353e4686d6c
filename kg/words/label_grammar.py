"""Makes default sentences for predicates without templates, from the grammar of their labels.

RDF vocabularies name predicates in a few ways: a noun (``mouth``, ``hasMouth``), a verb in the
third person (``flowsInto``, ``traverses``), a participle with a preposition (``locatedIn``,
``wasBornIn``), or a noun that ends in "of" (``partOf``, ``capitalOf``). Each kind has its own
sentences; a noun with "of" inside is a noun like any other (``dateOfBirth``).
A label of none of these kinds is quoted, because 'For X, the value of "label" is Y' is
grammatical with any label.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from kg.base.plain_text import add_article, clean_text, list_words
from kg.base.templates import escape_template
from kg.domain import PredicateWording

PhraseKind = Literal["noun", "verb", "passive", "past", "of", "quoted"]

PREPOSITIONS = frozenset(
    list_words(
        "about above across after against along among around as at before behind below beside "
        "between beyond by down during for from in inside into near of off on onto out outside "
        "over past since through throughout to toward towards under until up upon via with "
        "within without"
    )
)
# Third-person verbs that vocabularies use without a preposition. A closed list: "parents" and
# "traverses" have the same ending.
_VERBS = frozenset(
    list_words(
        "accepts carries adopts affects allows appoints attends awards bears becomes borders "
        "bounds builds buys calls causes chairs composes conducts connects consumes contains "
        "controls covers creates crosses cuts defines delivers depicts describes designs "
        "develops directs discovers drains edits employs enables enters establishes exceeds "
        "excludes feeds finances follows forms founds funds generates governs grants heads "
        "holds hosts houses illustrates implements implies includes influences inherits "
        "inhabits inhibits inspires interacts invents involves issues joins keeps knows leads "
        "leaves likes lives loves maintains makes manages manufactures marries measures meets "
        "mentions needs observes occupies offers opens operates orbits organises organizes "
        "outranks overlaps overlooks owns paints performs plays possesses powers precedes "
        "presents prevents produces promotes protects provides publishes reaches reads "
        "receives recommends references regulates reigns releases replaces represents requires "
        "rules satisfies sees sells serves shows sings speaks sponsors starts stores studies "
        "succeeds supplies supports surrounds takes targets teaches touches tracks trains "
        "transports traverses treats trusts uses visits watches wears wins writes"
    )
)
# Verbs that add "es", not "s", in the third person: "passes", "reaches", "goes".
_ES_VERB = re.compile(r"(?:ss|sh|ch|x|zz|o)es$")
_PARTICIPLES = frozenset(
    list_words(
        "born built bought brought caught chosen drawn driven fed found given grown held "
        "hidden kept known laid led left lost made meant met overseen paid put read run seen "
        "sent set shown sold spoken spent split spread sung taken taught thrown told "
        "understood won worn written"
    )
)
_AUXILIARIES = frozenset(list_words("is was are were"))
# In "member of party" the subject is the member and "party" only repeats the object's class. With
# other nouns the object is what the label names: "date of birth", "head of state".
_MEMBER_NOUNS = frozenset(list_words("instance member part subclass subset"))


class ParsedLabel(NamedTuple):
    """A predicate's label, parsed."""

    kind: PhraseKind
    words: str
    """``noun``: the noun; ``verb``: the whole verb phrase in the third person; ``passive`` and
    ``past``: the words after "is" or "was"; ``of``: the noun before "of"; ``quoted``: the label."""


def split_name(text: str) -> str:
    """Splits a local name into words: ``hasMouth_of`` → ``has mouth of``.

    A text that contains spaces is returned unsplit; acronyms keep their capitals.
    """
    text = clean_text(text)
    if " " in text:
        return text
    spaced = re.sub(r"[_\-.]+", " ", text)
    spaced = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])", " ", spaced)
    words = [w if len(w) > 1 and w.isupper() else w[:1].lower() + w[1:] for w in spaced.split()]
    return " ".join(words) or text


def parse_label(label: str) -> ParsedLabel:
    """Parses the label of a predicate: finds which kind of phrase it is."""
    label = split_name(label)
    words = label.split(" ")
    if not all(re.fullmatch(r"[^\W_][\w'’-]*", word) for word in words) or len(words) > 6:
        return ParsedLabel("quoted", label)
    words = [w if len(w) > 1 and w.isupper() else w.lower() for w in words]
    if words[0] == "has" and len(words) > 1:
        words = words[1:]
        if words[0] in ("a", "an", "the") and len(words) > 1:
            words = words[1:]
        return _parse_noun(words, label)
    if words[0] in _AUXILIARIES and len(words) > 1:
        if words[-1] not in PREPOSITIONS:
            return ParsedLabel("quoted", label)
        predicate_words = (
            words[2:] if words[1] in ("a", "an", "the") and len(words) > 2 else words[1:]
        )
        phrase = _parse_after_is(predicate_words, label)
        is_past = words[0] in ("was", "were") and phrase.kind == "passive"
        return phrase._replace(kind="past") if is_past else phrase
    if len(words) > 1 and words[-1] in PREPOSITIONS:
        if words[-1] == "of" or is_participle(words[0]):
            return _parse_after_is(words, label)
        if words[0] in _VERBS or (len(words) == 2 and _is_verb(words[0], True)):
            return ParsedLabel("verb", " ".join(words))
        return ParsedLabel("quoted", label)
    if len(words) == 1 and words[0] in PREPOSITIONS:
        return ParsedLabel("passive", words[0])
    if len(words) > 1 and words[1] in PREPOSITIONS:
        if is_participle(words[0]) or (words[1] == "of" and words[0] in _MEMBER_NOUNS):
            # In "located in country" and "part of system" the words after the preposition only
            # repeat the object's class, so they are dropped.
            return _parse_after_is(words[:2], label)
        if words[1] == "of":
            return _parse_noun(words, label)
        if _is_verb(words[0], True):
            return ParsedLabel("verb", " ".join(words[:2]))
        return ParsedLabel("quoted", label)
    if len(words) == 1 and _is_verb(words[0], False):
        return ParsedLabel("verb", words[0])
    return _parse_noun(words, label)


def _parse_noun(words: list[str], label: str) -> ParsedLabel:
    if words[-1] == "of":
        return _parse_after_is(words, label)
    # The noun that agrees with the verb stands before "of": "number of employees".
    head = words[words.index("of") - 1] if "of" in words else words[-1]
    if (
        words[0] == "of"
        or any(word in PREPOSITIONS - {"of"} for word in words)
        or _looks_plural(head)
    ):
        return ParsedLabel("quoted", label)
    if len(words) > 1 and is_participle(words[-1]):
        # "the country traversed of X" would not be grammatical.
        return ParsedLabel("quoted", label)
    return ParsedLabel("noun", " ".join(words))


def _parse_after_is(words: list[str], label: str) -> ParsedLabel:
    if words[-1] == "of" and len(words) > 1:
        noun = words[:-1]
        if noun[-1] == "part":
            return ParsedLabel("passive", "part of")
        if is_participle(noun[-1]):
            return ParsedLabel("passive", " ".join(words))
        return ParsedLabel("of", " ".join(noun))
    if words[-1] in PREPOSITIONS:
        return ParsedLabel("passive", " ".join(words))
    return ParsedLabel("quoted", label)


def is_participle(word: str) -> bool:
    """Returns whether a word looks like a past participle: "located", "born"."""
    is_regular = word.endswith("ed") and not word.endswith("eed") and len(word) > 4
    return word in _PARTICIPLES or is_regular


def _is_verb(word: str, before_preposition: bool) -> bool:
    if word in _VERBS:
        return True
    return before_preposition and word.endswith("s") and not _is_never_third_person(word)


def _is_never_third_person(word: str) -> bool:
    return word.endswith(("ss", "us", "is", "ous", "ics", "ness")) or len(word) < 4


def _looks_plural(word: str) -> bool:
    is_singular = word in ("species", "series", "status", "address", "news", "gas", "lens", "gps")
    return word.endswith("s") and not is_singular and not _is_never_third_person(word)


def get_base_form(verb_phrase: str) -> str:
    """Returns the infinitive of a third-person verb phrase: ``flows into`` → ``flow into``."""
    verb, space, complement = verb_phrase.partition(" ")
    if verb == "has":
        verb = "have"
    elif verb in ("does", "goes"):
        verb = verb[:-2]
    elif verb.endswith("ies") and len(verb) > 4:
        verb = verb[:-3] + "y"
    elif _ES_VERB.search(verb):
        verb = verb[:-2]
    elif verb.endswith("s") and not verb.endswith("ss"):
        verb = verb[:-1]
    return verb + space + complement


def make_default_wording(
    label: str, *, single_valued: bool = False, literal_values: bool = False
) -> PredicateWording:
    """Makes the sentence templates of a predicate from its label.

    Args:
        label: ``rdfs:label``, local name, or the value of ``--pred-label``.
        single_valued: whether a subject has at most one value ("the mouth", but "a tributary").
        literal_values: whether the values are literals; these always take "the" ("the length").
    """
    kind, words = parse_label(label)
    text = escape_template(words)
    if kind == "verb":
        infinitive = escape_template(get_base_form(words))
        fact, denied, questions = (
            f"{{{{ subj }}}} {text} {{{{ obj }}}}.",
            f"{{{{ subj }}}} does not {infinitive} {{{{ obj }}}}.",
            (
                f"Does {{{{ subj }}}} {infinitive} {{{{ obj }}}}?",
                f"Is it true that {{{{ subj }}}} {text} {{{{ obj }}}}?",
            ),
        )
    elif kind in ("passive", "past", "of"):
        auxiliary = "was" if kind == "past" else "is"
        if kind == "of":
            text = escape_template(f"{'the ' + words if single_valued else add_article(words)} of")
        fact, denied, questions = (
            f"{{{{ subj }}}} {auxiliary} {text} {{{{ obj }}}}.",
            f"{{{{ subj }}}} {auxiliary} not {text} {{{{ obj }}}}.",
            (
                f"{auxiliary.capitalize()} {{{{ subj }}}} {text} {{{{ obj }}}}?",
                f"Is it true that {{{{ subj }}}} {auxiliary} {text} {{{{ obj }}}}?",
            ),
        )
    elif kind == "noun":
        noun = escape_template(
            f"the {words}" if single_valued or literal_values else add_article(words)
        )
        fact = f"{noun} of {{{{ subj }}}} is {{{{ obj }}}}."
        if literal_values:
            denied = f"{noun} of {{{{ subj }}}} is not {{{{ obj }}}}."
            questions = (
                f"Is {noun} of {{{{ subj }}}} {{{{ obj }}}}?",
                f"Is it true that {noun} of {{{{ subj }}}} is {{{{ obj }}}}?",
            )
        else:
            denied = f"{{{{ obj }}}} is not {noun} of {{{{ subj }}}}."
            questions = (
                f"Is {{{{ obj }}}} {noun} of {{{{ subj }}}}?",
                f"Is it true that {{{{ obj }}}} is {noun} of {{{{ subj }}}}?",
            )
    else:
        quoted = f"“{text}”"
        fact, denied, questions = (
            f"For {{{{ subj }}}}, the value of {quoted} is {{{{ obj }}}}.",
            f"For {{{{ subj }}}}, the value of {quoted} is not {{{{ obj }}}}.",
            (
                f"Is {{{{ obj }}}} the value of {quoted} for {{{{ subj }}}}?",
                f"For {{{{ subj }}}}, is the value of {quoted} {{{{ obj }}}}?",
            ),
        )
    return PredicateWording(fact=fact, denied=denied, questions=questions, label=split_name(label))
