"""Rules that decide whether two keywords are synonyms, that is, interchangeable in any sentence.

Two keywords are synonyms only if one rule supports it and no rule refutes it. Without evidence they
are not: a missed synonym leaves two nodes, but a wrong one puts false links into the graph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from kg.text.canonical.rule_words import (
    ARTICLES,
    CONTRASTS,
    IRREGULAR_LEMMAS,
    NEGATIONS,
    NUMBER_WORDS,
    PREFIXES,
)
from kg.text.normaliser import is_acronym_of, repair_text, split_cased_words, split_words, stem_word

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
_MAX_WORDS = 12
"""Maximum number of words; the rules do not apply to longer phrases."""
_SIGNED = re.compile(r"[^\W\d_][+#]*")
_VOWEL = re.compile("[aeiouy]")
_MIN_TYPO_LETTERS, _MIN_ANY_TYPO_LETTERS = 8, 11


class Judgement(NamedTuple):
    """The result of the rules for two keywords."""

    is_synonym: bool
    reason: str
    """Name of the rule that decided; empty if none applied."""


class _Phrase(NamedTuple):
    """The analysed form of a keyword."""

    cased_words: tuple[str, ...]
    words: tuple[str, ...]
    lemmas: tuple[str, ...]


def judge_pair(one: str, other: str) -> Judgement:
    """Decides whether two keywords are synonyms, and by which rule."""
    first, second = _analyse_phrase(one), _analyse_phrase(other)
    if not first.words or not second.words or max(len(first.words), len(second.words)) > _MAX_WORDS:
        return Judgement(False, "")
    if first.lemmas == second.lemmas:
        return Judgement(True, "lemma")
    if _extract_numbers(first) == _extract_numbers(second):
        if "".join(first.words) == "".join(second.words):
            return Judgement(True, "spacing")
        if "".join(first.lemmas) == "".join(second.lemmas):
            return Judgement(True, "spacing")
        if _differ_by_acronym(first, second) or _differ_by_acronym(second, first):
            return Judgement(True, "acronym")
        if _differ_in_order(first, second) or _differ_in_order(second, first):
            return Judgement(True, "order")
    veto = _find_veto(first, second)
    if veto:
        return Judgement(False, veto)
    for name, holds in (("inflection", _differ_by_gerund), ("typing", _differ_by_typo)):
        if holds(first, second) or holds(second, first):
            return Judgement(True, name)
    return Judgement(False, "")


def is_refuted(one: str, other: str) -> bool:
    """Whether a rule decides that two keywords are not synonyms."""
    judgement = judge_pair(one, other)
    return bool(judgement.reason) and not judgement.is_synonym


def is_acronym(keyword: str) -> bool:
    """Whether a keyword looks like an acronym: a word of capitals, or of a digit and letters."""
    written = split_cased_words(keyword)
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


def abbreviates_phrase(short: str, long: str) -> bool:
    """Whether an acronym abbreviates a phrase, with its last letter for the phrase's last word.

    Acronyms may use letters from inside a word (DBMS, HTML), but not as the last one: "MRU" is
    not short for "manager runs".
    """
    ends = {word[-1:] for word in (short.casefold(), stem_word(short.casefold()))}
    last = (split_words(long) or [""])[-1]
    return (last[:1] in ends or NUMBER_WORDS.get(last) in ends) and is_acronym_of(short, long)


@lru_cache(maxsize=65536)
def _analyse_phrase(keyword: str) -> _Phrase:
    written = [
        word for word in split_cased_words(repair_text(keyword)) if word.casefold() not in ARTICLES
    ]
    plain = tuple(stem_word(word.casefold()) for word in written)
    return _Phrase(tuple(written), plain, tuple(lemmatise_stem(word) for word in plain))


def lemmatise_stem(word: str) -> str:
    """Unifies the irregular plurals and the British and American spellings of a stem.

    The result is for comparison and need not be a word: the stems of "analysis" and "analyses"
    both give "analysi".
    """
    if word in IRREGULAR_LEMMAS:
        return IRREGULAR_LEMMAS[word]
    if len(word) > 3:
        for pattern, instead in _SPELLINGS:
            word = pattern.sub(instead, word)
    return word


def have_same_roots(one: str, other: str) -> bool:
    """Whether two phrases have the same words if gerunds are reduced to their verbs."""
    roots = [
        [_strip_ing(word) or _strip_final_e(word) for word in _analyse_phrase(keyword).lemmas]
        for keyword in (one, other)
    ]
    return roots[0] == roots[1]


def join_lemmas(keyword: str) -> str:
    """Joins the lemmas of a keyword without spaces; equal for "spacing" and "lemma" synonyms."""
    return "".join(_analyse_phrase(keyword).lemmas)


def _extract_numbers(phrase: _Phrase) -> list[str]:
    """Returns all numbers of a phrase as digits, sorted: ["3"] for "third normal form"."""
    numbers: list[str] = []
    for word in phrase.words:
        numbers.extend([NUMBER_WORDS[word]] if word in NUMBER_WORDS else _DIGITS.findall(word))
    return sorted(numbers)


def _differ_by_acronym(short: _Phrase, long: _Phrase) -> bool:
    """Whether two phrases differ only by an acronym that replaces or repeats words of the other.

    Examples: "WAL protocol" and "write-ahead logging protocol"; "write-ahead logging (WAL)" and
    "write-ahead logging".
    """
    before = _count_common_prefix(short.lemmas, long.lemmas)
    after = _count_common_prefix(short.lemmas[before:][::-1], long.lemmas[before:][::-1])
    core = short.cased_words[before : len(short.cased_words) - after]
    replaced_words = long.words[before : len(long.words) - after]
    if len(core) == 1 and len(replaced_words) > 1:
        return is_acronym(core[0]) and abbreviates_phrase(core[0], " ".join(replaced_words))
    if not core and len(replaced_words) == 1:
        # The longer phrase is the shorter one plus its acronym.
        extra = long.cased_words[before]
        return is_acronym(extra) and abbreviates_phrase(extra, " ".join(short.words))
    return False


def _count_common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """Counts the words that two phrases have in common at the beginning."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _find_veto(first: _Phrase, second: _Phrase) -> str:
    """Returns the name of the rule that refutes a pair; empty if none does."""
    if _extract_numbers(first) != _extract_numbers(second):
        return "number"
    first_lemmas, second_lemmas = set(first.lemmas), set(second.lemmas)
    if {word for word in first_lemmas if _SIGNED.fullmatch(word)} != {
        word for word in second_lemmas if _SIGNED.fullmatch(word)
    }:
        return "letter"  # B-tree and B+-tree, C and C++, type A and type B
    only_first, only_second = first_lemmas - second_lemmas, second_lemmas - first_lemmas
    codes = [
        {word for word in some if any(char.isdigit() for char in word) and not word.isdigit()}
        for some in (only_first, only_second)
    ]
    if all(codes):
        return "code"  # 2PL and 2PC
    if (first_lemmas & NEGATIONS) != (second_lemmas & NEGATIONS):
        return "negation"
    for first_word in only_first:
        for second_word in only_second:
            if any(first_word in line and second_word in line for line in CONTRASTS):
                return "contrast"
            long, short = (
                (first_word, second_word)
                if len(first_word) > len(second_word)
                else (second_word, first_word)
            )
            if len(short) > 2 and long.endswith(short) and long[: -len(short)] in PREFIXES:
                return "prefix"
    if (only_first or only_second) and not (only_first and only_second):
        return "modifier"  # strict 2PL and 2PL
    return ""


def _differ_in_order(one: _Phrase, other: _Phrase) -> bool:
    """Whether two phrases differ in word order only.

    Examples: "level of isolation" and "isolation level"; "reads and writes" and "writes and reads".
    """
    if one.words.count("of") == 1 and "of" not in other.words:
        place = one.words.index("of")
        return other.lemmas == one.lemmas[place + 1 :] + one.lemmas[:place]
    if one.words.count("and") == 1 and other.words.count("and") == 1:
        place = one.words.index("and")
        return other.lemmas == (*one.lemmas[place + 1 :], "and", *one.lemmas[:place])
    return False


def _differ_by_gerund(one: _Phrase, other: _Phrase) -> bool:
    """Whether two phrases differ by a gerund, like "locking protocol" and "lock protocol".

    The gerund must not be the last word, where it names an activity instead of a thing ("index",
    "indexing"). Participles are not reduced: "referencing relation" is not "referenced relation".
    """
    if len(one.lemmas) != len(other.lemmas) or len(one.lemmas) < 2:
        return False
    differing = _find_differences(one, other)
    return (
        len(differing) == 1
        and differing[0] < len(one.lemmas) - 1
        and _strip_ing(one.words[differing[0]]) == _strip_final_e(other.words[differing[0]])
    )


def _strip_ing(word: str) -> str:
    """Returns the root of a gerund without a final e; empty for other words."""
    root = word.removesuffix("ing")
    if root == word or len(root) < 3 or not _VOWEL.search(root):
        return ""
    if root[-1] == root[-2] and root[-1] not in "aeioulsz":
        root = root[:-1]
    return _strip_final_e(root)


def _strip_final_e(word: str) -> str:
    return word.removesuffix("e")


def _differ_by_typo(one: _Phrase, other: _Phrase) -> bool:
    """Whether exactly one word differs, by a probable typing error.

    Errors in words of eight or more letters are two exchanged neighbouring letters, a doubled
    letter, and a double letter written once. In words of eleven or more letters any one letter may
    differ. Shorter words that differ by a letter are mostly different words.
    """
    if len(one.lemmas) != len(other.lemmas):
        return False
    differing = _find_differences(one, other)
    if len(differing) != 1:
        return False
    left, right = sorted((one.words[differing[0]], other.words[differing[0]]), key=len)
    if not left.isalpha() or not right.isalpha() or left[0] != right[0]:
        return False
    if len(left) < _MIN_TYPO_LETTERS or len(right) - len(left) > 1:
        return False
    start = _count_common_prefix(left, right)
    if len(left) == len(right):
        exchanged = left[:start] + left[start : start + 2][::-1] + left[start + 2 :] == right
        replaced = left[start + 1 :] == right[start + 1 :]
        return exchanged or (replaced and len(left) >= _MIN_ANY_TYPO_LETTERS)
    added = left[start:] == right[start + 1 :]
    return added and (right[start] == right[start - 1] or len(right) >= _MIN_ANY_TYPO_LETTERS)


def _find_differences(one: _Phrase, other: _Phrase) -> list[int]:
    """Returns the positions at which two phrases of equal length have different words."""
    pairs = zip(one.lemmas, other.lemmas, strict=True)
    return [place for place, (left, right) in enumerate(pairs) if left != right]
