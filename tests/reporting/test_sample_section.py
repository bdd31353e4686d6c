"""Tests of systems that were asked a sample of a report's cards, on its first screen and below."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from cards.card import read_cards
from cards.shipped_cards import unpack_shipped_set
from kg.base.errors import CardSetMismatchError
from reporting.html_report import main

MODEL = "Tiny-<b>1B</b>.Q4"
SAMPLED = {
    "kg": (1.0, 0.0, 0.0),
    f"raw:recorded/{MODEL}": (0.0, 0.0, 0.0),
    f"raw_closed_book:recorded/{MODEL}": (0.4, 0.3, 0.1),
    f"graph_rag_llm:recorded/{MODEL}": (0.8, 0.2, 0.0),
}


@pytest.fixture(scope="module")
def run(report_kit: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return report_kit.build_finished_run(
        tmp_path_factory.mktemp("all"), report_kit.make_cards(90), {"kg": (1.0, 0.0, 0.0)}
    )


@pytest.fixture(scope="module")
def sample(report_kit: Any, run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    report_kit.build_finished_run(folder, run.cards[:45], SAMPLED, controls=False)
    return folder


@pytest.fixture(scope="module")
def page(run: Any, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    main(run.results, None, run.metrics, out, section=[sample])
    return out


def test_the_sample_is_in_page_text_tables_and_data(page: Path, sample: Path) -> None:
    document = json.loads(page.with_suffix(".json").read_bytes())["sections"]["sample"]
    metrics = json.loads((sample / "metrics.json").read_bytes())
    systems = metrics["policies"]["licensed"]["systems"]
    shown = document["sample"]["systems"]
    assert set(shown) == set(SAMPLED)
    for name, found in shown.items():
        assert found["skill@.5"] == systems[name]["metrics"]["skill@.5"]
    assert document["sample"]["n_cards"] == metrics["n_cards"] > 0
    verdict = " ".join(document["verdict"])
    assert f"Replies of {MODEL} were recorded" in verdict
    assert re.search(r"Worse than never answering, .*: raw:recorded/Tiny", verdict)
    html, markdown = page.read_text("utf-8"), page.with_suffix(".md").read_text("utf-8")
    assert "Recorded models on a sample" in html
    assert "Recorded models on a sample" in markdown
    assert MODEL not in html, "names are escaped"
    value = f"{systems[f'raw_closed_book:recorded/{MODEL}']['metrics']['skill@.5']['value']:.3f}"
    assert value.replace("-", "−") in html
    rows = page.with_name("report.sample.metrics.csv").read_text("utf-8").splitlines()
    assert sum("skill@.5," in row for row in rows) == len(SAMPLED)


def test_other_cards_are_left_out(
    report_kit: Any, run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cards = [msgspec.structs.replace(card, question="Other?") for card in run.cards[:45]]
    report_kit.build_finished_run(tmp_path, cards, SAMPLED, controls=False)
    main(run.results, None, run.metrics, tmp_path / "report.html", section=[tmp_path])
    assert "not a sample of these cards" in capsys.readouterr().err
    document = json.loads((tmp_path / "report.json").read_bytes())
    assert "sections" not in document
    sentence = (
        f"Recorded models ({MODEL}) are not shown: they answered a sample of other cards than "
        f"these (folder {tmp_path.name})."
    )
    assert sentence in document["notices"]
    page = (tmp_path / "report.html").read_text("utf-8")
    assert html.escape(sentence, quote=False) in page


@pytest.fixture(scope="module")
def shipped(report_kit: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers to a shipped card set."""
    folder = tmp_path_factory.mktemp("shipped")
    # What the kit's rows do not have; it is no part of a card set's hash.
    cards = [
        msgspec.structs.replace(card, meta={})
        for card in read_cards(unpack_shipped_set("rivers-1", folder).cards)
    ]
    report_kit.build_finished_run(folder, cards, SAMPLED, controls=False)
    return folder


def test_a_shipped_set_is_shown_as_a_set_of_its_own(
    report_kit: Any, shipped: Path, tmp_path: Path
) -> None:
    def build_report(folder: Path, cards: Any) -> tuple[dict[str, Any], str]:
        folder.mkdir()
        run = report_kit.build_finished_run(folder, cards, {"kg": (1.0, 0.0, 0.0)}, domain="rivers")
        main(run.results, None, run.metrics, folder / "report.html", section=[shipped])
        document = json.loads((folder / "report.json").read_bytes())
        # No comparison has systems of both card sets.
        section = document["sections"]["sample"]
        assert section["sample"]["cards"] != document["metrics"]["cards"]
        assert section["sample"]["comparisons"]
        assert MODEL not in str(document["metrics"]["comparisons"])
        return section, (folder / "report.html").read_text("utf-8")

    section, page = build_report(tmp_path / "others", report_kit.make_cards(90))
    assert (section["sample"]["shipped"], section["sample"]["n_shared"]) == ("rivers-1", 0)
    verdict = " ".join(section["verdict"])
    assert "These systems answered rivers-1 (cards:4d917dded4be), a fixed set of 300" in verdict
    assert "another card set" in verdict
    assert "made from a graph of the same domain; the two have no card in common" in verdict
    assert "Recorded models on a fixed card set" in page
    assert "On the 300 cards of rivers-1, a card set of its own, with 95" in page
    cards = read_cards(shipped / "cards.jsonl")
    section, _ = build_report(tmp_path / "some", cards[:60])
    assert section["sample"]["n_shared"] == 60
    assert "the two have 60 cards in common" in " ".join(section["verdict"])


def test_a_shipped_set_of_another_domain_is_left_out(
    report_kit: Any, shipped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = report_kit.build_finished_run(
        tmp_path, report_kit.make_cards(90), {"kg": (1.0, 0.0, 0.0)}, domain="mayors"
    )
    main(run.results, None, run.metrics, tmp_path / "report.html", section=[shipped])
    assert "not a sample of these cards" in capsys.readouterr().err


def test_metrics_of_other_cards_are_refused(
    report_kit: Any, run: Any, sample: Path, tmp_path: Path
) -> None:
    report_kit.build_finished_run(tmp_path, run.cards[45:], SAMPLED, controls=False)
    (tmp_path / "metrics.json").write_bytes((sample / "metrics.json").read_bytes())
    with pytest.raises(CardSetMismatchError, match="other cards"):
        main(run.results, None, run.metrics, tmp_path / "report.html", section=[tmp_path])


def test_metrics_of_other_rows_of_a_sample_are_refused(
    report_kit: Any, run: Any, tmp_path: Path
) -> None:
    sample = report_kit.build_finished_run(tmp_path, run.cards[:45], SAMPLED, controls=False)
    text = sample.results[1].read_text("utf-8")
    sample.results[1].write_text(text.replace("I read the facts", "I know the facts"), "utf-8")
    with pytest.raises(CardSetMismatchError, match="was then"):
        main(run.results, None, run.metrics, tmp_path / "report.html", section=[tmp_path])


def test_a_sample_alone_is_refused(sample: Path, tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="all cards"):
        main(None, None, None, tmp_path / "report.html", section=[sample])


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_recorded_model_is_in_the_first_picture(open_report, page, width) -> None:  # type: ignore[no-untyped-def]
    reader = open_report(page, viewport={"width": width, "height": 900})
    texts = reader.page.locator(".opening").first.locator("figure text").all_text_contents()
    names = ["graph_rag_llm", "raw", "raw_closed_book"]
    assert texts.count("kg (oracle)") == 2, "once on all cards, once on the sample"
    assert [text for text in texts if text in names] == ["graph_rag_llm", "raw_closed_book", "raw"]
    assert f"{MODEL} (recorded)" in texts
    opening = reader.page.locator(".opening").first.text_content()
    best, _, unchecked = opening.partition("Best with a model: ")[2].partition("; best without")
    assert best.startswith(f"graph_rag_llm of {MODEL}, 0.")
    assert best.endswith("which checks its answers with the graph that proves the labels")
    assert f"that: raw_closed_book of {MODEL}, " in unchecked
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
    assert not reader.problems
