"""Which embedding model is loaded, and what is said when none can be."""

from __future__ import annotations

import hashlib
import importlib
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kg.base.errors import MissingExtraError, MissingFileError, WeightsError, WriteError
from retrieval import dense
from retrieval.bm25 import BM25
from retrieval.fusion import Fusion
from retrieval.protocol import Passage
from retrieval.weights import HUB_TIMEOUT_S, weights_sha256


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
        dense.load_embedder()


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
    assert hub[1]["etag_timeout"] == HUB_TIMEOUT_S
    package = types.ModuleType(dense.WEIGHTS_PACKAGE)
    package.get_model_path = lambda: str(tmp_path)  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, dense.WEIGHTS_PACKAGE, package)
    with pytest.raises(WeightsError, match="no model weights"):
        dense.find_model()
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(WeightsError, match=f"not {dense.DEFAULT_SHA256}"):
        dense.find_model()
    monkeypatch.setattr(dense, "DEFAULT_SHA256", hashlib.sha256(b"other weights").hexdigest())
    assert dense.find_model() == (tmp_path, dense.DEFAULT_MODEL)
    assert dense.find_model(dense.DEFAULT_MODEL) == (tmp_path, dense.DEFAULT_MODEL)
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
    with pytest.raises(WeightsError):
        dense.load_embedder(str(tmp_path))
    (tmp_path / "pytorch_model.bin").write_bytes(b"weights")
    embedder = dense.load_embedder(str(tmp_path))
    assert embedder.encode(["a", "b"]).shape == (2, 3)
    assert embedder.name == tmp_path.name
    assert embedder.sha256 == hashlib.sha256(b"weights").hexdigest()
    assert made[-1][0] == str(tmp_path)
    assert made[-1][1]["local_files_only"] is True


def test_weights_are_known_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "b.safetensors").write_bytes(b"two")
    (tmp_path / "pytorch_model.bin").write_bytes(b"not what is loaded")
    one = weights_sha256(tmp_path)
    assert one == hashlib.sha256(b"two").hexdigest()
    (tmp_path / "a.safetensors").write_bytes(b"one")
    two = weights_sha256(tmp_path)
    (tmp_path / "a.safetensors").rename(tmp_path / "c.safetensors")
    assert len({one, two, weights_sha256(tmp_path)}) == 3


def counting(calls: list[int]) -> dense.Embedder:
    def encode(texts: Sequence[str]) -> np.ndarray:
        calls.append(len(texts))
        return np.array([[len(text), text.count("a"), 1.0] for text in texts], dtype=np.float32)

    return dense.Embedder(encode, "toy", "ab" * 32)


def test_a_corpus_is_embedded_once_and_a_damaged_cache_is_made_again(tmp_path: Path) -> None:
    calls: list[int] = []
    corpus = [Passage("x", "aab"), Passage("y", "cccc")]
    folder = tmp_path / "made" / "here"
    first = dense.Dense(corpus, counting(calls), cache=folder)
    again = dense.Dense(corpus, counting(calls), cache=folder)
    assert calls == [2]
    assert again.search("ab", 2) == first.search("ab", 2)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:64], whole[:-1] + bytes([whole[-1] ^ 1])):
        file.write_bytes(damaged)
        calls.clear()
        repaired = dense.Dense(corpus, counting(calls), cache=folder)
        assert calls == [2]
        assert file.read_bytes() == whole
        assert repaired.search("ab", 2) == first.search("ab", 2)
    for other in ([Passage("x", "aabc"), Passage("y", "ccc")], [*corpus, Passage("z", "")]):
        calls.clear()
        dense.Dense(other, counting(calls), cache=folder)
        assert calls == [len(other)]
    others = counting(calls)._replace(sha256="cd" * 32)
    calls.clear()
    dense.Dense(corpus, others, cache=folder)
    assert calls == [2]
    assert dense.Dense([], counting(calls), cache=folder).search("a", 1) == []


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError):
        dense.Dense([Passage("x", "a")], counting([]), cache=tmp_path / "file" / "cache")


@pytest.fixture(scope="module")
def minilm() -> dense.Embedder:
    """The real weights, from the installed package and nowhere else."""
    for needed in ("sentence_transformers", dense.WEIGHTS_PACKAGE):
        try:
            importlib.import_module(needed)
        except ImportError:
            pytest.skip(f"{needed} is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.delenv(dense.MODEL_VARIABLE, raising=False)
        return dense.load_embedder()


@pytest.mark.slow
def test_the_real_weights_are_the_published_ones(minilm: dense.Embedder) -> None:
    assert (minilm.name, minilm.sha256) == (dense.DEFAULT_MODEL, dense.DEFAULT_SHA256)
    vectors = minilm.encode(["The Rhine flows into the North Sea."])
    assert vectors.shape == (1, 384)
    assert np.linalg.norm(vectors[0]) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
def test_a_real_model_finds_the_paraphrase(minilm: dense.Embedder, tmp_path: Path) -> None:
    corpus = [
        Passage("food", "Bread is made of flour and water."),
        Passage("river", "The Rhine flows into the North Sea."),
        Passage("bank", "The bank lends money at two per cent."),
    ]
    retriever = dense.Dense(corpus, minilm, cache=tmp_path)
    assert retriever.search("Where does the stream reach the ocean?", 1)[0][0] == "river"
    assert BM25(corpus).search("Where does the stream reach the ocean?", 3) == []
    kept = dense.Dense(corpus, minilm, cache=tmp_path)
    asked = "What is baked from grain?"
    assert kept.search(asked, 3) == retriever.search(asked, 3)


@pytest.mark.slow
def test_fusion_keeps_what_either_finds(minilm: dense.Embedder) -> None:
    corpus = [
        Passage("named", "Zzyzx is at 4.5 m."),
        Passage("meant", "The stream ends in the ocean."),
        Passage("other", "Bread is made of flour and water."),
    ]
    both = Fusion(corpus, (BM25(corpus), dense.Dense(corpus, minilm)), pool=1)
    found = both.get_scores("Does the river Zzyzx reach the sea?", 2)
    assert set(found) == {"named", "meant"}
