"""Retrieved pages against a question's sources: one page is one page, however it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from eval.synthlink.question import Source
from kg.text.normaliser import normalise

CUTOFF: Final = 5
_ADDRESS = re.compile(r"(?:https?:)?//|www\.|[a-z-]+\.(?:m\.)?wikipedia\.org/", re.IGNORECASE)
_TRACKING = re.compile(r"(?:utm_\w+|fbclid|gclid)", re.IGNORECASE)
_WIKI_PATH = re.compile(r"/(?:wiki|w/index\.php)/?(?P<title>.*)")


class Page(NamedTuple):
    """What is known of a page by how it is cited."""

    address: str
    """In normal form; empty where only a title is given."""
    title: str
    """In normal form; empty where nothing tells it."""


class Retrieval(NamedTuple):
    """How good the first pages are."""

    precision: float
    """Share of relevant ones among the first min(5, sources) different pages."""
    recall: float
    """Share of the sources among the first five different pages."""


def page(citation: str) -> Page:
    """The page that a citation, which is an address or a title, means.

    Scheme, ``www.``, a mobile host, port, fragment, final slash, tracking parameters, the order of
    others, and how letters are escaped make no difference. A Wikipedia address tells the title,
    one of its own language's; the address of another site does not.
    """
    text = citation.strip()
    if not _ADDRESS.match(text):
        return Page("", normalise(text))
    if not re.match(r"(?:https?:)?//", text, re.IGNORECASE):
        text = f"//{text}"
    try:
        parts = urlsplit(text)
        host = (
            (parts.hostname or "")
            .removeprefix("www.")
            .replace(".m.wikipedia.org", ".wikipedia.org")
        )
        query = parse_qsl(parts.query, max_num_fields=50)
    except ValueError:  # no address after all, though it begins like one
        return Page("", normalise(text))
    path = unquote(parts.path).rstrip("/")
    given = sorted((key, value) for key, value in query if not _TRACKING.fullmatch(key))
    if host == "wikipedia.org" or host.endswith(".wikipedia.org"):
        found = _WIKI_PATH.fullmatch(path)
        title = dict(given).get("title") or (found["title"] if found else "")
        title = title.replace("_", " ").strip()
        if title:
            title = title[0].upper() + title[1:]
            return Page(f"{host}/{title}", normalise(title))
    return Page(f"{host}{path}{'?' if given else ''}{urlencode(given)}", "")


def retrieval(docs: Sequence[str], sources: Sequence[Source]) -> Retrieval | None:
    """Precision and recall of the pages cited, best first.

    Citations of one page count once, at its first place; address and title of a source are one
    page. A source counts once too.

    Returns:
        None where there are no sources.
    """
    wanted = _different([source_page(source) for source in sources])
    if not wanted:
        return None
    ranked: list[int | None] = []
    others: list[Page] = []
    for cited in map(page, docs):
        if not any(cited):
            continue
        place = next((at for at, one in enumerate(wanted) if _same(cited, one)), None)
        if place is not None:
            if place not in ranked:
                ranked.append(place)
        elif not any(_same(cited, other) for other in others):
            others.append(cited)
            ranked.append(None)
        if len(ranked) == CUTOFF:
            break
    cutoff = min(CUTOFF, len(wanted))
    return Retrieval(
        sum(place is not None for place in ranked[:cutoff]) / cutoff,
        sum(place is not None for place in ranked) / len(wanted),
    )


def source_page(source: Source) -> Page:
    """What is known of a source: its title, and its address where it has one."""
    found = page(source.url) if source.url else Page("", "")
    return Page(found.address, normalise(source.title))


def _different(pages: Sequence[Page]) -> list[Page]:
    found: list[Page] = []
    for one in pages:
        if not any(_same(one, other) for other in found):
            found.append(one)
    return found


def _same(first: Page, second: Page) -> bool:
    """Two addresses decide; where one has none, the titles do."""
    if first.address and second.address:
        return first.address == second.address
    return bool(first.title) and first.title == second.title
