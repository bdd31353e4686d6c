"""Tests of ``epoche report --previous``: the same systems at different times."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from epoche.cli import app
from eval.abstention.history import build_history_section
from eval.blocks.axis_charts import CurveChart
from eval.blocks.blocks import Figures
from kg.base.errors import ChangedRunError, MissingFileError, RecordError, SettingError
from kg.base.provenance import compute_content_digest

SYSTEMS = {"careful": (0.7, 0.25, 0.0), "hasty": (0.5, 0.1, 0.1)}
EARLIER = {"careful": (0.4, 0.3, 0.0), "former": (0.9, 0.0, 0.0)}


def set_start(metrics: Path, started: str | None, version: str = "0.1.0") -> Path:
    """Changes when the runs behind a metrics file were started."""
    document = json.loads(metrics.read_bytes())
    document["version"] = version
    for source in document["sources"]:
        source["manifest"]["started"] = started
    document["content_sha256"] = compute_content_digest(document)
    metrics.write_text(json.dumps(document), encoding="utf-8")
    return metrics


@pytest.fixture(scope="module")
def runs(report_kit: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report's run, and earlier ones on the same cards and on other cards."""
    folder = tmp_path_factory.mktemp("runs")
    cards = report_kit.make_cards(90)
    found = {
        "now": report_kit.build_finished_run(folder / "now", cards, SYSTEMS),
        "before": report_kit.build_finished_run(folder / "before", cards, EARLIER),
        "others": report_kit.build_finished_run(
            folder / "others", report_kit.make_cards(60, seed=8), {"careful": (0.2, 0.5, 0.0)}
        ),
    }
    set_start(found["before"].metrics, "2025-11-03T10:00:00+02:00", "0.0.9")
    set_start(found["others"].metrics, "2025-06-01T00:00:00+00:00", "0.0.5")
    return found


def get_curves(section: Any) -> dict[str, tuple[float, ...]]:
    figures = next(b for b in section.parts[0].blocks if isinstance(b, Figures))
    chart = figures.figures[0].chart
    assert isinstance(chart, CurveChart)
    return {curve.name: tuple(round(p.y, 6) for p in curve.points) for curve in chart.curves}


def read_value(metrics: Path, system: str, metric: str) -> float:
    policies = json.loads(metrics.read_bytes())["policies"]
    return round(policies["licensed"]["systems"][system]["metrics"][metric]["value"], 6)


def test_runs_on_the_same_cards_are_one_curve_in_order_of_time(runs):
    section = build_history_section(runs["now"].metrics, [runs["before"].folder])
    records = section.data["runs"]
    assert [record.date for record in records] == ["2025-11-03 08:00", "2026-01-01 00:00"]
    assert records[0].version == "0.0.9"
    metric = records[0].metric
    paths = (runs["before"].metrics, runs["now"].metrics)
    assert get_curves(section) == {
        "careful": tuple(read_value(path, "careful", metric) for path in paths)
    }
    assert section.notices == ()
    first, last = (read_value(path, "careful", metric) for path in paths)
    change = f"went from {first:.3f} on 2025-11-03 to {last:.3f} on 2026-01-01 (2 runs on the same"
    assert change in section.verdict[0]
    values = [record.value for record in records]
    apart = values[0].high < values[1].low or values[1].high < values[0].low
    assert section.verdict[0].endswith(f"intervals {'do not ' if apart else ''}overlap).")


def test_runs_on_other_cards_are_not_joined(runs):
    section = build_history_section(
        runs["now"].metrics, [runs["others"].metrics, runs["before"].metrics]
    )
    sets = {name.partition(", ")[2]: len(values) for name, values in get_curves(section).items()}
    assert sorted(sets.values()) == [1, 2]
    assert len(sets) == 2
    assert "cannot be compared" in section.notices[0]


def test_a_run_given_twice_is_shown_once(runs):
    section = build_history_section(
        runs["now"].metrics, [runs["now"].metrics, runs["before"].folder, runs["before"].metrics]
    )
    assert len(section.data["runs"]) == 2


def test_report_shows_the_runs_in_all_formats(runs, tmp_path):
    now, before = runs["now"], runs["before"]
    arguments = ["report", *now.list_arguments(tmp_path / "r.html"), "--previous", before.metrics]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "The same systems over time" in page
    assert 'href="#history"' in page
    assert "2025-11-03 08:00" in (tmp_path / "r.md").read_text("utf-8")
    records = json.loads((tmp_path / "r.json").read_bytes())["sections"]["history"]["runs"]
    assert {record["system"] for record in records} == {"careful"}
    table = (tmp_path / "r.history.runs.csv").read_text("utf-8")
    assert table.count("\n") == 3


def test_what_is_no_earlier_run_is_refused(runs, report_kit, tmp_path):
    now = runs["now"].metrics
    with pytest.raises(SettingError, match="earlier run of a system in the report"):
        build_history_section(now, [now])
    with pytest.raises(MissingFileError):
        build_history_section(now, [tmp_path])
    undated = shutil.copy(runs["before"].metrics, tmp_path / "undated.json")
    with pytest.raises(SettingError, match="not known when 'careful' was run"):
        build_history_section(now, [set_start(Path(undated), None)])
    with pytest.raises(RecordError, match="which is no date"):
        build_history_section(now, [set_start(Path(undated), "yesterday")])


def test_edited_metrics_of_earlier_runs_are_refused_or_said(runs, tmp_path):
    now, edited = runs["now"].metrics, tmp_path / "earlier" / "metrics.json"
    edited.parent.mkdir()
    edited.write_text(runs["before"].metrics.read_text("utf-8").replace("0.0.9", "0.0.8"))
    with pytest.raises(ChangedRunError, match=r"metrics\.json were changed"):
        build_history_section(now, [edited])
    section = build_history_section(now, [edited], allow_changed=True)
    (notice,) = section.notices
    assert notice.startswith("earlier: Accepted with --allow-changed")
    assert "(metrics:changed)" in notice


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_history_fits_the_page(open_report, runs, tmp_path, width):
    out = tmp_path / "r.html"
    arguments = ["report", *runs["now"].list_arguments(out)]
    for name in ("before", "others"):
        arguments += ["--previous", str(runs[name].metrics)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    reader = open_report(out, viewport={"width": width, "height": 800})
    assert reader.page.locator("#history svg").count() == 1
    assert reader.page.locator("#history tbody tr:not(.group)").count() == 3
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
    assert reader.problems == []
