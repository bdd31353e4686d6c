"""Words for a predicate nobody wrote words for: grammatical for whatever its label happens to be.

RDF vocabularies name predicates in a handful of ways: a noun (``mouth``, ``hasMouth``), a verb in
the third person (``flowsInto``, ``traverses``), a participle with a preposition (``locatedIn``,
``wasBornIn``), or a noun with "of" (``partOf``, ``capitalOf``). Each gets its own sentences.
Anything that fits none is quoted, because 'For X, the value of "label" is Y' reads well with any
label at all.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from kg.domain import PredicateWords
from kg.words.plain_text import article, plain, words_of
from kg.words.templates import verbatim

Kind = Literal["noun", "verb", "passive", "past", "of", "quoted"]

PREPOSITIONS = frozenset(
    words_of(
        "about above across after against along among around as at before behind below beside "
        "between beyond by down during for from in inside into near of off on onto out outside "
        "over past since through throughout to toward towards under until up upon via with "
        "within without"
    )
)
# Third-person verbs that vocabularies use without a preposition. A closed list: "parents" and
# "traverses" cannot be told apart by their ending.
_VERBS = frozenset(
    words_of(
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
_ES_VERB = re.compile(r"(?:ss|sh|ch|x|zz|o)es$")
_PARTICIPLES = frozenset(
    words_of(
        "born built bought brought caught chosen drawn driven fed found given grown held "
        "hidden kept known laid led left lost made meant met overseen paid put read run seen "
        "sent set shown sold spoken spent split spread sung taken taught thrown told "
        "understood won worn written"
    )
)
_AUXILIARIES = frozenset(words_of("is was are were"))


class Phrase(NamedTuple):
    """A label taken apart."""

    kind: Kind
    words: str
    """``noun``: the noun; ``verb``: the whole verb phrase in the third person; ``passive`` and
    ``past``: what follows "is" or "was"; ``of``: the noun before "of"; ``quoted``: the label."""


def split_name(text: str) -> str:
    """The words of a local name or label: ``hasMouth_of`` → ``has mouth of``.

    Only names without spaces are split; acronyms keep their capitals.
    """
    text = plain(text)
    if " " in text:
        return text
    spaced = re.sub(r"[_\-.]+", " ", text)
    spaced = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])", " ", spaced)
    words = [w if len(w) > 1 and w.isupper() else w[:1].lower() + w[1:] for w in spaced.split()]
    return " ".join(words) or text


def parse_label(label: str) -> Phrase:
    """Tells what kind of phrase a predicate's label is."""
    label = split_name(label)
    words = label.split(" ")
    if not all(re.fullmatch(r"[^\W_][\w'’-]*", word) for word in words) or len(words) > 6:
        return Phrase("quoted", label)
    words = [w if len(w) > 1 and w.isupper() else w.lower() for w in words]
    if words[0] == "has" and len(words) > 1:
        words = words[1:]
        if words[0] in ("a", "an", "the") and len(words) > 1:
            words = words[1:]
        return _noun(words, label)
    if words[0] in _AUXILIARIES and len(words) > 1:
        if words[-1] not in PREPOSITIONS:
            return Phrase("quoted", label)
        rest = words[2:] if words[1] in ("a", "an", "the") and len(words) > 2 else words[1:]
        phrase = _after_is(rest, label)
        past = words[0] in ("was", "were") and phrase.kind == "passive"
        return phrase._replace(kind="past") if past else phrase
    if len(words) > 1 and words[-1] in PREPOSITIONS:
        if words[-1] == "of" or is_participle(words[0]):
            return _after_is(words, label)
        if words[0] in _VERBS or (len(words) == 2 and _is_verb(words[0], True)):
            return Phrase("verb", " ".join(words))
        return Phrase("quoted", label)
    if len(words) == 1 and words[0] in PREPOSITIONS:
        return Phrase("passive", words[0])
    if len(words) > 1 and words[1] in PREPOSITIONS:
        if words[1] == "of" or is_participle(words[0]):
            # "part of system", "located in country": the object's class repeated; drop it.
            return _after_is(words[:2], label)
        if _is_verb(words[0], True):
            return Phrase("verb", " ".join(words[:2]))
        return Phrase("quoted", label)
    if len(words) == 1 and _is_verb(words[0], False):
        return Phrase("verb", words[0])
    return _noun(words, label)


def _noun(words: list[str], label: str) -> Phrase:
    if words[-1] == "of":
        return _after_is(words, label)
    if any(word in PREPOSITIONS - {"of"} for word in words) or _looks_plural(words[-1]):
        return Phrase("quoted", label)
    if len(words) > 1 and is_participle(words[-1]):
        return Phrase("quoted", label)  # "the country traversed of X" would be no English.
    return Phrase("noun", " ".join(words))


def _after_is(words: list[str], label: str) -> Phrase:
    if words[-1] == "of" and len(words) > 1:
        noun = words[:-1]
        if noun[-1] == "part":
            return Phrase("passive", "part of")
        if is_participle(noun[-1]):
            return Phrase("passive", " ".join(words))
        return Phrase("of", " ".join(noun))
    if words[-1] in PREPOSITIONS:
        return Phrase("passive", " ".join(words))
    return Phrase("quoted", label)


def is_participle(word: str) -> bool:
    """Whether a word looks like a past participle: "located", "born"."""
    regular = word.endswith("ed") and not word.endswith("eed") and len(word) > 4
    return word in _PARTICIPLES or regular


def _is_verb(word: str, before_preposition: bool) -> bool:
    if word in _VERBS:
        return True
    return before_preposition and word.endswith("s") and not _never_third_person(word)


def _never_third_person(word: str) -> bool:
    return word.endswith(("ss", "us", "is", "ous", "ics", "ness")) or len(word) < 4


def _looks_plural(word: str) -> bool:
    singular = word in ("species", "series", "status", "address", "news", "gas", "lens", "gps")
    return word.endswith("s") and not singular and not _never_third_person(word)


def base_form(verb_phrase: str) -> str:
    """The infinitive of a third-person verb phrase: ``flows into`` → ``flow into``."""
    verb, space, rest = verb_phrase.partition(" ")
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
    return verb + space + rest


def default_words(label: str, *, single: bool = False, literal: bool = False) -> PredicateWords:
    """Sentences for a predicate known only by its label.

    Args:
        label: ``rdfs:label``, local name, or what the user gave with ``--pred-label``.
        single: a subject has at most one value, so "the" mouth rather than "a" tributary.
        literal: the values are literals; a subject's length is always "the" length.
    """
    kind, words = parse_label(label)
    text = verbatim(words)
    if kind == "verb":
        base = verbatim(base_form(words))
        fact, denied, asked = (
            f"{{{{ subj }}}} {text} {{{{ obj }}}}.",
            f"{{{{ subj }}}} does not {base} {{{{ obj }}}}.",
            (
                f"Does {{{{ subj }}}} {base} {{{{ obj }}}}?",
                f"Is it true that {{{{ subj }}}} {text} {{{{ obj }}}}?",
            ),
        )
    elif kind in ("passive", "past", "of"):
        be = "was" if kind == "past" else "is"
        if kind == "of":
            text = verbatim(f"{'the ' + words if single else article(words)} of")
        fact, denied, asked = (
            f"{{{{ subj }}}} {be} {text} {{{{ obj }}}}.",
            f"{{{{ subj }}}} {be} not {text} {{{{ obj }}}}.",
            (
                f"{be.capitalize()} {{{{ subj }}}} {text} {{{{ obj }}}}?",
                f"Is it true that {{{{ subj }}}} {be} {text} {{{{ obj }}}}?",
            ),
        )
    elif kind == "noun":
        one = verbatim(f"the {words}" if single or literal else article(words))
        fact = f"{one} of {{{{ subj }}}} is {{{{ obj }}}}."
        if literal:
            denied = f"{one} of {{{{ subj }}}} is not {{{{ obj }}}}."
            asked = (
                f"Is {one} of {{{{ subj }}}} {{{{ obj }}}}?",
                f"Is it true that {one} of {{{{ subj }}}} is {{{{ obj }}}}?",
            )
        else:
            denied = f"{{{{ obj }}}} is not {one} of {{{{ subj }}}}."
            asked = (
                f"Is {{{{ obj }}}} {one} of {{{{ subj }}}}?",
                f"Is it true that {{{{ obj }}}} is {one} of {{{{ subj }}}}?",
            )
    else:
        quoted = f"“{text}”"
        fact, denied, asked = (
            f"For {{{{ subj }}}}, the value of {quoted} is {{{{ obj }}}}.",
            f"For {{{{ subj }}}}, the value of {quoted} is not {{{{ obj }}}}.",
            (
                f"Is {{{{ obj }}}} the value of {quoted} for {{{{ subj }}}}?",
                f"For {{{{ subj }}}}, is the value of {quoted} {{{{ obj }}}}?",
            ),
        )
    return PredicateWords(fact=fact, denied=denied, questions=asked, label=split_name(label))
