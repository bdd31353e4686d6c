"""Scores retrieved pages against a question's sources, recognising all forms of citing a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from eval.synthlink.items import Source
from eval.synthlink.metrics import MetricName
from kg.words.normaliser import normalise_phrase

CUTOFF: Final = 5
"""Number of pages that are scored, as in P@5."""
# The beginning of an address, also without a scheme.
_ADDRESS = re.compile(r"(?:https?:)?//|www\.|[a-z-]+\.(?:m\.)?wikipedia\.org/", re.IGNORECASE)
# Names of parameters that track visitors and do not identify a page.
_TRACKING = re.compile(r"(?:utm_\w+|fbclid|gclid)", re.IGNORECASE)
# The paths of a Wikipedia page: /wiki/Title, or /w/index.php with the title as a parameter.
_WIKI_PATH = re.compile(r"/(?:wiki|w/index\.php)/?(?P<title>.*)")


class PageKey(NamedTuple):
    """The address and title by which a page is cited; a usable citation has at least one."""

    address: str
    """In normal form; empty if only a title is given."""
    title: str
    """In normal form; empty if it is not known."""


class RetrievalScores(NamedTuple):
    """Precision and recall of the first five different pages."""

    precision: float | None
    """Share of sources among the first k different pages, with k = min(5, number of sources); null
    if it is not known whether the pages were opened."""
    recall: float | None
    """Share of the sources that are among the first five different pages."""
    named: tuple[float, float] = (0.0, 0.0)
    """Both if all pages named were opened."""

    def list_bounds(self) -> dict[MetricName, tuple[float, float]]:
        """Returns the lowest and highest possible values, if it is not known what was opened."""
        if self.precision is not None:
            return {}
        return {"p_at_5": (0.0, self.named[0]), "recall_at_5": (0.0, self.named[1])}


@lru_cache(maxsize=4096)  # a page is compared with every other of its question
def parse_citation(citation: str) -> PageKey:
    """Parses a citation, which is an address or a title.

    Scheme, ``www.``, a mobile host, port, fragment, final slash, tracking parameters, the order of
    other parameters, and the escaping of characters make no difference. A Wikipedia address also
    gives the title, in the language of that Wikipedia; addresses of other sites give no title.
    """
    text = citation.strip()
    if not _ADDRESS.match(text):
        return PageKey("", normalise_phrase(text))
    if not re.match(r"(?:https?:)?//", text, re.IGNORECASE):
        text = f"//{text}"
    try:
        parts = urlsplit(text)
        host = (
            (parts.hostname or "")
            .removeprefix("www.")
            .replace(".m.wikipedia.org", ".wikipedia.org")
        )
        # The limit refuses addresses made to take long to parse.
        query = parse_qsl(parts.query, max_num_fields=50)
    except ValueError:  # begins like an address but is not a valid one
        return PageKey("", normalise_phrase(text))
    path = unquote(parts.path).rstrip("/")
    parameters = sorted((key, value) for key, value in query if not _TRACKING.fullmatch(key))
    if host == "wikipedia.org" or host.endswith(".wikipedia.org"):
        wiki_match = _WIKI_PATH.fullmatch(path)
        title = dict(parameters).get("title") or (wiki_match["title"] if wiki_match else "")
        title = title.replace("_", " ").strip()
        if title:
            title = title[0].upper() + title[1:]
            return PageKey(f"{host}/{title}", normalise_phrase(title))
    return PageKey(f"{host}{path}{'?' if parameters else ''}{urlencode(parameters)}", "")


def score_retrieval(
    docs: Sequence[str], sources: Sequence[Source], opened: Sequence[str] | None
) -> RetrievalScores | None:
    """Computes precision and recall of the cited pages that were opened.

    Several citations of one page count once, at the rank of the first; a source cited by address
    and by title is one page. Duplicate sources count once too.

    Args:
        docs: addresses or titles, best first.
        sources: the sources of the question.
        opened: the pages that were opened; None if that is not known.

    Returns:
        None if there are no sources. Both values are null if they depend on which pages were
        opened and this is not known.
    """
    keys = None if opened is None else [parse_citation(page) for page in opened]
    kept = [
        doc
        for doc in docs
        if keys is None or any(_is_same_page(parse_citation(doc), key) for key in keys)
    ]
    scores = _score_pages(kept, sources)
    if scores is None or scores.recall == 0 or opened is not None:
        return scores
    return RetrievalScores(None, None, (scores.precision or 0.0, scores.recall or 0.0))


def _score_pages(docs: Sequence[str], sources: Sequence[Source]) -> RetrievalScores | None:
    expected = _remove_duplicates([parse_source(source) for source in sources])
    if not expected:
        return None
    # For each different page, in order of rank: the index of its source, or None.
    source_by_rank: list[int | None] = []
    other_pages: list[PageKey] = []
    for cited in map(parse_citation, docs):
        if not any(cited):
            continue
        index = next(
            (position for position, source in enumerate(expected) if _is_same_page(cited, source)),
            None,
        )
        if index is not None:
            if index not in source_by_rank:
                source_by_rank.append(index)
        elif not any(_is_same_page(cited, other) for other in other_pages):
            other_pages.append(cited)
            source_by_rank.append(None)
        if len(source_by_rank) == CUTOFF:
            break
    cutoff = min(CUTOFF, len(expected))
    return RetrievalScores(
        sum(index is not None for index in source_by_rank[:cutoff]) / cutoff,
        sum(index is not None for index in source_by_rank) / len(expected),
    )


def parse_source(source: Source) -> PageKey:
    """Returns title and, if there is one, address of a source in normal form."""
    citation = parse_citation(source.url) if source.url else PageKey("", "")
    return PageKey(citation.address, normalise_phrase(source.title))


def _remove_duplicates(pages: Sequence[PageKey]) -> list[PageKey]:
    distinct: list[PageKey] = []
    for candidate in pages:
        if not any(_is_same_page(candidate, other) for other in distinct):
            distinct.append(candidate)
    return distinct


def _is_same_page(first: PageKey, second: PageKey) -> bool:
    """Compares two pages by address if both have one, else by title."""
    if first.address and second.address:
        return first.address == second.address
    return bool(first.title) and first.title == second.title
