"""Provides shared fixtures: small card files, a scripted model and a local search server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers.scripted_server import ScriptedServer
from servers.search_engine import SearchEngine, make_certificates

from cards.card import Card, write_cards
from eval.model.providers import PROVIDERS
from kg.claims import GOLD_OF_LABEL, Claim, Label
from retrieval.web import CA_FILE_VARIABLE, PROXY_VARIABLE

LABELS: tuple[Label, ...] = ("E", "C", "U")


def make_card(number: int) -> Card:
    """Returns a card with numbered facts.

    Claim, kind and cluster contain "hidden", so that tests can check that no prompt shows them.
    """
    label = LABELS[number % 3]
    return Card(
        id=f"id{number:05d}",
        facts=(f"The river {number} is a river.", f"Brook {number} flows into Lake {number}."),
        rules=("A river flows into at most one body of water.",),
        question=f"Does Brook {number} flow into Lake {number}?",
        gold=GOLD_OF_LABEL[label],
        label=label,
        claim=Claim(f"urn:hidden:s{number}", "urn:hidden:p", f"urn:hidden:o{number}"),
        kind=f"hiddenkind{number % 4}",
        cluster=f"urn:hidden:s{number}",
        difficulty="easy",
    )


@pytest.fixture
def card_file(tmp_path: Path) -> Callable[[int], Path]:
    """Returns a function that writes a card file with ``count`` cards and returns its path."""

    def write_file(count: int, name: str = "cards.jsonl") -> Path:
        path = tmp_path / name
        write_cards(path, map(make_card, range(count)))
        return path

    return write_file


@pytest.fixture
def scripted_model(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the scripted server's model; the user's own provider variables are removed."""
    provider_variables = {
        name for p in PROVIDERS.values() for name in (p.url_variable, p.key_variable)
    }
    for name in (*sorted(provider_variables), "EPOCHE_MODEL", "EPOCHE_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    return f"custom/{scripted_server.model}"


@pytest.fixture(scope="module")
def kept_readers() -> Iterator[None]:
    """Keeps what SynthLink's scores read of each question from one command to the next.

    A command reads the evidence on a question once, which takes longer than to score an answer.
    """
    from eval.synthlink.corrected.answer_scores import keep_readers

    with keep_readers():
        yield


@pytest.fixture
def search_engine(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SearchEngine]:
    """A local server that receives all web searches."""
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, "html.duckduckgo.com")
    with SearchEngine(folder) as server:
        monkeypatch.setenv(PROXY_VARIABLE, server.address)
        monkeypatch.setenv(CA_FILE_VARIABLE, str(folder / "ca.pem"))
        yield server
