"""Splits an answer into claims: sentences, and the clauses of a sentence that can stand alone.

Nothing is split where a part alone could say something else than it says in its sentence: below a
denial ("It is a myth that A and that B"), at words that say why ("A because B" claims more than A
and B), and where a part has no subject or verb of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from eval.synthlink.claims.retractions import RetractionReader
from eval.synthlink.claims.words import (
    Word,
    are_opposite,
    is_german,
    is_noun_of_lexicon,
    is_verb,
    split_text,
)
from eval.synthlink.sentences import is_question, split_statements
from kg.base.plain_text import list_words

_ARROW: Final = re.compile(r"\s*(?:→|⇒|⟶|->|=>|-->)\s*")
# Places where a clause may end; the part after the mark begins with what is kept.
_CLAUSE_END: Final = re.compile(
    r";\s+|,?\s+(?:and|but|while|whereas|und|aber|während|sondern)\s+|,\s+(?=(?:which|who|whose)\s)"
)
_RELATIVE: Final = re.compile(r"(?:which|who|whose)\s", re.IGNORECASE)
# After these words a clause is what somebody says, believes or rejects.
_SCOPE: Final = re.compile(r"\b(?:that|whether|if|dass|daß|ob)\s", re.IGNORECASE)
# "…, which is a lie": the clause says something of the sentence, not of its last thing.
_COMMENT: Final = re.compile(
    r"(?:which|who)\s+(?:is|was|are|were)\s+(?:an?|no|not|just|of course|untrue|false|wrong)\b",
    re.IGNORECASE,
)
_INSERTED: Final = re.compile(
    r"(?P<subject>[^,;:]{2,80}), (?P<relative>(?:which|who) [^,;:]+|[a-z]+(?:ed|un|en|own) "
    r"(?:by|in|at|on) [^,;:]+), (?P<rest>[^,;:].*)",
    re.DOTALL,
)
_PREPOSITIONS: Final = r"(?:in|at|on|by|with|under|after|before|from|to|for|during|through)"
_PHRASE: Final = re.compile(rf"{_PREPOSITIONS}\s+", re.IGNORECASE)
_ARTICLE: Final = re.compile(r"the\s+", re.IGNORECASE)
_LATER: Final = re.compile(r"(?:later|afterwards),\s+", re.IGNORECASE)
_PREPOSITION: Final = re.compile(rf"\b{_PREPOSITIONS}\s")
# "X opened in 1825 and joined Y with Z" claims two things of X.
_SECOND_VERB: Final = re.compile(r"\s+(?:and|und)\s+(?=[a-zäöü]+)")
_UNTIL: Final = re.compile(r"until \d{4}\b")
_BE: Final = frozenset(list_words("is are was were been wurde wurden"))
_JOINING: Final = frozenset(
    list_words(
        "which who whom whose that where when while because since after before until although "
        "though if dass weil wo als nachdem bevor wenn um"
    )
)
"""Words that begin a clause within another."""
_SUBORDINATE: Final = _JOINING | frozenset(list_words("to zu der die das den dem"))
"""Words after which a verb does not belong to the clause itself."""
# Where a denied sentence goes on with another statement.
_NEXT_DENIAL: Final = re.compile(
    r",\s+(?:and|but|nor|since|for|as|because|while|und|denn|da|weil)\s+", re.IGNORECASE
)
# "X did not open and was never built" denies two things of X.
_SECOND_DENIAL: Final = re.compile(
    r",?\s+(?:and|but)\s+(?=(?:(?:did|does|do|is|are|was|were|has|have|had|could|can)\s+"
    r"(?:not|never)|never)\s+[a-z])"
)
_FIRST_DENIAL: Final = re.compile(
    r"\s(?:(?:did|does|do|is|are|was|were|has|have|had|could|can)\s+(?:not|never)|never)\s"
)
# A second part that still depends on what is said before it: "…, and that it did not".
_REPORTED_PART: Final = re.compile(r"(?:that|whether|if|dass|daß|ob)\s", re.IGNORECASE)
_PRONOUN: Final = re.compile(
    r"(?:(?:in|at|by|on|with)\s+\w+,?\s+)?(?:it|its|he|his|she|her|they|their|this|these|that|those|such|er|sie|es|"
    r"sein|seine|ihr|ihre|dieser|diese|dieses|dessen|deren)\s",
    re.IGNORECASE,
)
# Words that begin a clause with its own subject.
_SUBJECT: Final = re.compile(
    r"(?:the|a|an|its|his|her|their|this|these|that|those|it|he|she|they|some|most|many|in|der|"
    r"die|das|ein|eine|sein|seine|ihre?|er|sie|es|\d{4})\s|[A-ZÄÖÜ]",
)
_DEFINITE: Final = re.compile(r"the\s+(?P<noun>[a-z]+)\s", re.IGNORECASE)
_MIN_LIST_ITEMS: Final = 3
# "146 dead" says what happened, as a name or year in a list does not.
_COUNTED: Final = re.compile(
    r"[\d.,]+ (?:dead|killed|wounded|injured|deaths|victims|tote|verletzte)", re.IGNORECASE
)
_LIST_ITEM_WORDS: Final = 4
"""Maximum number of words of an item in a mere list."""


# The last name before ", which": "the Longitude Act of 1714".
_LAST_NAME: Final = re.compile(
    r"(?:[A-ZÄÖÜ0-9][\w'’–-]*(?:\s+of(?:\s+the)?)?\s+)*[A-ZÄÖÜ0-9][\w'’–-]*(?=[\s,]*$)"
)


class ClaimText(NamedTuple):
    """One claim of an answer, before it is judged."""

    text: str
    context: str = ""
    """The text just before it in which a pronoun's or relative clause's subject is named."""
    sentence: str = ""
    """The whole sentence."""
    german: bool = False
    is_retracted: bool = False
    """Whether something else in the answer says that it may be wrong."""
    is_list: bool = False
    """Whether it is a list of words, or names alternatives, so that it states nothing."""
    without_later: str = ""
    """The text without "later" at its start, if years show that it was later."""

    @property
    def plain(self) -> str:
        """The text, without "later" if years show that it was."""
        return self.without_later or self.text

    @property
    def resolved(self) -> str:
        """A claim that begins with "which" or "who", with the name that this stands for.

        It is empty for other claims, and where the text before does not end with a name.
        """
        relative = _RELATIVE.match(self.text)
        if relative is None or relative.group().strip().lower() == "whose":
            return ""
        name = _LAST_NAME.search(self.context.rstrip())
        return f"{name.group()} {self.text[relative.end() :]}" if name else ""


def split_claims(answer: str, topic: Collection[str] = ()) -> list[ClaimText]:
    """Splits an answer into claims, in order; questions are left out.

    Args:
        answer: the answer.
        topic: words, in lower case, of what it should be about, which help to find sentences that
            are about other sentences.
    """
    claims: list[ClaimText] = []
    previous = ""
    n_before = n_now = n_retracted = 0
    german = is_german(answer)
    reader = RetractionReader(topic)
    for text in split_statements(answer):
        if is_question(text):
            reader.read_question(text)
            continue
        scope = reader.read(text)
        claims += (
            claim._replace(
                sentence=text, german=german, without_later=_drop_later(claim.text, previous)
            )
            for claim in _split_sentence(text, previous)
        )
        previous = text
        if scope == "all":
            n_retracted = len(claims)
        elif scope == "last" or reader.denies_following:
            start = n_before if scope == "last" else n_now
            claims[start:] = [claim._replace(is_retracted=True) for claim in claims[start:]]
        n_before = n_now
        n_now = len(claims)
    claims[:n_retracted] = [claim._replace(is_retracted=True) for claim in claims[:n_retracted]]
    return claims


def _split_sentence(sentence: str, previous: str) -> list[ClaimText]:
    nodes = [node.strip() for node in _ARROW.split(sentence)]
    if len(nodes) > 1 and all(nodes):
        return [ClaimText(f"{a} → {b}") for a, b in itertools.pairwise(nodes)]
    if any(word.kind in ("negation", "hedge") for word in split_text(sentence)):
        parts = _split_denied(sentence)
    else:
        clauses = [(part, before, False) for part, before in _split_clauses(sentence)]
        parts = [(one, before, no) for part, before, no in clauses for one in _split_verbs(part)]
    first, *_ = parts[0]
    claims = []
    for part, before, is_uncertain in parts:
        context = ""
        is_of_name = _RELATIVE.match(part) and _is_name(before)
        above = previous if part is first and not is_of_name else before
        if _RELATIVE.match(part) or _PRONOUN.match(part) or _names_again(part, above):
            context = above
        claims.append(ClaimText(part, context, is_retracted=is_uncertain, is_list=is_list(part)))
    return claims


def _is_name(subject: str) -> bool:
    """Returns whether a subject is a name only, so that "which" stands for all of it."""
    thing = _ARTICLE.sub("", _PHRASE.sub("", subject, count=1), count=1)
    return _LAST_NAME.fullmatch(thing) is not None


def _drop_later(claim: str, previous: str) -> str:
    """Returns a claim without "later" at its start; empty if its year does not show that it was.

    Args:
        claim: the claim.
        previous: the sentence before it, which has to have earlier years.
    """
    later = _LATER.match(claim)
    if later is None:
        return ""
    mine, before = (
        [word.value for word in split_text(text) if word.value is not None and word.number.is_year]
        for text in (claim, previous)
    )
    is_later = not previous or (bool(before) and bool(mine) and max(before) < min(mine))
    if not mine or not is_later:
        return ""
    rest = claim[later.end() :]
    return f"{rest[:1].upper()}{rest[1:]}"


def _names_again(part: str, before: str) -> bool:
    """Returns whether a part begins with "the act" and the text before it names one act only."""
    noun = _DEFINITE.match(part)
    return noun is not None and (
        len(re.findall(rf"\b{re.escape(noun['noun'])}s?\b", before, re.IGNORECASE)) == 1
    )


def _split_denied(sentence: str) -> list[tuple[str, str, bool]]:
    """Splits a sentence with a negation or hedge.

    Returns:
        Each part, the text before it, and whether it is uncertain what it says: in "It is a myth
        that A; B", A is denied, but B may be denied or claimed.
    """
    parts: list[tuple[str, str, bool]] = []
    before = ""
    is_reported = False
    for part in re.split(r";\s+", sentence):
        rest = part.strip()
        # Each part with a negation of its own denies for itself.
        for end in _NEXT_DENIAL.finditer(rest):
            head, tail = rest[: end.start()], rest[end.end() :]
            if end.group().strip(" ,").casefold() == "nor":
                tail = f"Nor {tail}"
            if _denies(head) and _denies(tail) and _has_verb(head) and _has_verb(tail):
                # "It is a myth that A, and no B did it" says the second itself.
                parts.append((head, before, is_reported))
                before, rest = f"{before} {head}".strip(), tail
                is_reported = is_reported or _REPORTED_PART.match(tail) is not None
                break
        second, first = _SECOND_DENIAL.search(rest), _FIRST_DENIAL.search(rest)
        if second and first and first.start() < second.start() and not _SCOPE.search(rest):
            subject, head = rest[: first.start()], rest[: second.start()]
            if "," not in subject and not _has_verb(subject):
                parts.append((head, before, is_reported))
                before = f"{before} {head}".strip()
                rest = f"{subject} {rest[second.end() :]}"
        if rest:
            parts.append((rest, before, is_reported))
        is_reported = is_reported or _SCOPE.search(rest) is not None
        before = f"{before} {rest}".strip()
    return parts


def _denies(text: str) -> bool:
    return any(word.kind == "negation" for word in split_text(text))


def split_dated_verbs(clause: str) -> list[str]:
    """Splits a clause of the evidence as "X began in 1858 and lasted until 1947"."""
    return _split_verbs(clause, joining=_JOINING - {"until"}) if _UNTIL.search(clause) else [clause]


def _split_verbs(clause: str, joining: Collection[str] = _JOINING) -> list[str]:
    """Splits a clause whose subject has two verbs; the subject is repeated before the second."""
    words = split_text(clause)
    verb = next((word for word in words if _is_finite(word)), None)
    is_joined = any(word.key in joining for word in words[1:])
    if verb is None or is_joined or _has_infinitive(words) or is_list(clause):
        return [clause]
    subject = clause[: verb.start].strip()
    for end in _SECOND_VERB.finditer(clause, verb.start + len(verb.text)):
        first, second = clause[: end.start()], clause[end.end() :]
        following, *others = split_text(second)
        rest = split_text(first[verb.start :])[1:]
        has_object = any(word.kind != "light" and not _is_finite(word) for word in rest)
        if _is_finite(following) and others and has_object and subject:
            # "was sold and taken to X": the second verb is a participle, too.
            is_passive = verb.key in _BE and re.match(r"\w+\s+(?:\w+\s+)?(?:by|von)\s", second)
            link = f"{verb.text} " if is_passive else ""
            return [first, *_split_verbs(f"{subject} {link}{second}")]
    return [clause]


def _has_infinitive(words: Sequence[Word]) -> bool:
    """Returns whether a verb follows "to": "tried to build X and sell Y" says neither."""
    return any(
        before.key in ("to", "zu") and is_verb(word) for before, word in itertools.pairwise(words)
    )


def _is_finite(word: Word) -> bool:
    return is_verb(word) and not is_noun_of_lexicon(word)


def _split_clauses(sentence: str) -> list[tuple[str, str]]:
    """Returns the clauses of a sentence, each with the text before it."""
    # "X, which was Y, did Z" claims that X was Y and that X did Z.
    inserted = _INSERTED.fullmatch(sentence)
    if (
        inserted
        and not _COMMENT.match(inserted["relative"])
        and not _has_verb(inserted["subject"])
        and not _SCOPE.search(inserted["subject"])
        and _has_verb(inserted["rest"])
    ):
        subject, relative = inserted["subject"], inserted["relative"]
        phrase = _PHRASE.match(subject)
        thing = subject[phrase.end() :] if phrase else subject
        if not _RELATIVE.match(relative):
            relative = f"{thing[:1].upper()}{thing[1:]} was {relative}"
        # "In the treaty, signed in 1842, China ceded it": the treaty was signed, and in it …
        joint = ", " if phrase else " "
        if not phrase or not _PREPOSITION.search(thing):
            return [
                (relative, subject),
                *_split_clauses(f"{subject}{joint}{inserted['rest']}"),
            ]
    parts: list[tuple[str, str]] = []
    start = 0
    for end in _CLAUSE_END.finditer(sentence):
        before, after = sentence[start : end.start()], sentence[end.end() :]
        is_relative = _RELATIVE.match(after) is not None
        if end.group().startswith(";") or (
            _has_verb(before)
            and _has_own_verb(after)
            and (is_relative or _SUBJECT.match(after) is not None)
            and not _joins_names(before, end.group(), after)
            and not _SCOPE.search(sentence[: end.start()])
            and not _COMMENT.match(after)
        ):
            parts.append((before.strip(), sentence[:start]))
            start = end.end()
    parts.append((sentence[start:].strip(), sentence[:start]))
    return [(part, before) for part, before in parts if part]


def _joins_names(before: str, joint: str, after: str) -> bool:
    """Returns whether "and" without a comma stands between two names, as in "Watson and Crick"."""
    last, following = before.split()[-1:], after.split()[:1]
    return "," not in joint and all(word[:1].isupper() for word in (*last, *following))


def _has_own_verb(text: str) -> bool:
    """Returns whether a clause has a verb that is not subordinate, as in "Y, which did Z"."""
    words = split_text(text)
    if words and words[0].key in ("which", "who", "whose"):
        words = words[1:]
    own = list(
        itertools.takewhile(lambda word: word.key not in _SUBORDINATE or word is words[0], words)
    )
    return any(map(is_verb, own))


def _has_verb(text: str) -> bool:
    return any(is_verb(word) for word in split_text(text))


def is_list(text: str) -> bool:
    """Returns whether a text lists words without a statement, or joins names by "or".

    Such a text says nothing that could be right or wrong: whoever lists all names says none.
    """
    _, colon, rest = text.partition(": ")
    if colon and rest.strip():
        return is_list(rest)  # "Watson and Crick: double helix, 1953" says what both did
    items = [item for item in re.split(r"[,/|]\s*|\s+(?:or|oder|and|und)\s+", text) if item.strip()]
    short = all(len(item.split()) <= _LIST_ITEM_WORDS for item in items)
    # After the first item, a capital shows a name, which may look like a verb: "Mountbatten".
    inner = [items[0], *(f"a {item}" for item in items[1:])] if items else []
    if any(_COUNTED.fullmatch(item.strip(" .")) for item in items[1:]):
        return False
    if len(items) >= _MIN_LIST_ITEMS and short and not any(map(_has_verb_form, inner)):
        return True
    if len(items) > 1 and short and _names_opposites(items):
        return True
    words = split_text(text)
    if any(word.kind == "negation" for word in words) and any(map(is_verb, words)):
        return False  # who denies "A or B" denies both
    return any(
        word.key in ("or", "oder")
        and 0 < index < len(words) - 1
        and all(words[place].kind in ("name", "number") for place in (index - 1, index + 1))
        for index, word in enumerate(words)
    )


def _has_verb_form(item: str) -> bool:
    """Returns whether an item has a word that is hardly anything else than a verb."""
    return any(is_verb(word) and not is_noun_of_lexicon(word) for word in split_text(item))


def _names_opposites(items: list[str]) -> bool:
    words = [word for item in items for word in split_text(item)]
    return any(are_opposite(first.key, second.key) for first in words for second in words)
