"""Checks of the structure of any HTML page that is open in a browser."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

COUNT_UNNAMED_FIELDS = """() => Array.from(document.querySelectorAll('input, select')).filter(
    (field) => !field.labels.length || !field.labels[0].textContent.trim()).length"""
LIST_DUPLICATE_IDS = """() => {
    const ids = Array.from(document.querySelectorAll('[id]'), (n) => n.id);
    return ids.filter((id, i) => ids.indexOf(id) !== i); }"""
# A link with "?", such as #cards?card=ID, also sets filters; the script of the page reads it.
LIST_BROKEN_ANCHORS = """() => Array.from(document.querySelectorAll('a[href^="#"]'),
    (a) => a.hash.slice(1)).filter((id) => !id.includes('?') && !document.getElementById(id))"""
COUNT_BROKEN_LABELS = """() => Array.from(document.querySelectorAll('[aria-labelledby]')).filter(
    (n) => n.getAttribute('aria-labelledby').split(' ').some((id) => !document.getElementById(id))
).length"""


def check_structure(page: Any) -> None:
    """Checks landmarks, captions, names of figures and fields, ids, links and a visible focus."""
    for landmark in ("header", "nav.toc[aria-label]", "main", "footer", "h1"):
        assert page.locator(landmark).count() == 1
    assert page.locator("table").count() == page.locator("table > caption").count()
    undescribed_figures = "svg[role=img]:not(:has(> title)), svg[role=img]:not(:has(> desc))"
    assert page.locator(undescribed_figures).count() == 0
    assert page.locator("section:not([aria-labelledby])").count() == 0
    assert page.evaluate(COUNT_UNNAMED_FIELDS) == 0
    assert page.evaluate(LIST_DUPLICATE_IDS) == []
    assert page.evaluate(LIST_BROKEN_ANCHORS) == []
    assert page.evaluate(COUNT_BROKEN_LABELS) == 0
    # The first Tab must lead to the link that skips the navigation, and show it.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def check_headings(page: Any) -> None:
    """Checks that no heading skips a level."""
    script = "Array.from(document.querySelectorAll('main :is(h2,h3,h4)'), (h) => +h.tagName[1])"
    levels = page.evaluate(script)
    assert all(next_level <= level + 1 for level, next_level in pairwise(levels))


def check_printed_page(page: Any, file: Path) -> None:
    """Checks that a dark page is printed white and without controls, and writes it as a PDF."""
    page.emulate_media(media="print")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert not any(filters.is_visible() for filters in page.locator(".filters").all())
    pdf = page.pdf(path=file, format="A4", print_background=True)
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000  # an empty page would be smaller
