"""Tests which embedding model is loaded, and the errors if none can be loaded."""

from __future__ import annotations

import hashlib
import importlib.machinery
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kg.base.errors import MissingExtraError, MissingFileError, WeightsError
from kg.embedding import embedder
from kg.embedding.weights import HUB_TIMEOUT_S, hash_weights


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """A model hub that cannot be reached; records its requests."""
    calls: list[dict[str, Any]] = []

    def snapshot_download(name: str, **options: Any) -> str:
        calls.append({"name": name, **options})
        raise OSError("no network")

    module = types.ModuleType("huggingface_hub")
    module.snapshot_download = snapshot_download  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    monkeypatch.setitem(sys.modules, embedder.WEIGHTS_PACKAGE, None)
    monkeypatch.delenv(embedder.MODEL_VARIABLE, raising=False)
    return calls


@pytest.mark.parametrize("library", ["safetensors", "threadpoolctl", "tokenizers"])
def test_missing_extra_names_what_to_install(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("safetensors", "threadpoolctl", "tokenizers", "sentence_transformers"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delenv(embedder.MODEL_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"{library} .*epoche\[minilm\].*--no-deps"):
        embedder.load_embedder()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"epoche\[dense\]"):
        embedder.load_embedder(str(tmp_path))


def test_given_folder_takes_precedence_over_the_variable(
    hub: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv(embedder.MODEL_VARIABLE, str(tmp_path / "theirs"))
    assert embedder.find_model(str(tmp_path / "mine")) == (tmp_path / "mine", "mine")
    assert embedder.find_model() == (tmp_path / "theirs", "theirs")
    assert hub == []


def test_weights_package_takes_precedence_over_the_hub(
    hub: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingExtraError, match=embedder.MODEL_VARIABLE):
        embedder.find_model()
    # The first call looks in the local cache, the second one uses the network.
    assert [call["name"] for call in hub] == [embedder.DEFAULT_MODEL] * 2
    assert hub[0]["local_files_only"] is True
    assert hub[1]["etag_timeout"] == HUB_TIMEOUT_S
    assert set(hub[1]["allow_patterns"]) == {"model.safetensors", "tokenizer.json"}
    # Fails if the code of the package is run.
    folder = tmp_path / embedder.WEIGHTS_PACKAGE / "model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, embedder.WEIGHTS_PACKAGE)
    with pytest.raises(WeightsError, match="no model weights"):
        embedder.find_model()
    (folder / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(WeightsError, match=f"not {embedder.DEFAULT_SHA256}"):
        embedder.find_model()
    weights_hash = hashlib.sha256(b"other weights").hexdigest()
    monkeypatch.setattr(embedder, "DEFAULT_SHA256", weights_hash)
    with pytest.raises(WeightsError, match=r"tokenizer.json .* sha256 of no file"):
        embedder.find_model()
    (folder / "tokenizer.json").write_bytes(b"other tokens")
    with pytest.raises(WeightsError, match=f"not {embedder.DEFAULT_TOKENIZER_SHA256}"):
        embedder.find_model()
    tokenizer_hash = hashlib.sha256(b"other tokens").hexdigest()
    monkeypatch.setattr(embedder, "DEFAULT_TOKENIZER_SHA256", tokenizer_hash)
    assert embedder.find_model() == (folder, embedder.DEFAULT_MODEL)
    assert embedder.find_model(embedder.DEFAULT_MODEL) == (folder, embedder.DEFAULT_MODEL)
    assert len(hub) == 2


def test_missing_folder_is_not_taken_for_a_hub_name(hub: list[dict[str, Any]]) -> None:
    for path in ("./models/none", "/models/none", "~/none", "a/b/c"):
        with pytest.raises(MissingFileError):
            embedder.find_model(path)
    with pytest.raises(MissingExtraError):
        embedder.find_model("someone/model")
    assert [call["name"] for call in hub] == ["someone/model"] * 2


def test_encoder_requests_numpy_arrays(
    hub: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constructor_calls: list[tuple[str, dict[str, Any]]] = []

    class SentenceTransformer:
        def __init__(self, path: str, **options: Any) -> None:
            constructor_calls.append((path, options))

        def encode(self, texts: list[str], **options: Any) -> np.ndarray:
            assert options["convert_to_numpy"] is True
            assert options["show_progress_bar"] is False
            return np.ones((len(texts), 3), dtype=np.float32)

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    with pytest.raises(WeightsError):
        embedder.load_embedder(str(tmp_path))
    (tmp_path / "pytorch_model.bin").write_bytes(b"weights")
    model = embedder.load_embedder(str(tmp_path))
    assert model.encode(["a", "b"]).shape == (2, 3)
    assert model.name == tmp_path.name
    assert model.sha256 == hashlib.sha256(b"weights").hexdigest()
    assert constructor_calls[-1][0] == str(tmp_path)
    assert constructor_calls[-1][1]["local_files_only"] is True


@pytest.mark.extra("dense")
def test_folder_without_usable_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights of nothing")
    with pytest.raises(WeightsError, match="cannot be loaded"):
        embedder.load_embedder(str(tmp_path))


def test_weights_are_identified_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "b.safetensors").write_bytes(b"two")
    (tmp_path / "pytorch_model.bin").write_bytes(b"not what is loaded")
    hash_of_one_file = hash_weights(tmp_path)
    assert hash_of_one_file == hashlib.sha256(b"two").hexdigest()
    (tmp_path / "a.safetensors").write_bytes(b"one")
    hash_of_two_files = hash_weights(tmp_path)
    (tmp_path / "a.safetensors").rename(tmp_path / "c.safetensors")
    assert len({hash_of_one_file, hash_of_two_files, hash_weights(tmp_path)}) == 3


@pytest.mark.slow
def test_real_weights_are_the_published_ones(minilm: embedder.Embedder) -> None:
    assert (minilm.name, minilm.sha256) == (embedder.DEFAULT_MODEL, embedder.DEFAULT_SHA256)
    vectors = minilm.encode(["The Rhine flows into the North Sea."])
    assert vectors.shape == (1, 384)
    assert np.linalg.norm(vectors[0]) == pytest.approx(1.0, abs=1e-3)
