"""Tests the default embedding model: its vectors are those of sentence-transformers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stage_calls import PRODUCT

from kg.embedding import embedder
from kg.embedding.minilm import MAX_CHARACTERS

ODD_TEXTS = (
    "",
    " \n\t",
    "🙂🙃 👩‍👩‍👧 🇦🇹",
    "日本語の文章です。",
    "Ａ ﬁne Ｅxample — ‘quoted’ … e\u0301 ≠ é",
    "a\x00b\ufffd\u200b\u202e",
    "x" * 300,
    "word " * 1000,
    "Fließt die Donau durch Österreich? " * 60,
)


def list_real_texts() -> list[str]:
    """Returns English sentences and passages of the shipped corpora, and German texts."""
    book = "\n\n".join(
        path.read_text("utf-8")
        for path in sorted((PRODUCT / "retrieval/corpora/keeping_data/book").glob("*.md"))
    )
    sentences = re.split(r"(?<=[.!?])\s+", book)[::9]
    page_lines = (
        (PRODUCT / "retrieval/corpora/synthlink/pages.jsonl").read_text("utf-8").splitlines()
    )
    pages = [json.loads(line)["text"] for line in page_lines[::40]]
    documents = [
        json.loads(line)["text"]
        for path in sorted((PRODUCT / "eval/extraction/data/samples").glob("*.de.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    german = "\n".join(documents).split("\n")[::3]
    return [*sentences, *pages, *german, *documents[::4]]


@pytest.mark.slow
@pytest.mark.extra("dense")
def test_vectors_equal_those_of_sentence_transformers(minilm: embedder.Embedder) -> None:
    from sentence_transformers import SentenceTransformer

    folder, _ = embedder.find_model()
    reference = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    texts = [*ODD_TEXTS, *list_real_texts()]
    assert len(texts) > 300
    lengths = [len(reference.tokenizer.tokenize(text)) for text in texts]
    assert sum(length > 256 for length in lengths) >= 3, "no text is long enough to be cut"
    expected = reference.encode(texts, batch_size=16, show_progress_bar=False)
    vectors = minilm.encode(texts)
    assert vectors.dtype == expected.dtype == np.float32
    # Both are of unit length: the largest difference of a component bounds that of a cosine.
    np.testing.assert_allclose(vectors, expected, atol=2e-6)


def test_vectors_equal_recorded_ones_of_sentence_transformers(minilm: embedder.Embedder) -> None:
    # sentence-transformers 6.2.0: the first three components.
    expected = {
        "": (-0.118838, 0.048299, -0.002548),
        "The Rhine flows into the North Sea.": (0.007351, 0.083646, 0.032244),
        "Mündet die Donau in das Schwarze Meer?": (-0.03945, 0.083215, 0.019387),
        "🙂": (-0.041596, -0.024682, 0.077893),
        "word " * 1000: (-0.008124, -0.095586, -0.038673),
    }
    vectors = minilm.encode(list(expected))
    np.testing.assert_allclose(vectors[:, :3], list(expected.values()), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_vectors_do_not_depend_on_the_other_texts(minilm: embedder.Embedder) -> None:
    texts = [*ODD_TEXTS, *list_real_texts()[:40]]
    vectors = minilm.encode(texts)
    np.testing.assert_allclose(minilm.encode(texts[::-1])[::-1], vectors, atol=1e-6)
    np.testing.assert_allclose(
        np.concatenate([minilm.encode([text]) for text in texts]), vectors, atol=1e-6
    )
    assert minilm.encode([]).shape == (0, 384)


def test_hostile_texts_are_cut_and_cleaned(minilm: embedder.Embedder) -> None:
    vectors = minilm.encode(["half \ud800 pair", "half ? pair", "a " * MAX_CHARACTERS, "a " * 500])
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[2], vectors[3])


DRIVER = """
import hashlib, sys
from kg.embedding.embedder import load_embedder
vectors = load_embedder().encode([line.strip() for line in sys.stdin])
assert not {"torch", "sentence_transformers", "transformers"} & sys.modules.keys()
print(vectors.shape, hashlib.sha256(vectors.tobytes()).hexdigest())
"""


@pytest.mark.extra("minilm")
def test_bytes_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    texts = "\n".join(text.replace("\n", " ") for text in list_real_texts()[:60])
    outputs = set()
    for threads in ("1", "3"):
        variables = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        result = subprocess.run(
            [sys.executable, "-c", DRIVER],
            input=texts,
            cwd=tmp_path,
            env={**os.environ, **variables, "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert result.returncode == 0, result.stderr
        outputs.add(result.stdout)
    assert len(outputs) == 1
    assert outputs.pop().startswith("(60, 384) ")
