"""Tells whether subject and object of a sentence belong to its relation, by the words between.

"Redis supports Linux; MySQL supports Windows" names Redis before Windows, but they are in two
clauses. There is no parser: a clause begins at a mark or at a word that joins, and has a subject of
its own if a noun is between that and its verb. Names are known by their capitals.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import dropwhile, pairwise
from typing import NamedTuple

from kg.text.facts.assertions import mark_modals
from kg.text.facts.clause_words import (
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    COMPARING,
    CONSIDER,
    CONTRASTING,
    COPULAS,
    DETERMINERS,
    FINITE_VERB,
    JOINING,
    LEADING_ELSEWHERE,
    LEADING_FROM_VERB,
    MARKS,
    MORE,
    NAMING,
    ORDERING,
    OTHER_VERB,
    PLANNED,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    TIMES,
    UNSAID,
)
from kg.text.facts.evidence import pad_words
from kg.text.facts.relation_words import stem_verb


class _Word(NamedTuple):
    text: str
    is_name: bool
    """Whether it begins with a capital or a digit."""
    marks: str
    """The marks before it."""


def belongs_together(
    text: str,
    words: str,
    ends: tuple[int, int],
    claim: tuple[str, str, str],
    stems: Collection[str],
) -> bool:
    """Returns whether the relation of a sentence is that of its subject and its object.

    Args:
        text: the sentence.
        words: its words; see ``pad_statement``.
        ends: positions in ``words`` where the subject ends and where the object begins.
        claim: subject, relation and object, in words.
        stems: the stems of the relation's content words.
    """
    subject, relation, target = claim
    stems = set(stems) - {stem_verb(word) for word in relation.split() if word in PREPOSITIONS}
    known = _read_words(text)
    if " ".join(word.text for word in known) != words.strip():
        return True  # what is not one word after the other, such as a name over two lines
    first, last = (len(words[:end].split()) for end in ends)
    # What stands for the subject, such as a pronoun, is one word.
    n_words = len(subject.split())
    is_named = [word.text for word in known[:first]][-n_words:] == subject.split()
    before = known[: first - (n_words if is_named else 1)]
    between = _drop_brackets(known[first:last])
    after = known[last + len(target.split()) :]
    named = known[last:][: len(target.split())]
    verbs = [number for number, word in enumerate(between) if stem_verb(word.text) in stems]
    if not verbs:
        return not _is_reversed(between, after, stems)
    verb = verbs[-1]
    return not (
        _ends_aside(before, between[: verb + 1])
        or _is_part_of_longer_noun(before, between)
        or _is_only_planned(between[: verb + 1])
        or _has_own_subject(between, verb, stems, subject.split())
        or _leaves_relation(between, verb, _find_preposition(relation), named, after)
    )


@lru_cache(maxsize=4096)
def _read_words(text: str) -> tuple[_Word, ...]:
    words: list[_Word] = []
    marks = ""
    for token in mark_modals(text).split():
        core = token.strip("\"'“”„‘’«»*_")
        found = pad_words(token).split()
        marks += core[: len(core) - len(core.lstrip(MARKS))] if found else core[:1]
        letters = core.lstrip(MARKS + "\"'“”„‘’«»*_")
        is_name = bool(letters) and (letters[0].isupper() or letters[0].isdigit())
        for number, word in enumerate(found):
            words.append(_Word(word, is_name and word != "s", "" if number else marks))
        if found:
            marks = core[len(core.rstrip(MARKS + ".")) :].replace(".", "")
    return tuple(words)


def _drop_brackets(words: Sequence[_Word]) -> list[_Word]:
    """Leaves out what is in brackets that begin and end among some words."""
    kept: list[_Word] = []
    opened: list[int] = []
    for word in words:
        if ")" in word.marks and opened:
            del kept[opened.pop() :]
            word = word._replace(marks=word.marks.replace(")", ""))
        if "(" in word.marks:
            opened.append(len(kept))
        kept.append(word)
    return kept


def _is_border(word: _Word) -> bool:
    return bool(word.marks) or word.text in JOINING | CONTRASTING | RELATIVES


def _find_borders(words: Sequence[_Word], start: int, end: int) -> list[int]:
    return [number for number in range(start, end) if _is_border(words[number])]


def _ends_aside(before: Sequence[_Word], until_verb: Sequence[_Word]) -> bool:
    """Returns whether the clause of the subject ends right before the verb.

    "Berlin, where Ann lives, lies on the Spree" says nothing of Ann.
    """
    said = [word for word in before if word.text not in ARTICLES]
    is_relative = len(said) > 1 and said[-1].text in RELATIVES | {"where", "when", "wo"}
    return is_relative and len(until_verb) > 1 and "," in until_verb[-1].marks


def _is_part_of_longer_noun(before: Sequence[_Word], between: Sequence[_Word]) -> bool:
    """Returns whether the subject is a part of what the verb is about.

    "The area around Lyon has …", but "In Lyon …", "by Ann, who was …", "by Ann and was …".
    """
    said = [word for word in before if word.text not in ARTICLES]
    if len(said) < 2 or said[-1].text not in PREPOSITIONS - TIMES or said[-1].marks:
        return False
    noun = said[-2]
    follows_noun = noun.text not in PREPOSITIONS | AUXILIARIES and not _is_participle(noun)
    return follows_noun and not _is_border(between[0])


def _is_only_planned(until_verb: Sequence[_Word]) -> bool:
    """Returns whether a verb is only planned: "was designed to carry", "considered acquiring"."""
    said = ["", "", *(word.text for word in until_verb)]
    if said[-2] == "to":
        return said[-3] in PLANNED
    return said[-1].endswith("ing") and said[-2].startswith(CONSIDER)


def _is_participle(word: _Word) -> bool:
    return OTHER_VERB.fullmatch(word.text) is not None


def _has_own_subject(
    between: Sequence[_Word], verb: int, stems: Collection[str], subject: Collection[str]
) -> bool:
    """Returns whether the verb between subject and object has another subject."""
    if any(
        word.text in COMPARING and not (after.text in PRONOUNS or after.text.endswith("ing"))
        for word, after in pairwise(between[:verb])
    ):
        return True
    border = max(_find_borders(between, 0, verb + 1), default=None)
    if border is None:
        if _begins_clause_of_time(between[:verb]):
            return True
        # "Acme said Initech acquired Globex", "Ann played a woman born", but "Acme of Bath
        # acquired", "Acme is a firm founded"
        head = [word for word in between[:verb] if word.text not in ADVERBS]
        return (
            len(head) > 1
            and _is_verb(head[0])
            and (head[-1].is_name or (len(head) > 2 and head[1].text in DETERMINERS))
            and not any(word.text in PREPOSITIONS or stem_verb(word.text) in stems for word in head)
        )
    linkers = JOINING | CONTRASTING | ADVERBS
    clause = [word for word in between[border:verb] if word.text not in linkers]
    head = [word for word in clause if word.text not in AUXILIARIES]
    before = between[:border]
    if len(head) == 1 and head[0].text in DETERMINERS - {"others"}:
        return False  # "and her recordings were"
    if any(stem_verb(word.text) in stems for word in head):
        return False  # "and the design was conceived"
    if head and head[0].text in RELATIVES:
        if before and head[0].text == "that" and before[-1].text in COPULAS:
            return False  # "is that part of"
        return _has_other_antecedent(before, head, "," in between[border].marks)
    if not head or clause[0] != head[0] or between[verb - 1].text == "to":
        return False  # "and was founded", "and to found"
    if head[0].text in PREPOSITIONS or _is_about_same(head) or not _has_predicate(before, stems):
        return False  # "and she founded", "and in 1900 founded", "Ann and Bo founded"
    is_numbered = any(word.text[0].isdigit() and word.text not in subject for word in head)
    if any(word.text in subject for word in head) and not is_numbered:
        return False
    linker = between[border]
    if linker.text in CONTRASTING or ";" in linker.marks:
        return True
    if linker.text not in JOINING and not any(stem_verb(word.text) in stems for word in before):
        return False  # "Bo is from Ulm, Germany and …"
    is_participle = between[verb].text.endswith("ed") or between[verb].text in ("sold", "built")
    if is_participle and len(clause) == len(head) and any(w.text in COPULAS for w in before):
        return between[verb + 1 : verb + 2] == [] or between[verb + 1].text not in PREPOSITIONS
    has_verb = len(clause) > len(head) or FINITE_VERB.fullmatch(between[verb].text) is not None
    return has_verb and (head[0].is_name or is_numbered or head[0].text in DETERMINERS)


def _begins_clause_of_time(words: Sequence[_Word]) -> bool:
    """Returns whether a clause like "before Bob was" begins among the words before a verb."""
    return any(
        word.text in TIMES and name.is_name and words[-1].text in AUXILIARIES
        for word, name in pairwise(words)
    )


def _is_about_same(head: Sequence[_Word]) -> bool:
    """Returns whether a clause has a pronoun for its subject."""
    return any(word.text in PRONOUNS for word in head)


def _has_other_antecedent(before: Sequence[_Word], head: Sequence[_Word], has_comma: bool) -> bool:
    """Returns whether a relative clause is about another thing than the subject, or has its own.

    Args:
        before: what is between the subject and the clause.
        head: what is between the subject and the verb of the clause.
        has_comma: whether the clause is set apart.
    """
    if len(head) > 1:
        if head[1].text in PRONOUNS:
            return False
        if head[0].text == "whose" or head[-1].is_name:
            return True
    is_list = all(word.is_name or word.text in JOINING for word in before)
    if is_list or not any(word.text in JOINING or _is_predicate(word) for word in before):
        # "The Bank of Ulm that was founded", but "Ann met Bo, who founded"
        return bool(before) and _has_predicate(before, ())
    # "Heat is a film that was directed by Mann", but "Acme has a client that runs on Windows"
    number = next((n for n, word in enumerate(before) if word.text in COPULAS), None)
    if number is None or before[number + 1 : number + 2] == []:
        return True
    following = before[number + 1].text
    if (
        following in PREPOSITIONS - {"among"}
        or following.endswith("ed")
        or before[number + 1].is_name
    ):
        return True
    if not (has_comma and before[-1].is_name):
        return False
    found = [word.text for word in before if word.text in PREPOSITIONS | {"than"}]
    place = found[-2:-1] if found[-1:] == ["of"] and found[1:] else found[-1:]
    return bool(place) and place[0] not in ("in", "at", "on", "from")


def _is_verb(word: _Word) -> bool:
    """Returns whether what follows a subject can be a verb."""
    other = PREPOSITIONS | JOINING | CONTRASTING | RELATIVES | DETERMINERS | AUXILIARIES
    return not (word.marks or word.is_name or word.text in other)


def _is_manner(word: _Word) -> bool:
    """Returns whether a word is an adverb such as "closely"."""
    return word.text.endswith("ly") and not word.is_name


def _is_predicate(word: _Word) -> bool:
    return word.text in AUXILIARIES and word.text != "s"


def _has_predicate(words: Sequence[_Word], stems: Collection[str]) -> bool:
    said = [word for word in words if word.text not in ADVERBS and not _is_manner(word)]
    return bool(said) and (
        (_is_verb(said[0]) and FINITE_VERB.fullmatch(said[0].text) is not None)
        or any(_is_predicate(word) or stem_verb(word.text) in stems for word in said)
    )


def _leaves_relation(
    between: Sequence[_Word],
    verb: int,
    preposition: str,
    target: Sequence[_Word],
    after: Sequence[_Word],
) -> bool:
    """Returns whether other words than the verb and its preposition govern the object."""
    rest = between[verb + 1 :]
    if [word.text for word in rest] == ["that"]:
        return False  # "Ann said that …"
    is_present = between[verb].text.endswith("s")
    borders = _find_borders(rest, 0, len(rest))
    for border in reversed(borders):
        piece = [word for word in rest[border:] if word.text not in JOINING | ADVERBS]
        if len(piece) == 1 and piece[0].text in PREPOSITIONS and _gives_order(after):
            return True
        said = [word for word in piece if word.text not in ARTICLES]
        if said and said[0].text == preposition:
            break
        if len(said) > 1 and said[0].text == "that" and said[1].text in ("same", "year", "day"):
            continue
        governing = between[: verb + 1 + border]
        if ";" in rest[border].marks or _has_other_owner(governing, piece, preposition, target):
            return True
        if said and said[0].text in (RELATIVES - {"what"}) | CONTRASTING | {"there"}:
            return True
        is_governed = any(
            word.text == preposition if preposition else word.is_name for word in rest[:border]
        )
        if is_governed and _has_other_verb(piece, preposition, is_present):
            return True
    last = rest[borders[-1] :] if borders else rest
    if borders and not preposition and not target[0].marks and rest[-1].text not in JOINING:
        # "Version 1 supports Linux, version 2 Windows"
        owner = [word for word in last if not (_is_manner(word) or word.text in UNSAID)]
        if owner and (all(word.is_name for word in owner) or owner[-1].text[0].isdigit()):
            return True
    if target[0].marks.strip("(["):
        last = []
    found = [
        word.text
        for before, word in pairwise([_Word("", False, ""), *last])
        if word.text in PREPOSITIONS or (word.text == "than" and before.text not in MORE)
    ]
    kept = [word for word in found if word != "of" or preposition == "of"]
    if kept[-1:] in (["over"], ["to"]) and target[0].text[0].isdigit() and preposition != "from":
        return False  # "over 300", "close to 300"
    if not kept or kept[-1] == preposition:
        return False
    return kept[-1] in (LEADING_ELSEWHERE if preposition else LEADING_FROM_VERB)


def _has_other_owner(
    before: Sequence[_Word], piece: Sequence[_Word], preposition: str, target: Sequence[_Word]
) -> bool:
    """Returns whether the object belongs to another thing, whose verb is left out.

    "Redis is written in C, Cassandra in Java": what is joined names a thing, and has the
    preposition again, which governs an object of the same sort before, a word or a number.
    """
    number = next((n for n, word in enumerate(piece) if word.text == preposition), 0)
    owner = [word for word in piece[:number] if word.text not in ARTICLES]
    # "her brother in Paris"; "won gold in 1950, silver in 1952", but "mainly in 1952"
    is_owned = bool(owner) and (
        owner[0].text in POSSESSIVES
        or (len(owner) == 1 and bool(piece[0].marks) and not _is_manner(owner[0]))
    )
    if (
        preposition == "of"  # which many names have
        or not owner
        or owner[0].text[0].isdigit()
        or any(word.marks for word in piece[1 : number + 1])
        or not (is_owned or all(word.is_name for word in owner))
    ):
        return False
    said = [word for word in before if word.text not in ARTICLES]
    return any(
        word.text == preposition and following.text[0].isdigit() == target[0].text[0].isdigit()
        for word, following in pairwise(said)
    )


def _gives_order(after: Sequence[_Word]) -> bool:
    return bool(after) and after[0].text in ORDERING


def _has_other_verb(piece: Sequence[_Word], preposition: str, is_present: bool) -> bool:
    """Returns whether what is joined has a verb or a noun of its own: "died in", "the wife of"."""
    said = [word for word in piece if word.text not in ARTICLES]
    if not said or said[0].is_name or said[0].text in PREPOSITIONS:
        return False
    is_verb = OTHER_VERB.fullmatch(said[0].text) or (is_present and said[0].text.endswith("s"))
    if not preposition:
        has_verb = OTHER_VERB.fullmatch(said[0].text) is not None
        return len(said) == 1 and has_verb and said[0].text not in NAMING
    if len(said) > 4 or said[-1].text != preposition:
        return False
    return preposition == "of" or (bool(is_verb) and piece[0].text not in ARTICLES)


def _find_preposition(relation: str) -> str:
    """Returns the preposition that a relation ends in, if it does."""
    last = relation.split()[-1:]
    return last[0] if last and last[0] in PREPOSITIONS | {"than"} else ""


def _is_reversed(between: Sequence[_Word], rest: Sequence[_Word], stems: Collection[str]) -> bool:
    """Returns whether the object is the subject of the verb after it: "Acme, which Bo founded"."""
    said = [word for word in between if word.text not in ARTICLES]
    if not said:
        return False
    skipped = (AUXILIARIES - {"s"}) | ADVERBS
    verb = next(dropwhile(lambda word: word.text in skipped, rest), None)
    if verb is None or verb.marks or stem_verb(verb.text) not in stems:
        return False
    if said[-1].text in RELATIVES:
        return True
    # "Acme, a firm Bo founded", but "has a rock music format"
    is_noun = _is_verb(said[-1]) and FINITE_VERB.fullmatch(said[-1].text) is None
    return is_noun and FINITE_VERB.fullmatch(verb.text) is not None
