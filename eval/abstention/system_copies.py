"""Finds systems of different names whose replies are the same, word for word.

Results that were copied under another name would otherwise look like a second system. Only card,
repeat, answer and the text of the reply count: another latency, or another order of rows or keys,
does not hide a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from kg.base.files import iter_decoded_lines
from kg.base.plain_text import clean_text, join_list
from kg.base.provenance import manifest_path

ALIKE_SYSTEMS: Final = "systems:alike"
"""What signatures say if systems of different names gave the same replies."""
MIN_DIFFERENT_TEXTS: Final = 6
"""Systems with fewer different reply texts, such as YES, NO and UNKNOWN, are equal by chance."""
_SAME_WORDING: Final = frozenset({"kg", "graph_rag"})
"""Systems that word the oracle's proof of a verdict in the same way, and are no copies."""
_DIGEST_BYTES: Final = 16


class _Reply(msgspec.Struct, gc=False):
    id: str
    system: str | None = None
    repeat: int | None = 0
    raw: Any = ""


def describe_alike_systems(
    preds: Mapping[str, NDArray[np.int8]],
    own_names: Mapping[str, str],
    files: Mapping[str, Sequence[Path]],
) -> Iterator[str]:
    """Yields a sentence for systems of different names that gave the same replies to all cards.

    Replies are read only of systems with the same answers.

    Args:
        preds: system → its answers, in the order of the cards.
        own_names: system → its name in its files.
        files: system → the result files that have rows of it.
    """
    by_answers: dict[bytes, list[str]] = {}
    for name, codes in preds.items():
        digest = blake2b(repr(codes.shape).encode())
        digest.update(codes.tobytes())
        by_answers.setdefault(digest.digest(), []).append(name)
    for names in by_answers.values():
        if not _are_different(names, own_names, files):
            continue
        by_replies: dict[int, list[str]] = {}
        for name in names:
            total = _digest_replies(files[name], own_names[name])
            if total is not None:
                by_replies.setdefault(total, []).append(name)
        for alike in by_replies.values():
            if _are_different(alike, own_names, files):
                yield (
                    f"{join_list([clean_text(name) for name in alike])} gave the same replies, "
                    "word for word, to all cards: one is a copy of another, or they work alike "
                    f"({ALIKE_SYSTEMS})."
                )


def _are_different(
    names: Sequence[str], own_names: Mapping[str, str], files: Mapping[str, Sequence[Path]]
) -> bool:
    """Returns whether systems have different names and runs, and not only such as work alike.

    A run may ask systems that are much alike, such as readers of several formats.
    """
    own = {own_names[name] for name in names}
    runs = {tuple(files[name]) for name in names}
    is_one_run = len(runs) == 1 and all(manifest_path(path).is_file() for path in runs.pop())
    return len(own) > 1 and not is_one_run and not _SAME_WORDING.issuperset(own)


def _digest_replies(files: Sequence[Path], own_name: str) -> int | None:
    """Returns a digest of a system's replies in any order; None if they are too much alike."""
    decode = msgspec.json.Decoder(_Reply).decode
    texts: set[str] = set()
    total = 0
    for path in files:
        for _, row in iter_decoded_lines(path, "result", decode):
            if (row.system or path.stem) != own_name:
                continue
            text = row.raw if isinstance(row.raw, str) else repr(row.raw)
            if len(texts) < MIN_DIFFERENT_TEXTS:
                texts.add(text)
            content = repr((row.id, row.repeat or 0, text)).encode("utf-8", "surrogatepass")
            # A sum, so that the order of the rows does not count and none is kept in memory.
            total += int.from_bytes(blake2b(content, digest_size=_DIGEST_BYTES).digest())
    return None if len(texts) < MIN_DIFFERENT_TEXTS else total
