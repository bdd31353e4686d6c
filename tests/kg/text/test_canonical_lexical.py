"""Tests of the lexical embedder and of opening embedders by name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.base.errors import MissingFileError
from kg.embedding.factory import open_embedder
from kg.embedding.lexical import make_lexical_embedder


def cosine_similarity(text: str, other_text: str) -> float:
    vector, other_vector = make_lexical_embedder().encode([text, other_text])
    return float(vector @ other_vector)


def test_similar_spellings_are_near() -> None:
    assert cosine_similarity("B + -Trees", "B+-tree") == pytest.approx(1)
    assert cosine_similarity("serialisability", "serializability") > 0.7
    assert cosine_similarity("buffer pool", "transaction") < 0.3


@given(st.lists(st.text(max_size=30), max_size=8))
def test_vectors_have_length_one_or_zero(texts: list[str]) -> None:
    vectors = make_lexical_embedder().encode(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), 512)
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all(np.isclose(lengths, 1, atol=1e-5) | (lengths == 0))


def test_vectors_do_not_depend_on_the_process() -> None:
    code = (
        "from kg.embedding.lexical import make_lexical_embedder as e;"
        "print(e().encode(['two-phase locking', 'Überlauf']).tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    texts = ["two-phase locking", "Überlauf"]
    assert outputs.pop().strip().decode() == make_lexical_embedder().encode(texts).tobytes().hex()


def test_embedder_names_are_resolved() -> None:
    # The first field is the function that encodes; each embedder has its own.
    assert open_embedder("lexical")[1:] == make_lexical_embedder()[1:]
    assert len(make_lexical_embedder().sha256) == 64


@pytest.mark.extra("dense")
def test_unknown_model_is_reported_as_missing() -> None:
    with pytest.raises(MissingFileError):
        open_embedder("./no/such/model")
