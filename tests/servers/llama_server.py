"""A real OpenAI-compatible server with a tiny random model, for tests of the protocol.

The server of llama.cpp (from the ``xllamacpp`` wheel) serves a model made by ``write_model``: the
requests and replies are real, the answers are noise and must never be reported as results. The
server's threads do not end when it is stopped, so it runs in a separate process:

    python tests/servers/llama_server.py FOLDER
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MODEL = "tiny-random"
API_KEY = "sk-loopback-llama-3f81c0"
PARALLEL_SLOTS = 8
CONTEXT_TOKENS = PARALLEL_SLOTS * 8_192
"""Tokens of all slots together. A token is about a letter here, so a card needs thousands."""

LAYERS, WIDTH, HEADS, HIDDEN = 2, 64, 4, 128
CHAT_TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "


@dataclass(frozen=True)
class LlamaServer:
    """A running server.

    Attributes:
        base_url: address of the API, ``/v1`` included.
        model: name of the model it serves.
        api_key: the only key it accepts.
    """

    base_url: str
    model: str = MODEL
    api_key: str = API_KEY


def build_vocabulary() -> tuple[list[str], list[float], list[int]]:
    """Builds a SentencePiece vocabulary of 366 pieces: specials, all bytes, letters, a few words.

    Returns:
        Pieces, their scores (the tokenizer prefers merges with higher scores) and their kinds.
    """
    from gguf import TokenType

    pieces = ["<unk>", "<s>", "</s>"]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL]
    pieces += [f"<0x{byte:02X}>" for byte in range(256)]
    kinds += [TokenType.BYTE] * 256
    normal_pieces = ["▁", *(chr(code) for code in range(33, 127))]
    normal_pieces += ["▁Y", "YE", "YES", "NO", "UN", "▁t", "▁a", "in", "on", "er", "▁the", '{"']
    pieces += normal_pieces
    kinds += [TokenType.NORMAL] * len(normal_pieces)
    scores = [0.0] * 259 + [-float(number) for number in range(len(normal_pieces))]
    return pieces, scores, [int(kind) for kind in kinds]


def write_model(path: Path) -> None:
    """Writes a random model of llama's architecture (half a megabyte), always the same bytes."""
    import numpy as np
    from gguf import GGUFWriter

    pieces, scores, kinds = build_vocabulary()
    random = np.random.default_rng(0)
    writer = GGUFWriter(path, "llama")
    writer.add_name(MODEL)
    writer.add_context_length(CONTEXT_TOKENS // PARALLEL_SLOTS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(pieces))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(CHAT_TEMPLATE)

    def add(tensor_name: str, *shape: int) -> None:
        values = random.standard_normal(shape) * 0.3
        writer.add_tensor(f"{tensor_name}.weight", values.astype(np.float32))

    def add_ones(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))

    add("token_embd", len(pieces), WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        add_ones(f"{block}.attn_norm")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{block}.{part}", WIDTH, WIDTH)
        add_ones(f"{block}.ffn_norm")
        add(f"{block}.ffn_gate", HIDDEN, WIDTH)
        add(f"{block}.ffn_up", HIDDEN, WIDTH)
        add(f"{block}.ffn_down", WIDTH, HIDDEN)
    add_ones("output_norm")
    add("output", len(pieces), WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def llama_server(folder: Path) -> Iterator[LlamaServer]:
    """Runs a server in a separate process until the context ends.

    Args:
        folder: where the model and the server's log are written.

    Raises:
        RuntimeError: the server did not start; the message quotes its log.
    """
    with (folder / "llama.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().decode().strip()
        if not address:
            log_text = (folder / "llama.log").read_text(errors="replace")[-2_000:]
            raise RuntimeError(f"the llama server did not start: {log_text}")
        yield LlamaServer(f"{address}/v1")
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def serve(folder: Path) -> None:
    """Serves until standard input ends, that is, until the parent process has ended."""
    from xllamacpp import CommonParams, Server

    model = folder / "tiny-random.gguf"
    write_model(model)
    params = CommonParams()
    params.model.path = str(model)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [API_KEY]
    params.n_parallel = PARALLEL_SLOTS
    params.n_ctx = CONTEXT_TOKENS
    # Each kept-alive connection occupies one thread. With fewer threads than connections, the
    # remaining connections would wait seconds for a free thread; tests open up to 64.
    params.n_threads_http = 80
    params.n_predict = 64
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
