"""Makes a tiny cross-encoder with random weights, without a model hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MAX_TOKENS = 96
"""Maximum number of tokens that the model can read; a token is about a letter."""


def write_cross_encoder(folder: Path, seed: int, **outputs: Any) -> Path:
    """Writes a BERT of 30,000 random weights; the bytes are reproducible.

    Args:
        folder: where the model is written.
        seed: seed of the random weights.
        outputs: settings of the model's outputs: ``num_labels`` or ``id2label``.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", *letters]
    pieces += [f"##{letter}" for letter in letters]
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=MAX_TOKENS,
        initializer_range=0.6,  # large, so that different texts get different answers
        **outputs,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer = BertTokenizerFast(vocab={piece: index for index, piece in enumerate(pieces)})
    tokenizer.model_max_length = MAX_TOKENS
    tokenizer.save_pretrained(folder)
    return folder
