"""Fixtures: the files of a small run (cards, answers, metrics), and pages open in a browser."""

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

import epoche.cli  # noqa: F401  registers the writer of pages
from cards.card import Card, hash_card_set, write_cards
from eval.abstention.manifest import RunManifest, write_manifest
from eval.abstention.metrics.cluster_samples import Plan
from eval.abstention.metrics.observations import read_observations
from eval.abstention.metrics.report import measure
from eval.abstention.result import Pred, Result, result_to_json
from eval.harness.totals import CallTotals
from kg.base.files import sha256_file, write_json_atomic, write_jsonl_atomic
from kg.base.provenance import manifest_path
from kg.claims import GOLD_OF_LABEL, Claim, Label, Proof, Violation

VOCABULARY = "https://epoche.example/rivers#"
ENTITY = "https://epoche.example/rivers/"
RIVERS = ("Rhine", "Danube", "Elbe", "Rhône", "Orinoco", "Ob", "Volga", "Po", "Tagus", "Shannon")
SEAS = ("North Sea", "Black Sea", "Kara Sea", "Adriatic Sea")
KINDS: dict[Label, tuple[str, ...]] = {
    "E": ("asserted", "inferred"),
    "C": ("functional", "disjoint", "near-miss/downstream"),
    "U": ("absent", "near-miss/sibling"),
}
SYSTEMS = {"kg": (1.0, 0.0, 0.0), "careful": (0.7, 0.25, 0.0), "hasty": (0.5, 0.1, 0.1)}
"""System → shares of right, UNKNOWN and unusable replies; all other replies are wrong."""


def make_claim(rng: random.Random) -> Claim:
    return Claim(
        ENTITY + rng.choice(RIVERS),
        VOCABULARY + rng.choice(("flowsInto", "drainsInto")),
        ENTITY + rng.choice(SEAS).replace(" ", "_"),
    )


def make_proof(label: Label, claim: Claim) -> Proof:
    if label == "E":
        return Proof("asserted", "index", premises=(claim,))
    if label == "C":
        violation = Violation(
            VOCABULARY + "OneMouthShape",
            "MaxCountConstraintComponent",
            claim.subj,
            f"<{claim.pred}>",
            "",
            "A river has at most one mouth.",
        )
        return Proof("violation", "incremental", violations=(violation,))
    return Proof("unproved", "incremental", checked=((VOCABULARY + "OneMouthShape", claim.subj),))


def make_cards(n: int, seed: int = 7) -> list[Card]:
    rng = random.Random(seed)
    cards = []
    for number in range(n):
        label: Label = ("E", "C", "U")[number % 3]
        claim = make_claim(rng)
        name = claim.subj.removeprefix(ENTITY)
        sea = claim.obj.removeprefix(ENTITY).replace("_", " ")
        cards.append(
            Card(
                id=f"{number:04x}{rng.getrandbits(32):08x}",
                facts=(
                    *(
                        f"The {rng.choice(RIVERS)} flows into the {rng.choice(SEAS)}."
                        for _ in range(3)
                    ),
                    f"Gauge {number} is on the {name}.",  # no card is a copy of another
                ),
                rules=("A river has at most one mouth.",),
                question=f"Does the {name} flow into the {sea}?",
                gold=GOLD_OF_LABEL[label],
                label=label,
                claim=claim,
                kind=rng.choice(KINDS[label]),
                proof=make_proof(label, claim),
                cluster=claim.subj,
                difficulty=rng.choice(("easy", "medium", "hard")),
            )
        )
    return cards


def make_answer(card: Card, shares: tuple[float, float, float], rng: random.Random) -> Pred:
    right_share, unknown_share, unusable_share = shares
    draw = rng.random()
    if draw < right_share:
        return card.gold
    if draw < right_share + unknown_share:
        return "UNKNOWN"
    if draw < right_share + unknown_share + unusable_share:
        return rng.choice(("INVALID", "ERROR"))
    return rng.choice([p for p in ("YES", "NO") if p != card.gold])


def make_result(card: Card, system: str, pred: Pred, cards: str, **fields: Any) -> Result:
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
        **fields,
    )


@dataclass
class FinishedRun:
    """The cards of a run, and where its files are."""

    folder: Path
    cards: list[Card]
    results: list[Path] = field(default_factory=list)

    @property
    def cards_file(self) -> Path:
        return self.folder / "cards.jsonl"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.json"

    def measure(self, resamples: int = 50) -> None:
        """Computes the metrics from the results as they are now."""
        report = measure(read_observations(self.results), Plan(resamples=resamples))
        write_json_atomic(self.metrics, report)

    def list_arguments(self, out: Path | None = None) -> list[str]:
        """Returns the command-line arguments that make a report of the run."""
        files = [part for path in self.results for part in ("--results", str(path))]
        out = out or self.folder / "report.html"
        return [*files, "--metrics", str(self.metrics), "--out", str(out)]


def build_finished_run(
    folder: Path,
    cards: list[Card] | None = None,
    systems: dict[str, tuple[float, float, float]] | None = None,
    *,
    manifests: bool = True,
    controls: bool = True,
    resamples: int = 50,
    make_raw: Callable[[Card, Pred], str] = lambda card, pred: f"I read the facts and say {pred}.",
    make_fields: Callable[[str, Card, Pred, random.Random], dict[str, Any]] = lambda *_: {},
    repeats: int = 1,
    calls: CallTotals | None = None,
    domain: str | None = None,
) -> FinishedRun:
    """Writes cards, results, manifests and metrics below ``folder``.

    ``systems`` maps each system to its shares of right, UNKNOWN and unusable replies; ``make_raw``
    makes the raw text of a reply, ``make_fields`` other fields of its row.
    """
    finished_run = FinishedRun(folder, cards or make_cards(60))
    write_cards(finished_run.cards_file, finished_run.cards)
    digest = hash_card_set(finished_run.cards)
    rng = random.Random(11)
    answer_plans: dict[str, tuple[float, float, float] | Pred] = dict(systems or SYSTEMS)
    if controls:
        answer_plans |= {"always-YES": "YES", "always-UNKNOWN": "UNKNOWN"}
    for number, (system, answer_plan) in enumerate(answer_plans.items()):
        rows = []
        for card, repeat in ((card, n) for card in finished_run.cards for n in range(repeats)):
            if isinstance(answer_plan, str):  # A control gives every card the same answer.
                pred = answer_plan
            else:
                pred = make_answer(card, answer_plan, rng)
            fields = {
                "raw": make_raw(card, pred),
                "error": "timed out" if pred == "ERROR" else None,
                "repeat": repeat,
            } | make_fields(system, card, pred, rng)
            rows.append(make_result(card, system, pred, digest[:12], **fields))
        path = folder / f"{number}_results.jsonl"
        write_jsonl_atomic(path, map(result_to_json, rows))
        finished_run.results.append(path)
        if manifests:
            manifest = make_manifest(path, system, digest, finished_run)
            write_manifest(
                manifest_path(path),
                msgspec.structs.replace(manifest, repeats=repeats, calls=calls, domain=domain),
            )
    finished_run.measure(resamples)
    return finished_run


def make_manifest(path: Path, system: str, digest: str, finished_run: FinishedRun) -> RunManifest:
    return RunManifest(
        results=path.name,
        cards_file="cards.jsonl",
        cards_sha256=digest,
        cards_file_sha256=sha256_file(finished_run.cards_file),
        card_count=len(finished_run.cards),
        system=system,
        systems=(system,),
        oracles=("kg",) if system == "kg" else (),
        seed=1,
        started="2026-01-01T00:00:00+00:00",
        status="complete",
    )


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """The files of a run with sixty cards, three systems and two controls."""
    return build_finished_run(tmp_path_factory.mktemp("finished_run"))


@pytest.fixture(scope="session")
def report_kit() -> SimpleNamespace:
    """The functions of this file, for tests that build their own inputs."""
    return SimpleNamespace(
        build_finished_run=build_finished_run, make_cards=make_cards, make_proof=make_proof
    )


CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # Letters are exactly as wide as in the font.
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
    """A fontconfig file that makes only the fonts of ``tests/data/fonts`` available.

    Otherwise widths on a page depend on the fonts of the machine, and without any font Chromium
    stops when it opens a page.
    """
    folder = tmp_path_factory.mktemp("fonts")
    file = folder / "fonts.conf"
    file.write_text(FONTS_CONF.format(fonts=escape(str(FONTS)), cache=escape(str(folder))))
    return file


# Not of session scope: Playwright blocks the event loop of the thread while it is open.
@pytest.fixture(scope="module")
def browser(pinned_fonts: Path) -> Iterator[Any]:
    """Real Chromium with pinned fonts; if there is none, tests are skipped, but fail in CI."""
    executable = os.environ.get("EPOCHE_CHROMIUM") or shutil.which("chromium")
    if not executable:
        reason = "no chromium on PATH and EPOCHE_CHROMIUM is not set (Debian: apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=executable,
            args=list(CHROMIUM_FLAGS),
            env={**os.environ, "FONTCONFIG_FILE": str(pinned_fonts)},
        )
        yield chromium
        chromium.close()


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

    def get_count_text(self) -> str:
        return self.page.inner_text("#count")

    def count_rows(self) -> int:
        return self.page.locator("#card-rows > tr:has(.c-card)").count()

    def wait_for_count(self, text: str) -> None:
        self.page.wait_for_function(
            "text => document.getElementById('count').textContent === text", arg=text, timeout=10000
        )


@pytest.fixture
def open_report(browser: Any) -> Iterator[Callable[..., Reader]]:
    """A function that opens a page; all pages are closed after the test."""
    readers: list[Reader] = []

    def open_page(path: Path, **context: Any) -> Reader:
        readers.append(Reader(browser, path, **context))
        return readers[-1]

    yield open_page
    for reader in readers:
        reader.context.close()
