"""Rules that decide whether two keywords are synonyms, that is, interchangeable in any sentence.

``judge_pair`` tries the rules in a fixed order, and the first rule that applies decides. If none
applies, the keywords are not synonyms: a missed synonym leaves two nodes, but a wrong one puts
false links into the graph.
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
from kg.words.normaliser import (
    is_acronym_of,
    repair_text,
    split_cased_words,
    split_words,
    stem_word,
)

_DIGITS = re.compile(r"\d+(?:\.\d+)*")
# British → American endings ("organisation", "analyse", "colour", "centre", "catalogue",
# "modelling"), and the "e" that the stemmer leaves after removing "s".
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
_LETTER_WITH_SIGNS = re.compile(r"[^\W\d_][+#]*")
"""Matches a word of one letter, such as ``c``, ``c++`` and ``b+``."""
_MIN_CONSTANT_LETTERS = 6
"""Minimum number of letters of a word of capitals that is the name of a constant or variable."""
_MEMBER = re.compile(r"([^\W\d_]+)\.([^\W\d_]{2,})")
"""Matches a member with its owner: ``event.target``."""
_ROLES = frozenset(
    {"argument", "attribute", "field", "header", "instance", "list", "method", "name", "number"}
    | {"object", "parameter", "value"}
)
"""Nouns before "of" that say another thing after the noun: "line number"."""
_CLASS_NAME = re.compile(r"[a-z][A-Z][a-z]")
"""Matches where a second word of a class name begins: ``HtmlResponse``."""
_VOWEL = re.compile("[aeiouy]")
_MIN_TYPO_LETTERS = 8
"""Minimum number of letters of words in which exchanged and doubled letters are typing errors."""
_MIN_ANY_TYPO_LETTERS = 11
"""Minimum number of letters of words in which any single different letter is a typing error."""


class Judgement(NamedTuple):
    """The result of the rules for two keywords."""

    is_synonym: bool
    reason: str
    """Name of the rule that decided; empty if none applied."""


class _Phrase(NamedTuple):
    """The words of a keyword without articles, in three forms of equal length."""

    cased_words: tuple[str, ...]
    """The words with their original capitals."""
    stems: tuple[str, ...]
    lemmas: tuple[str, ...]


def judge_pair(keyword: str, other_keyword: str) -> Judgement:
    """Decides whether two keywords are synonyms, and by which rule."""
    first, second = _analyse_phrase(keyword), _analyse_phrase(other_keyword)
    if not first.stems or not second.stems or max(len(first.stems), len(second.stems)) > _MAX_WORDS:
        return Judgement(False, "")
    if first.lemmas == second.lemmas:
        return Judgement(True, "lemma")
    if _extract_numbers(first) == _extract_numbers(second):
        if any(
            "".join(getattr(first, form)) == "".join(getattr(second, form))
            for form in ("stems", "lemmas")
        ):
            # PYTHONWARNINGS is the name of a variable, not "Python warnings".
            if _is_constant(first, second) or _is_constant(second, first):
                return Judgement(False, "constant")
            if _names_member(keyword, other_keyword) or _names_member(other_keyword, keyword):
                return Judgement(False, "member")
            # ``MemoryUsage`` is the name of a class, not "memory usage".
            if (
                _list_class_names(first) != _list_class_names(second)
                or _joins_capitals(first, second)
                or _joins_capitals(second, first)
            ):
                return Judgement(False, "class")
            return Judgement(True, "spacing")
        if _differ_by_acronym(first, second) or _differ_by_acronym(second, first):
            return Judgement(True, "acronym")
        if _differ_in_order(first, second) or _differ_in_order(second, first):
            # "Twisted VERSION" is no "version of Twisted", and "Buildbot REST" no "rest of" it.
            if _list_capitals(first) != _list_capitals(second):
                return Judgement(False, "constant")
            return Judgement(True, "order")
    veto = _find_veto(first, second)
    if veto:
        return Judgement(False, veto)
    for name, differ in (("inflection", _differ_by_gerund), ("typing", _differ_by_typo)):
        if differ(first, second) or differ(second, first):
            return Judgement(True, name)
    return Judgement(False, "")


def _is_constant(phrase: _Phrase, other: _Phrase) -> bool:
    """Whether a phrase is one word of capitals that is too long for an acronym.

    "WEBIDL" is none beside "Web IDL", which is a name that ends in an acronym.
    """
    word, last = phrase.cased_words[0], other.cased_words[-1]
    is_name = last.isupper() and all(one[0].isupper() for one in other.cased_words)
    is_long = len(phrase.cased_words) == 1 and word.isupper() and len(word) >= _MIN_CONSTANT_LETTERS
    return is_long and not (is_name and len(other.cased_words) > 1)


def _list_capitals(phrase: _Phrase) -> set[str]:
    """Lists the words of two or more letters that are written in capitals, in small letters.

    The plural of an acronym ("URLs") is one, too.
    """
    words = {word.removesuffix("s") for word in phrase.cased_words}
    return {stem_word(word.casefold()) for word in words if word.isupper() and len(word) > 1}


def _list_class_names(phrase: _Phrase) -> set[str]:
    """Lists the words that are joined of others, each with its capital, in small letters."""
    return {word.casefold() for word in phrase.cased_words if _CLASS_NAME.search(word)}


def _joins_capitals(phrase: _Phrase, other: _Phrase) -> bool:
    """Whether a phrase joins words of another, each with its capital: ``TCPClient``."""
    return any(
        word.casefold().startswith(start.casefold())
        and word[len(start) : len(start) + 1].isupper()
        and word[len(start) + 1 : len(start) + 2].islower()
        for word in set(phrase.cased_words).difference(other.cased_words)
        for start in other.cased_words
    )


def _names_member(keyword: str, other: str) -> bool:
    """Whether a phrase names a member of what another joins to one name.

    ``event.target`` is no ``EventTarget``, but "py.test" is "pytest".
    """
    return any(
        re.search(f"(?i:{owner})(?<=[a-z]){member[0].upper()}(?=[a-z])(?i:{member[1:]})", other)
        for owner, member in _MEMBER.findall(keyword)
    )


def is_refuted(keyword: str, other_keyword: str) -> bool:
    """Whether a rule decides that two keywords are not synonyms."""
    judgement = judge_pair(keyword, other_keyword)
    return bool(judgement.reason) and not judgement.is_synonym


def is_acronym(keyword: str) -> bool:
    """Whether a keyword looks like an acronym: a word of capitals, or of a digit and letters."""
    words = split_cased_words(keyword)
    if len(words) != 1:
        return False
    word = words[0]
    capitals = sum(char.isupper() for char in word)
    letters = sum(char.isalpha() for char in word)
    if not 2 <= len(word) <= 9 or not letters:
        return False
    if capitals >= 2 and capitals * 2 >= letters:
        return True
    return word[0].isdigit() and letters >= 2


def abbreviates_phrase(short: str, long: str) -> bool:
    """Whether an acronym abbreviates a phrase, and its last letter stands for the last word.

    Acronyms may use letters from inside a word (DBMS, HTML), but their last letter must be the
    initial of the last word: "MRU" is not short for "manager runs".
    """
    final_letters = {word[-1:] for word in (short.casefold(), stem_word(short.casefold()))}
    last_word = (split_words(long) or [""])[-1]
    return (
        last_word[:1] in final_letters or NUMBER_WORDS.get(last_word) in final_letters
    ) and is_acronym_of(short, long)


@lru_cache(maxsize=65536)
def _analyse_phrase(keyword: str) -> _Phrase:
    cased_words = [
        word for word in split_cased_words(repair_text(keyword)) if word.casefold() not in ARTICLES
    ]
    stems = tuple(stem_word(word.casefold()) for word in cased_words)
    return _Phrase(tuple(cased_words), stems, tuple(lemmatise_stem(word) for word in stems))


def lemmatise_stem(word: str) -> str:
    """Unifies the irregular plurals and the British and American spellings of a stem.

    The result is for comparison and need not be a word: the stems of "analysis" and "analyses"
    both give "analysi".
    """
    if word in IRREGULAR_LEMMAS:
        return IRREGULAR_LEMMAS[word]
    if len(word) > 3:
        for pattern, replacement in _SPELLINGS:
            word = pattern.sub(replacement, word)
    return word


def join_lemmas(keyword: str) -> str:
    """Joins the lemmas of a keyword without spaces.

    The results of two keywords are equal if the rule "lemma" or "spacing" makes them synonyms.
    """
    return "".join(_analyse_phrase(keyword).lemmas)


def _extract_numbers(phrase: _Phrase) -> list[str]:
    """Returns all numbers of a phrase as digits, sorted: ["3"] for "third normal form"."""
    numbers: list[str] = []
    for word in phrase.stems:
        numbers.extend([NUMBER_WORDS[word]] if word in NUMBER_WORDS else _DIGITS.findall(word))
    return sorted(numbers)


def _differ_by_acronym(short: _Phrase, long: _Phrase) -> bool:
    """Whether two phrases differ only by an acronym that replaces or repeats words of the other.

    Examples: "WAL protocol" and "write-ahead logging protocol"; "write-ahead logging (WAL)" and
    "write-ahead logging".
    """
    prefix_length = _count_common_prefix(short.lemmas, long.lemmas)
    suffix_length = _count_common_prefix(
        short.lemmas[prefix_length:][::-1], long.lemmas[prefix_length:][::-1]
    )
    replacing_words = short.cased_words[prefix_length : len(short.cased_words) - suffix_length]
    replaced_words = long.stems[prefix_length : len(long.stems) - suffix_length]
    if len(replacing_words) == 1 and len(replaced_words) > 1:
        return is_acronym(replacing_words[0]) and abbreviates_phrase(
            replacing_words[0], " ".join(replaced_words)
        )
    if not replacing_words and len(replaced_words) == 1:
        # The longer phrase is the shorter one plus its acronym.
        extra_word = long.cased_words[prefix_length]
        return is_acronym(extra_word) and abbreviates_phrase(extra_word, " ".join(short.stems))
    return False


def _count_common_prefix(words: Sequence[str], other_words: Sequence[str]) -> int:
    """Counts the words that two phrases have in common at the beginning."""
    count = 0
    for word, other_word in zip(words, other_words, strict=False):
        if word != other_word:
            break
        count += 1
    return count


def _find_veto(first: _Phrase, second: _Phrase) -> str:
    """Returns the name of the rule that refutes a pair; empty if none does."""
    if _extract_numbers(first) != _extract_numbers(second):
        return "number"
    first_lemmas, second_lemmas = set(first.lemmas), set(second.lemmas)
    if {word for word in first_lemmas if _LETTER_WITH_SIGNS.fullmatch(word)} != {
        word for word in second_lemmas if _LETTER_WITH_SIGNS.fullmatch(word)
    }:
        return "letter"  # B-tree and B+-tree, C and C++, type A and type B
    only_first, only_second = first_lemmas - second_lemmas, second_lemmas - first_lemmas
    codes = [
        {word for word in lemmas if any(char.isdigit() for char in word) and not word.isdigit()}
        for lemmas in (only_first, only_second)
    ]
    if all(codes):
        return "code"  # 2PL and 2PC
    if (first_lemmas & NEGATIONS) != (second_lemmas & NEGATIONS):
        return "negation"
    for first_word in only_first:
        for second_word in only_second:
            if any(first_word in line and second_word in line for line in CONTRASTS):
                return "contrast"
            longer, shorter = (
                (first_word, second_word)
                if len(first_word) > len(second_word)
                else (second_word, first_word)
            )
            if (
                len(shorter) > 2
                and longer.endswith(shorter)
                and longer[: -len(shorter)] in PREFIXES
            ):
                return "prefix"
    if (only_first or only_second) and not (only_first and only_second):
        return "modifier"  # strict 2PL and 2PL
    return ""


def _differ_in_order(phrase: _Phrase, other: _Phrase) -> bool:
    """Whether two phrases differ in word order only.

    Examples: "level of isolation" and "isolation level"; "reads and writes" and "writes and reads".
    A "number of lines" counts them, and a "line number" does not; a "request parameter" is one that
    is a request, and a "parameter of Request" may be any.
    """
    if phrase.stems.count("of") == 1 and "of" not in other.stems:
        position = phrase.stems.index("of")
        return (
            phrase.stems[position - 1] not in _ROLES
            and other.lemmas == phrase.lemmas[position + 1 :] + phrase.lemmas[:position]
        )
    if phrase.stems.count("and") == 1 and other.stems.count("and") == 1:
        position = phrase.stems.index("and")
        return other.lemmas == (*phrase.lemmas[position + 1 :], "and", *phrase.lemmas[:position])
    return False


def _differ_by_gerund(phrase: _Phrase, other: _Phrase) -> bool:
    """Whether two phrases differ by a gerund, like "locking protocol" and "lock protocol".

    The gerund must not be the last word, where it names an activity instead of a thing ("index",
    "indexing"). Participles are not reduced: "referencing relation" is not "referenced relation".
    """
    if len(phrase.lemmas) != len(other.lemmas) or len(phrase.lemmas) < 2:
        return False
    differences = _find_differences(phrase, other)
    # "DEBUG messages" are those of a level, not "debugging messages".
    return (
        len(differences) == 1
        and not other.cased_words[differences[0]].isupper()
        and differences[0] < len(phrase.lemmas) - 1
        and _strip_ing(phrase.stems[differences[0]]) == _strip_final_e(other.stems[differences[0]])
    )


def _strip_ing(word: str) -> str:
    """Returns the root of a gerund without a final e; empty for other words."""
    root = word.removesuffix("ing")
    if root == word or len(root) < 3 or not _VOWEL.search(root):
        return ""
    # Undoes the doubling of a final consonant ("planning"). Words such as "call", "pass" and
    # "buzz" end in a double letter themselves.
    if root[-1] == root[-2] and root[-1] not in "aeioulsz":
        root = root[:-1]
    return _strip_final_e(root)


def _strip_final_e(word: str) -> str:
    return word.removesuffix("e")


def _differ_by_typo(phrase: _Phrase, other: _Phrase) -> bool:
    """Whether exactly one word differs, by a probable typing error.

    Errors in words of eight or more letters are two exchanged neighbouring letters, a doubled
    letter, and a double letter written once. In words of eleven or more letters any one letter may
    differ. Shorter words that differ by a letter are mostly different words.
    """
    if len(phrase.lemmas) != len(other.lemmas):
        return False
    differences = _find_differences(phrase, other)
    if len(differences) != 1 or any(
        # ``AuthnProviderAlias`` and ``AuthzProviderAlias`` are two names.
        re.search("[a-z][A-Z]", one.cased_words[differences[0]])
        for one in (phrase, other)
    ):
        return False
    shorter, longer = sorted((phrase.stems[differences[0]], other.stems[differences[0]]), key=len)
    if not shorter.isalpha() or not longer.isalpha() or shorter[0] != longer[0]:
        return False
    if len(shorter) < _MIN_TYPO_LETTERS or len(longer) - len(shorter) > 1:
        return False
    start = _count_common_prefix(shorter, longer)
    if len(shorter) == len(longer):
        is_exchange = (
            shorter[:start] + shorter[start : start + 2][::-1] + shorter[start + 2 :] == longer
        )
        # Another last letter is an ending: "continues" and "continued".
        is_replacement = shorter[start + 1 :] == longer[start + 1 :] and start + 1 < len(shorter)
        return is_exchange or (is_replacement and len(shorter) >= _MIN_ANY_TYPO_LETTERS)
    is_insertion = shorter[start:] == longer[start + 1 :] and start < len(shorter)
    return is_insertion and (
        longer[start] == longer[start - 1] or len(longer) >= _MIN_ANY_TYPO_LETTERS
    )


def _find_differences(phrase: _Phrase, other: _Phrase) -> list[int]:
    """Returns the positions at which two phrases of equal length have different words."""
    pairs = zip(phrase.lemmas, other.lemmas, strict=True)
    return [position for position, (left, right) in enumerate(pairs) if left != right]
