"""Runs and cards to plot: ordinary ones made by the real commands, and ones of hostile texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from library_documents import write_documents
from stage_calls import run_epoche

from cards.card import Card, read_cards, write_cards
from kg.claims import Claim
from kg.text.chunks import Chunk
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.run.pipeline import BuildPlan, build_run

HOSTILE_TEXTS = (
    "<script>document.title='owned';alert(1)</script>",
    "</svg></td></tr></table>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(3)>",
    "{{7*7}}",
    "javascript:alert(4)",
    "\u202egnorw si siht\u202c",
    "nul \x00 bell \x07 line\u2028separator",
    "\"'`=&amp;<b>bold",
    "nehar \u05e0\u05d4\u05e8",
    "x" * 5_000,
)


def build_library_run(folder: Path) -> Path:
    """Builds the run of a few documents about a tool library."""
    write_documents(folder / "documents")
    result = run_epoche(
        "kg", "build", folder / "documents", "--no-canonical", "--out", folder / "run"
    )
    assert result.code == 0, result.err
    return folder / "run"


class HostileKeywordExtractor:
    """A keyword extractor that returns every hostile text for every chunk."""

    name = "every"
    invented = 0
    failed = 0

    def params(self) -> dict[str, object]:
        return {}

    def extract_keywords(
        self, chunks: Sequence[Chunk], on_done: Callable[[ChunkKeywords], None]
    ) -> list[ChunkKeywords]:
        rows = [ChunkKeywords(chunk.id, HOSTILE_TEXTS) for chunk in chunks]
        for row in rows:
            on_done(row)
        return rows


def build_hostile_run(folder: Path) -> Path:
    """Builds a run whose concepts, sections and passages are all hostile texts."""
    rows = [
        {
            "id": f"<b>{number}</b>",
            "text": text,
            "metadata": {
                "document": f"d{number % 2} {text[:80]}",
                "section": text,
                "section_path": [text],
            },
        }
        for number, text in enumerate(HOSTILE_TEXTS)
    ]
    chunks = folder / "chunks.jsonl"
    chunks.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    plan = BuildPlan(documents=(chunks,), out=folder / "run", canonical=False, sections=False)
    build_run(plan, HostileKeywordExtractor(), None, None)
    return folder / "run"


def make_mayor_cards(folder: Path) -> Path:
    """Makes cards of the mayors domain with all three labels."""
    out = folder / "cards.jsonl"
    result = run_epoche("cards", "--domain", "mayors", "--num-per-type", 6, "--out", out)
    assert result.code == 0, result.err
    return out


def write_hostile_cards(folder: Path, cards: Path) -> Path:
    """Writes cards with one hostile text in every field, without a manifest."""
    hostile_cards = []
    template = read_cards(cards)[0]
    for number, text in enumerate(HOSTILE_TEXTS):
        claim = Claim(f"urn:a/{text}", f"urn:p/{text}", f"urn:b/{text}")
        row = {"subj": f"urn:c/{text}", "pred": f"urn:q/{text}", "obj": f'"{text}"'}
        hostile_cards.append(
            msgspec.structs.replace(
                template,
                id=f"{number} {text}",
                question=text,
                facts=(text,),
                rules=(text,),
                kind=text,
                claim=claim,
                cluster=text,
                meta={"triples": [row, {"denied": row}, "no triple", {"subj": 7}]},
            )
        )
    out = folder / "hostile.jsonl"
    write_cards(out, hostile_cards)
    return out


def find_card_with_label(cards: Path, label: str) -> Card:
    """Returns the first card with a label."""
    return next(card for card in read_cards(cards) if card.label == label)
