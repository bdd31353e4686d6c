"""A small set of report inputs: cards, answers and metrics, made by the real code."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.sax.saxutils import escape

import msgspec
import pytest

from cards.card import Card, hash_card_set, write_cards
from eval.manifest import RunManifest, write_manifest
from eval.metrics.observations import read_observations
from eval.metrics.report import measure
from eval.metrics.samples import Plan
from eval.result import Pred, Result, result_to_json
from eval.running.totals import CallTotals
from kg.base.files import write_json_atomic, write_jsonl_atomic
from kg.base.provenance import manifest_path
from kg.claims import GOLD_OF_LABEL, Claim, Label, Proof, Violation

W = "https://epoche.example/rivers#"
ENTITY = "https://epoche.example/rivers/"
RIVERS = ("Rhine", "Danube", "Elbe", "Rhône", "Orinoco", "Ob", "Volga", "Po", "Tagus", "Shannon")
SEAS = ("North Sea", "Black Sea", "Kara Sea", "Adriatic Sea")
KINDS: dict[Label, tuple[str, ...]] = {
    "E": ("asserted", "inferred"),
    "C": ("functional", "disjoint", "near-miss/downstream"),
    "U": ("absent", "near-miss/sibling"),
}
SYSTEMS = {"kg": (1.0, 0.0, 0.0), "careful": (0.7, 0.25, 0.0), "hasty": (0.5, 0.1, 0.1)}
"""System → shares of right, UNKNOWN and unusable replies; the others are wrong."""


def make_claim(rng: random.Random) -> Claim:
    return Claim(
        ENTITY + rng.choice(RIVERS),
        W + rng.choice(("flowsInto", "drainsInto")),
        ENTITY + rng.choice(SEAS).replace(" ", "_"),
    )


def make_proof(label: Label, asked: Claim) -> Proof:
    if label == "E":
        return Proof("asserted", "index", premises=(asked,))
    if label == "C":
        broken = Violation(
            W + "OneMouthShape",
            "MaxCountConstraintComponent",
            asked.subj,
            f"<{asked.pred}>",
            "",
            "A river has at most one mouth.",
        )
        return Proof("violation", "incremental", violations=(broken,))
    return Proof("unproved", "incremental", checked=((W + "OneMouthShape", asked.subj),))


def make_cards(n: int, seed: int = 7) -> list[Card]:
    rng = random.Random(seed)
    cards = []
    for number in range(n):
        label: Label = ("E", "C", "U")[number % 3]
        asked = make_claim(rng)
        name = asked.subj.removeprefix(ENTITY)
        sea = asked.obj.removeprefix(ENTITY).replace("_", " ")
        cards.append(
            Card(
                id=f"{number:04x}{rng.getrandbits(32):08x}",
                facts=tuple(
                    f"The {rng.choice(RIVERS)} flows into the {rng.choice(SEAS)}." for _ in range(3)
                ),
                rules=("A river has at most one mouth.",),
                question=f"Does the {name} flow into the {sea}?",
                gold=GOLD_OF_LABEL[label],
                label=label,
                claim=asked,
                kind=rng.choice(KINDS[label]),
                proof=make_proof(label, asked),
                cluster=asked.subj,
                difficulty=rng.choice(("easy", "medium", "hard")),
            )
        )
    return cards


def make_answer(card: Card, shares: tuple[float, float, float], rng: random.Random) -> Pred:
    right, unknown, unusable = shares
    at = rng.random()
    if at < right:
        return card.gold
    if at < right + unknown:
        return "UNKNOWN"
    if at < right + unknown + unusable:
        return rng.choice(("INVALID", "ERROR"))
    return rng.choice([p for p in ("YES", "NO") if p != card.gold])


def make_result(card: Card, system: str, pred: Pred, cards: str, **more: Any) -> Result:
    return Result(
        id=card.id,
        system=system,
        gold=card.gold,
        label=card.label,
        pred=pred,
        passed=pred == card.gold,
        kind=card.kind,
        cluster=card.cluster,
        difficulty=card.difficulty,
        cards=cards,
        **more,
    )


@dataclass
class World:
    """The files of a finished run."""

    folder: Path
    cards: list[Card]
    results: list[Path] = field(default_factory=list)

    @property
    def deck(self) -> Path:
        return self.folder / "cards.jsonl"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.json"

    def flags(self, out: Path | None = None) -> list[str]:
        files = [part for path in self.results for part in ("--results", str(path))]
        out = out or self.folder / "report.html"
        return [*files, "--metrics", str(self.metrics), "--out", str(out)]


def build_world(
    folder: Path,
    cards: list[Card] | None = None,
    systems: dict[str, tuple[float, float, float]] | None = None,
    *,
    manifests: bool = True,
    controls: bool = True,
    resamples: int = 50,
    raw: Callable[[Card, Pred], str] = lambda card, pred: f"I read the facts and say {pred}.",
    more: Callable[[str, Card, Pred, random.Random], dict[str, Any]] = lambda *_: {},
    repeats: int = 1,
    calls: CallTotals | None = None,
) -> World:
    """Writes cards, results, manifests and metrics below ``folder``."""
    world = World(folder, cards or make_cards(60))
    write_cards(world.deck, world.cards)
    digest = hash_card_set(world.cards)
    rng = random.Random(11)
    plan: dict[str, tuple[float, float, float] | Pred] = dict(systems or SYSTEMS)
    if controls:
        plan |= {"always-YES": "YES", "always-UNKNOWN": "UNKNOWN"}
    for number, (system, shares) in enumerate(plan.items()):
        rows = []
        for card, repeat in ((card, n) for card in world.cards for n in range(repeats)):
            pred = shares if isinstance(shares, str) else make_answer(card, shares, rng)
            fields = {
                "raw": raw(card, pred),
                "error": "timed out" if pred == "ERROR" else None,
                "repeat": repeat,
            } | more(system, card, pred, rng)
            rows.append(make_result(card, system, pred, digest[:12], **fields))
        path = folder / f"{number}_results.jsonl"
        write_jsonl_atomic(path, map(result_to_json, rows))
        world.results.append(path)
        if manifests:
            said = make_manifest(path, system, digest, world)
            write_manifest(
                manifest_path(path), msgspec.structs.replace(said, repeats=repeats, calls=calls)
            )
    write_json_atomic(
        world.metrics, measure(read_observations(world.results), Plan(resamples=resamples))
    )
    return world


def make_manifest(path: Path, system: str, digest: str, world: World) -> RunManifest:
    return RunManifest(
        results=path.name,
        cards_file="cards.jsonl",
        cards_sha256=digest,
        cards_file_sha256="0" * 64,
        card_count=len(world.cards),
        system=system,
        systems=(system,),
        oracles=("kg",) if system == "kg" else (),
        seed=1,
        started="2026-01-01T00:00:00+00:00",
        status="complete",
    )


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Sixty cards, three systems, two controls."""
    return build_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def report_kit() -> SimpleNamespace:
    """The functions of this file, for tests that build their own inputs."""
    return SimpleNamespace(
        build_world=build_world, some_cards=make_cards, proof_of=make_proof, result_of=make_result
    )


CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # letters are as wide as the font says, not whole pixels
)


FONTS = Path(__file__).parents[1] / "data" / "fonts"
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""


@pytest.fixture(scope="session")
def pinned_fonts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fontconfig file under which the fonts of ``tests/data/fonts`` are the only ones.

    Otherwise widths on a page depend on the fonts of the machine, and without any font
    Chromium ends as soon as it opens a page.
    """
    folder = tmp_path_factory.mktemp("fonts")
    file = folder / "fonts.conf"
    file.write_text(FONTS_CONF.format(fonts=escape(str(FONTS)), cache=escape(str(folder))))
    return file


@pytest.fixture(scope="module")  # Playwright holds the thread's event loop while it is open.
def browser(pinned_fonts: Path) -> Iterator[Any]:
    """Real Chromium with pinned fonts. Without one, browser tests are skipped, but fail in CI."""
    found = os.environ.get("EPOCHE_CHROMIUM") or shutil.which("chromium")
    if not found:
        reason = "no chromium on PATH and EPOCHE_CHROMIUM is not set (Debian: apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=found,
            args=list(CHROMIUM_FLAGS),
            env={**os.environ, "FONTCONFIG_FILE": str(pinned_fonts)},
        )
        yield running
        running.close()


class Reader:
    """An open page, with all problems and requests that occurred in it."""

    def __init__(self, browser: Any, report: Path, **context: Any) -> None:
        context.setdefault("viewport", {"width": 1280, "height": 900})
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.problems.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = report.as_uri()
        self.page.goto(self.url)

    def count(self) -> str:
        return self.page.inner_text("#count")

    def rows(self) -> int:
        return self.page.locator("#card-rows > tr:has(.c-card)").count()

    def wait_count(self, text: str) -> None:
        self.page.wait_for_function(
            "text => document.getElementById('count').textContent === text", arg=text, timeout=10000
        )


@pytest.fixture
def open_report(browser: Any) -> Iterator[Callable[..., Reader]]:
    readers: list[Reader] = []

    def opened(path: Path, **context: Any) -> Reader:
        readers.append(Reader(browser, path, **context))
        return readers[-1]

    yield opened
    for reader in readers:
        reader.context.close()
