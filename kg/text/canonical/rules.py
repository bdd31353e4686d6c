"""Rules on whether two keywords are synonyms: interchangeable in any sentence.

Two are synonyms only on positive evidence, and only if no rule refutes it. What the rules do not
know is no synonym: a missed one leaves two nodes, a wrong one puts false links into the graph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from kg.text.canonical.rule_words import (
    ARTICLES,
    CONTRASTS,
    IRREGULAR,
    NEGATIONS,
    NUMBER_WORDS,
    PREFIXES,
)
from kg.text.normaliser import is_acronym_of, mend, stem, words, written_words

_DIGITS = re.compile(r"\d+(?:\.\d+)*")
_SPELLINGS = (
    (re.compile(r"is(?=(?:ation|ing|e[drs]?|able|ability|er)$)"), "iz"),
    (re.compile(r"ys(?=(?:ing|e[drs]?|er)$)"), "yz"),
    (re.compile(r"(?<=[a-z]{2})our(?=(?:s|al|able|ing|ed|ful|less|ite)?$)"), "or"),
    (re.compile(r"(?<=[bcht])re$"), "er"),
    (re.compile(r"ogue$"), "og"),
    (re.compile(r"(?<=[aeiou])ll(?=(?:ing|ed|er)$)"), "l"),
    (re.compile(r"(?:(?<=[xh])|(?<=ss)|(?<=zz))e$"), ""),  # index(e)s, hash(e)s, class(e)s
)
_MOST_WORDS = 12
"""A longer phrase is no keyword, and no rule is meant for it."""
_SIGNED = re.compile(r"[^\W\d_][+#]*")
_VOWEL = re.compile("[aeiouy]")
_TYPO_LETTERS, _ANY_TYPO_LETTERS = 8, 11


class Judgement(NamedTuple):
    """What the rules say of two keywords."""

    same: bool
    reason: str
    """The rule that decided; empty where none had anything to say."""


class _Phrase(NamedTuple):
    """A keyword as the rules see it."""

    written: tuple[str, ...]
    words: tuple[str, ...]
    lemmas: tuple[str, ...]


def judge(one: str, other: str) -> Judgement:
    """Whether two keywords are synonyms, and by which rule."""
    first, second = _phrase(one), _phrase(other)
    if (
        not first.words
        or not second.words
        or max(len(first.words), len(second.words)) > _MOST_WORDS
    ):
        return Judgement(False, "")
    if first.lemmas == second.lemmas:
        return Judgement(True, "lemma")
    if _numbers(first) == _numbers(second):
        if "".join(first.words) == "".join(second.words):
            return Judgement(True, "spacing")
        if "".join(first.lemmas) == "".join(second.lemmas):
            return Judgement(True, "spacing")
        if _shortened(first, second) or _shortened(second, first):
            return Judgement(True, "acronym")
        if _turned(first, second) or _turned(second, first):
            return Judgement(True, "order")
    veto = _veto(first, second)
    if veto:
        return Judgement(False, veto)
    for name, holds in (("inflection", _inflected), ("typing", _mistyped)):
        if holds(first, second) or holds(second, first):
            return Judgement(True, name)
    return Judgement(False, "")


def refuted(one: str, other: str) -> bool:
    """Whether a rule says that two keywords are no synonyms, whatever else speaks for it."""
    found = judge(one, other)
    return bool(found.reason) and not found.same


def is_acronym(keyword: str) -> bool:
    """Whether a keyword looks like an acronym: one word of capitals, or of digits and letters."""
    written = written_words(keyword)
    if len(written) != 1:
        return False
    word = written[0]
    capitals = sum(char.isupper() for char in word)
    letters = sum(char.isalpha() for char in word)
    if not 2 <= len(word) <= 9 or not letters:
        return False
    if capitals >= 2 and capitals * 2 >= letters:
        return True
    return word[0].isdigit() and letters >= 2


def abbreviates(short: str, long: str) -> bool:
    """Whether an acronym stands for a phrase, its last letter for the phrase's last word.

    Letters from inside a word occur in names (DBMS, HTML), but not at their end: "MRU" is not
    short for "manager runs".
    """
    ends = {word[-1:] for word in (short.casefold(), stem(short.casefold()))}
    last = (words(long) or [""])[-1]
    return (last[:1] in ends or NUMBER_WORDS.get(last) in ends) and is_acronym_of(short, long)


@lru_cache(maxsize=65536)
def _phrase(keyword: str) -> _Phrase:
    written = [word for word in written_words(mend(keyword)) if word.casefold() not in ARTICLES]
    plain = tuple(stem(word.casefold()) for word in written)
    return _Phrase(tuple(written), plain, tuple(lemma(word) for word in plain))


def lemma(word: str) -> str:
    """One form for the irregular plurals and the British and American spellings of a stem.

    Made for comparing, not for reading: "analysis" stays the stem "analysi".
    """
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) > 3:
        for pattern, instead in _SPELLINGS:
            word = pattern.sub(instead, word)
    return word


def kindred(one: str, other: str) -> bool:
    """Whether two phrases are made of the same words, gerunds and their verbs being one."""
    roots = [
        [_without_ing(word) or _without_e(word) for word in _phrase(keyword).lemmas]
        for keyword in (one, other)
    ]
    return roots[0] == roots[1]


def letters(keyword: str) -> str:
    """A keyword without spaces, in one spelling and number: what "spacing" and "lemma" go by."""
    return "".join(_phrase(keyword).lemmas)


def _numbers(phrase: _Phrase) -> list[str]:
    """All numbers in a phrase, written in digits, sorted: of "third normal form" the 3."""
    found: list[str] = []
    for word in phrase.words:
        found.extend([NUMBER_WORDS[word]] if word in NUMBER_WORDS else _DIGITS.findall(word))
    return sorted(found)


def _shortened(short: _Phrase, long: _Phrase) -> bool:
    """Whether two phrases differ by an acronym for some words of the other, or by its repetition.

    "WAL protocol" and "write-ahead logging protocol"; "write-ahead logging (WAL)" and "write-ahead
    logging".
    """
    before = _shared(short.lemmas, long.lemmas)
    after = _shared(short.lemmas[before:][::-1], long.lemmas[before:][::-1])
    core = short.written[before : len(short.written) - after]
    whole = long.words[before : len(long.words) - after]
    if len(core) == 1 and len(whole) > 1:
        return is_acronym(core[0]) and abbreviates(core[0], " ".join(whole))
    if not core and len(whole) == 1:
        # The longer one repeats itself; its other words are all of the shorter one.
        extra = long.written[before]
        return is_acronym(extra) and abbreviates(extra, " ".join(short.words))
    return False


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two phrases begin with in common."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _veto(first: _Phrase, second: _Phrase) -> str:
    """The rule that refutes two phrases; empty when none does."""
    if _numbers(first) != _numbers(second):
        return "number"
    mine, yours = set(first.lemmas), set(second.lemmas)
    if {word for word in mine if _SIGNED.fullmatch(word)} != {
        word for word in yours if _SIGNED.fullmatch(word)
    }:
        return "letter"  # B-tree and B+-tree, C and C++, type A and type B
    only_mine, only_yours = mine - yours, yours - mine
    codes = [
        {word for word in some if any(char.isdigit() for char in word) and not word.isdigit()}
        for some in (only_mine, only_yours)
    ]
    if all(codes):
        return "code"  # 2PL and 2PC
    if (mine & NEGATIONS) != (yours & NEGATIONS):
        return "negation"
    for one in only_mine:
        for other in only_yours:
            if any(one in line and other in line for line in CONTRASTS):
                return "contrast"
            long, short = (one, other) if len(one) > len(other) else (other, one)
            if len(short) > 2 and long.endswith(short) and long[: -len(short)] in PREFIXES:
                return "prefix"
    if (only_mine or only_yours) and not (only_mine and only_yours):
        return "modifier"  # strict 2PL and 2PL
    return ""


def _turned(one: _Phrase, other: _Phrase) -> bool:
    """As "level of isolation" and "isolation level", "reads and writes" and "writes and reads"."""
    if one.words.count("of") == 1 and "of" not in other.words:
        place = one.words.index("of")
        return other.lemmas == one.lemmas[place + 1 :] + one.lemmas[:place]
    if one.words.count("and") == 1 and other.words.count("and") == 1:
        place = one.words.index("and")
        return other.lemmas == (*one.lemmas[place + 1 :], "and", *one.lemmas[:place])
    return False


def _inflected(one: _Phrase, other: _Phrase) -> bool:
    """As "locking protocol" and "lock protocol": a gerund before the word it describes.

    Not at the end, where it names an act and not a thing (index, indexing). Participles stay
    what they are: a referencing relation is not a referenced one.
    """
    if len(one.lemmas) != len(other.lemmas) or len(one.lemmas) < 2:
        return False
    differing = _differing(one, other)
    return (
        len(differing) == 1
        and differing[0] < len(one.lemmas) - 1
        and _without_ing(one.words[differing[0]]) == _without_e(other.words[differing[0]])
    )


def _without_ing(word: str) -> str:
    """What a gerund is made of, without a final e; empty for another word."""
    root = word.removesuffix("ing")
    if root == word or len(root) < 3 or not _VOWEL.search(root):
        return ""
    if root[-1] == root[-2] and root[-1] not in "aeioulsz":
        root = root[:-1]
    return _without_e(root)


def _without_e(word: str) -> str:
    return word.removesuffix("e")


def _mistyped(one: _Phrase, other: _Phrase) -> bool:
    """One word differs, and by no more than a slip of the hand can do to a long word.

    From eight letters on: two neighbours exchanged, a letter doubled or one of a double dropped.
    From eleven on: any one letter. Shorter words that differ by a letter are mostly two words.
    """
    if len(one.lemmas) != len(other.lemmas):
        return False
    differing = _differing(one, other)
    if len(differing) != 1:
        return False
    left, right = sorted((one.words[differing[0]], other.words[differing[0]]), key=len)
    if not left.isalpha() or not right.isalpha() or left[0] != right[0]:
        return False
    if len(left) < _TYPO_LETTERS or len(right) - len(left) > 1:
        return False
    start = _shared(left, right)
    if len(left) == len(right):
        exchanged = left[:start] + left[start : start + 2][::-1] + left[start + 2 :] == right
        replaced = left[start + 1 :] == right[start + 1 :]
        return exchanged or (replaced and len(left) >= _ANY_TYPO_LETTERS)
    added = left[start:] == right[start + 1 :]
    return added and (right[start] == right[start - 1] or len(right) >= _ANY_TYPO_LETTERS)


def _differing(one: _Phrase, other: _Phrase) -> list[int]:
    """Places at which two phrases of one length have different words."""
    pairs = zip(one.lemmas, other.lemmas, strict=True)
    return [place for place, (left, right) in enumerate(pairs) if left != right]
