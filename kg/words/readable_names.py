"""Decides whether a name says anything to a reader."""

from __future__ import annotations

import json
import re

from kg.base.plain_text import MAX_NAME_LENGTH

MAX_VALUE_WORDS = 20
"""Maximum number of words of a value that a question may state."""
MIN_SENTENCE = 5
"""Minimum number of words of a text that its full stop makes a sentence."""
MAX_UNQUOTED_WORDS = 10
"""Maximum number of words of a name that stands in a sentence without quotes."""
_MISSING_VALUES = frozenset(
    {
        *("unknown", "not known", "n/a", "n.a", "not available", "not applicable", "none", "null"),
        *("nil", "nan", "tbd", "tba", "to be determined", "unspecified", "not specified"),
        *("undefined", "missing", "no data", "unbekannt", "keine angabe", "k.a", "inconnu"),
        *("inconnue", "desconocido", "desconocida", "sconosciuto", "onbekend"),
        *("other", "others", "andere", "sonstige", "autre", "autres", "otro", "otros"),
    }
)
"""Texts that stand for a value that is not known, or for any that is not in a list."""
_NO_SIGNS = frozenset("-–—?…. ")
"""Signs that stand for a missing value; others, such as "+" and "€", are values."""
_REAL_NAMES = frozenset({"none", "null", "nil", "nan", "missing", "other", "others", "tba"})
"""Those that are also names of places, works and people: None is a town near Turin."""

# "P1476", "12", "IAO_0000115", "a3f9…": a code says nothing to a reader.
_CODE = re.compile(r"[A-Za-z]{0,8}[ _-]?\d+[A-Za-z]?|.|(?=.*\d)[0-9a-f]{8,}|.*\d{5,}.*")
# "JU-2022-F", "U8-1-22": several parts, of which one is a number and none a word.
_COMPOUND_CODE = re.compile(r"(?=.*\d)(?!.*[^\W\d_]{4})\w{1,8}(?:[-. ]\w{1,8}){1,5}")
_BARE_NUMBER = re.compile(r"(?!(?:1\d|20|21)\d\d$)\d+(?:[-. ]\d+)*")
# "OfflineEventAttendanceMode"
_JOINED_WORDS = re.compile(r"(?:[A-Z][a-z]+){2,}")
_DOCUMENT = re.compile(
    r"https?://(?:[\w-]+\.)*wikipedia\.org/wiki/.*"
    r"|https?://(?!.*/(?:resource|id|entity)/).*\.(?:html?|php|aspx?|pdf|jpe?g|png|gif|svg|tiff?)",
    re.IGNORECASE,
)
# "bnodes are not existentials", but no "cell that is dividing", and no verb at either end.
_CLAUSE = re.compile(
    r"[^“”\"]*[^\s“”\"](?<!\bthat)(?<!\bwhich)(?<!\bwho)(?<!\bwhat)(?<!\bwhere)(?<!\bwhen)(?<!\bhow)"
    r" (?:is|are|was|were|has|have|had|cannot|(?:do|does|did|must|should) not) [^“”\"]+"
)
# "Is Glue Safe?", "Old Papers. A Review", but not "Prof. Smith".
_SENTENCE_END = re.compile(r"[^\W\d_]{2}[?!](?:\s|$)|[^\W\d_]{6}\.\s[A-Z]")
# Abbreviations are shorter or have a capital: "Acme Mining and Drilling Corp.", "every 4 hr."
_FULL_STOP = re.compile(r"(?:\b[^\W\d_A-Z]{4,}\.|[。．])$")
_UUID = re.compile(
    r"\b(?:[0-9a-fA-F]{8}(?:[- ][0-9a-fA-F]{4}){3}[- ][0-9a-fA-F]{12}"
    r"|(?=\d*[a-fA-F])[0-9a-fA-F]{32,})\b"
)
# A UUID or a hash; a number alone is that of a record, and can be read.
_OPAQUE = re.compile(
    r"(?:[0-9a-fA-F]{4,}[- ]){3,}|(?=\w*[a-fA-F])(?=\w*\d)[0-9a-fA-F]{12,}"
    r"|\b(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{20,}"
)
_QUERY = re.compile(r"\?[^\s=?]+=")


def is_code(name: str) -> bool:
    """Returns whether the name of a predicate or class is a code."""
    return _CODE.fullmatch(name) is not None


def is_code_of_thing(name: str) -> bool:
    """Returns whether the last part of a thing's IRI is a code, perhaps of several parts."""
    is_single = is_code(name) and not re.search(r"[^\W\d_]{4}", name)
    return is_single or _COMPOUND_CODE.fullmatch(name) is not None


def is_bare_number(name: str) -> bool:
    """Returns whether a name is only a number, other than a year, so that it names nothing."""
    return _BARE_NUMBER.fullmatch(name) is not None


def split_joined_words(name: str) -> str:
    """Returns the words of a name that are written as one, with their capitals; else empty."""
    is_joined = _JOINED_WORDS.fullmatch(name) is not None
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name) if is_joined else ""


def is_opaque(name: str) -> bool:
    """Returns whether a name has a UUID or hash, or may have one, if it is not a label.

    The query of an address ("books?id=42&hl=en") is none either.
    """
    return _OPAQUE.search(name) is not None or _QUERY.search(name) is not None


def is_uuid_or_hash(name: str) -> bool:
    """Returns whether a name is a UUID or hash and nothing else."""
    return _UUID.fullmatch(name) is not None


def find_opaque_part(name: str) -> tuple[str, str, str]:
    """Returns what stands before the UUID or hash of a name, that, and what stands behind it.

    All three are empty if it has none.
    """
    match = _UUID.search(name) or _OPAQUE.search(name)
    if match is None:
        return "", "", ""
    return name[: match.start()].rstrip(" -_.:"), match[0], name[match.end() :]


def is_readable_value(value: str) -> bool:
    """Returns whether a question can name a literal: it has a few words, no UUID and no address.

    What stands for a missing value ("unknown", "n/a", "-") is none.
    """
    n_words = len(value.split())
    return n_words <= MAX_VALUE_WORDS and not is_missing_value(value) and is_readable_label(value)


def is_missing_value(value: str) -> bool:
    """Returns whether a literal, or the name of a thing, stands for a value that is not known."""
    text = _normalise(value)
    return text in _MISSING_VALUES or _NO_SIGNS.issuperset(text)


def may_be_real_name(value: str) -> bool:
    """Returns whether what stands for a missing value may also be called so, if facts are known."""
    return _normalise(value) in _REAL_NAMES


def _normalise(value: str) -> str:
    return " ".join(value.casefold().replace("_", " ").split()).strip(".")


def is_document_address(iri: str) -> bool:
    """Returns whether an IRI looks like the address of a document, such as a page or a picture."""
    return _DOCUMENT.fullmatch(iri) is not None


def is_clause(name: str) -> bool:
    """Returns whether a name reads like a sentence of its own, so that it needs quotes in another.

    Only verbs in small letters count: "Al Has River" is a name.
    """
    return _CLAUSE.fullmatch(name) is not None


def needs_quotes(name: str) -> bool:
    """Returns whether a name or text cannot be told from the words around it.

    So it is with a clause, a sentence and a long title.

    >>> needs_quotes("Is Glue Safe?"), needs_quotes("Royal Society")
    (True, False)
    """
    if any(mark in name for mark in '“”"'):
        return False
    n_words = len(name.split())
    is_long = n_words > MAX_UNQUOTED_WORDS or (
        n_words >= MIN_SENTENCE and _FULL_STOP.search(name) is not None
    )
    return is_long or _SENTENCE_END.search(name) is not None or is_clause(name)


def is_readable_label(name: str) -> bool:
    """Returns whether a label or value can stand in a sentence: it is short, without UUID or hash.

    It may have digits and words that look like a hash: "1914-1918 1939-1945". A name with an IRI
    in it ("Player <http://example.com/p42> of team 7") is no label either.
    """
    return fits_sentence(name) and _UUID.search(name) is None


def fits_sentence(name: str) -> bool:
    """Returns whether a name is short, has no IRI in it and is no JSON.

    >>> fits_sentence("[1,2-a]pyridine"), fits_sentence('{"value": "Agricultural"}')
    (True, False)
    """
    return len(name) <= MAX_NAME_LENGTH and "://" not in name and not _is_json(name)


def _is_json(name: str) -> bool:
    if name[:1] not in ("{", "["):
        return False
    try:
        json.loads(name)
    except ValueError:
        return name.startswith('{"')  # perhaps cut off
    return True
