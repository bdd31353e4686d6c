"""Checks quotes: whether an extraction's quotes are in the text, and cover those of the gold.

Quotes are in fields of the extraction whose name says so (``quote``, ``evidence``,
``price_source_text`` …), or beside it (``parts`` of a reply, ``meta`` of a sample).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from eval.extraction.matchers.spellings import fold_typography

QUOTE_NAMES: Final = frozenset(
    (
        *("quote", "quotes", "quotation", "evidence", "citation", "citations", "cited_text"),
        *("source_text", "source_quote", "source_span", "supporting_text", "supporting_quote"),
        *("verbatim", "verbatim_quote", "snippet", "excerpt", "reference_text"),
    )
)
"""Names of fields with quotes, in lower case with underscores; also as ``price_quote``."""
QUOTES: Final = "quotes"
"""Key, in ``meta`` of a sample and ``parts`` of a reply, of quotes that are beside the values."""
MAX_QUOTES: Final = 10_000
MAX_LEVELS: Final = 100

_SUFFIXES = tuple(f"_{name}" for name in sorted(QUOTE_NAMES))
QUOTE_TEXTS: Final = (
    *("reference_text", "quote", "source_text", "source_quote", "cited_text", "text", "snippet"),
)
"""Keys of an object that is a quote with the quoted words, the most specific first."""

Quote = tuple[str, str]
"""Field (or an empty text) and quoted words."""


class Grounding(msgspec.Struct, frozen=True):
    """Counts of one reply's quotes."""

    quotes: int = 0
    """Quotes of the reply that were searched in the text; 0 without a text."""
    found: int = 0
    """Those that are in the text literally, apart from white space and Unicode variants."""
    gold: int = 0
    """Fields with gold quotes."""
    covered: int = 0
    """Those of which a quote of the reply contains one of the gold quotes."""


def check_quotes(text: str, gold: Sequence[Quote], quotes: Sequence[Quote]) -> Grounding | None:
    """Checks the quotes of one reply; ``None`` if neither side has any.

    Args:
        text: the text; may be empty.
        gold: the gold quotes; those of the same field are alternatives.
        quotes: the quotes of the reply.
    """
    if not gold and not quotes:
        return None
    folded = [(_strip_indexes(field), _fold_quote(words)) for field, words in quotes]
    folded = [(field, words) for field, words in folded if words]
    page = fold_text(text) if text else ""
    alternatives: dict[str, list[str]] = defaultdict(list)
    for number, (field, words) in enumerate(gold):
        if fold_text(words):
            alternatives[field or f"\n{number}"].append(fold_text(words))
    by_field: dict[str, list[str]] = defaultdict(list)
    for field, words in folded:
        by_field[field].append(words)
    n_covered = 0
    for field, accepted in alternatives.items():
        name = "" if field.startswith("\n") else _strip_indexes(field)
        # A quote that names no field may support any; a gold quote that names none, too.
        offered = [words for words_list in by_field.values() for words in words_list]
        if name:
            offered = [*by_field.get(name, ()), *by_field.get("", ())]
        n_covered += any(one in words for one in accepted for words in offered)
    return Grounding(
        quotes=len(folded) if page else 0,
        found=sum(words in page for _, words in folded) if page else 0,
        gold=len(alternatives),
        covered=n_covered,
    )


def read_quotes(stored: Any) -> list[Quote]:
    """Reads stored pairs of field and words; anything else is left out."""
    return [
        (pair[0], pair[1])
        for pair in (stored if isinstance(stored, list | tuple) else ())
        if isinstance(pair, list | tuple)
        and len(pair) == 2
        and all(isinstance(x, str) for x in pair)
    ]


def iter_value_quotes(value: Any) -> Iterator[Quote]:
    """Yields the quotes in an extraction: texts of fields that are named as quotes.

    A quote supports the field that its own name begins with (``price_quote``), else the object that
    it is in.
    """
    stack: list[tuple[str, Any, int]] = [("", value, 0)]
    n_quotes = 0
    while stack and n_quotes < MAX_QUOTES:
        path, item, level = stack.pop()
        if level > MAX_LEVELS:
            continue
        if isinstance(item, list):
            stack += [(path, child, level + 1) for child in reversed(item)]
        elif isinstance(item, dict):
            for key, child in reversed(item.items()):
                supported = _find_supported_field(path, key)
                if supported is None:
                    stack.append((f"{path}.{key}" if path else key, child, level + 1))
                    continue
                for words in _list_texts(child):
                    n_quotes += 1
                    yield supported, words


def _find_supported_field(path: str, key: str) -> str | None:
    """Returns the field that a quote supports; ``None`` if the key does not name a quote."""
    name = "".join(f"_{char.lower()}" if char.isupper() else char for char in key).strip("_")
    name = name.replace("-", "_").replace(" ", "_")
    if name in QUOTE_NAMES:
        return path
    suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), None)
    if suffix is None:
        return None
    # Cut the same number of letters from the key as it is written.
    letters = len(suffix.replace("_", ""))
    cut = len(key)
    while cut and letters:
        cut -= 1
        letters -= key[cut].isalnum()
    field = key[:cut].rstrip("_- ")
    return f"{path}.{field}" if path else field


def _list_texts(value: Any) -> list[str]:
    """Lists the texts of a quote: a text, or a list of texts or of objects with a text."""
    found: list[str] = []
    for item in value if isinstance(value, list) else [value]:
        text = item
        if isinstance(item, dict):
            text = next((item[key] for key in QUOTE_TEXTS if isinstance(item.get(key), str)), None)
        if isinstance(text, str) and text.strip():
            found.append(text)
    return found[:MAX_QUOTES]


@lru_cache(maxsize=8)
def fold_text(text: str) -> str:
    """Folds white space, case and variants of characters, so that a copied quote is found."""
    return " ".join(fold_typography(text).casefold().split())


def _fold_quote(words: str) -> str:
    """Folds a quote, without quotation marks and dots that were put around it."""
    return fold_text(words).strip("\"' ").removeprefix("...").removesuffix("...").strip()


def _strip_indexes(field: str) -> str:
    """Returns a field without the numbers of elements: ``items[0].price`` → ``items.price``."""
    parts = field.replace("[", ".").replace("]", "").replace("/", ".").split(".")
    return ".".join(part for part in parts if part and not part.isdigit() and part != "$")
