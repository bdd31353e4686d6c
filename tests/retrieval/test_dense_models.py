"""Which embedding model is loaded, and what is said when none can be."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kg.base.errors import MissingExtraError, MissingFileError
from retrieval import dense


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """A model hub that cannot be reached; records what it was asked."""
    calls: list[dict[str, Any]] = []

    def snapshot_download(name: str, **options: Any) -> str:
        calls.append({"name": name, **options})
        raise OSError("no network")

    module = types.ModuleType("huggingface_hub")
    module.snapshot_download = snapshot_download  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    monkeypatch.setitem(sys.modules, dense.WEIGHTS_PACKAGE, None)
    monkeypatch.delenv(dense.MODEL_VARIABLE, raising=False)
    return calls


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"epoche\[dense\]"):
        dense.load_encoder()


def test_a_named_folder_comes_before_the_variable(
    hub: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv(dense.MODEL_VARIABLE, str(tmp_path / "theirs"))
    assert dense.find_model(str(tmp_path / "mine")) == (tmp_path / "mine", "mine")
    assert dense.find_model() == (tmp_path / "theirs", "theirs")
    assert hub == []


def test_then_the_weights_package_then_the_hub(
    hub: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingExtraError, match=dense.MODEL_VARIABLE):
        dense.find_model()
    assert [call["name"] for call in hub] == [dense.DEFAULT_MODEL] * 2
    assert hub[0]["local_files_only"] is True
    assert hub[1]["etag_timeout"] == dense.HUB_TIMEOUT_S
    package = types.ModuleType(dense.WEIGHTS_PACKAGE)
    package.get_model_path = lambda: str(tmp_path)  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, dense.WEIGHTS_PACKAGE, package)
    assert dense.find_model() == (tmp_path, dense.DEFAULT_MODEL)
    assert len(hub) == 2


def test_a_folder_that_is_not_there_is_no_hub_name(hub: list[dict[str, Any]]) -> None:
    for wanted in ("./models/none", "/models/none", "~/none", "a/b/c"):
        with pytest.raises(MissingFileError):
            dense.find_model(wanted)
    with pytest.raises(MissingExtraError):
        dense.find_model("someone/model")
    assert [call["name"] for call in hub] == ["someone/model"] * 2


def test_the_encoder_asks_the_library_for_arrays(
    hub: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, dict[str, Any]]] = []

    class SentenceTransformer:
        def __init__(self, path: str, **options: Any) -> None:
            made.append((path, options))

        def encode(self, texts: list[str], **options: Any) -> np.ndarray:
            assert options["convert_to_numpy"] is True
            assert options["show_progress_bar"] is False
            return np.ones((len(texts), 3), dtype=np.float32)

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    encode, name = dense.load_encoder(str(tmp_path))
    assert encode(["a", "b"]).shape == (2, 3)
    assert name == tmp_path.name
    assert made[0][0] == str(tmp_path)
    assert made[0][1]["local_files_only"] is True


@pytest.mark.slow
def test_a_real_model_finds_the_paraphrase() -> None:
    for needed in ("sentence_transformers", dense.WEIGHTS_PACKAGE):
        try:
            importlib.import_module(needed)
        except ImportError:
            pytest.skip(f"{needed} is not installed")
    from retrieval.protocol import Passage

    corpus = [
        Passage("river", "The Rhine flows into the North Sea."),
        Passage("food", "Bread is made of flour and water."),
    ]
    encode, name = dense.load_encoder()
    retriever = dense.Dense(corpus, encode, model=name)
    assert retriever.search("Where does the stream reach the ocean?", 1)[0][0] == "river"
