"""Digests of the lines of a file, by which a manifest knows the first line that was changed.

The SHA-256 of the file says that it was changed; these digests say where. They are short, and one
stands for several lines of a long file, so that they take 4 KB of a manifest at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

from kg.base.files import iter_line_blocks

MAX_DIGESTS: Final = 1024
"""Maximum number of digests of a file."""
_DIGEST_BYTES: Final = 2
_HEX_DIGITS: Final = 2 * _DIGEST_BYTES
_SIZE: Final = re.compile(r"[1-9]\d{0,8}", re.ASCII)
"""Numbers of lines per digest; a manifest may state anything."""


def digest_lines(path: Path) -> str:
    """Returns digests of all lines of a file.

    Returns:
        The number of lines that each digest stands for, a colon, and the digests in hexadecimal,
        four digits each.
    """
    n_lines = sum(n for _, n, _ in iter_line_blocks(path, "file"))
    lines_per_digest = max(1, -(-n_lines // MAX_DIGESTS))
    return f"{lines_per_digest}:{''.join(_iter_digests(path, lines_per_digest))}"


def find_changed_digest(path: Path, recorded: str) -> tuple[int, str] | None:
    """Finds the first line of a file that is not as it was when its digests were recorded.

    Args:
        path: the file.
        recorded: what ``digest_lines`` returned then.

    Returns:
        The line, or the first of several that share a digest, and what it is instead of the one
        that was there; None if the file is not there, or no digest differs.
    """
    size, _, digits = recorded.partition(":")
    if not path.is_file() or not _SIZE.fullmatch(size):
        return None
    lines_per_digest = int(size)
    expected = (digits[i : i + _HEX_DIGITS] for i in range(0, len(digits), _HEX_DIGITS))
    pairs = zip_longest(expected, _iter_digests(path, lines_per_digest))
    for number, (then, now) in enumerate(pairs):
        if then == now:
            continue
        line = number * lines_per_digest + 1
        if then is None or now is None:
            return line, "absent" if now is None else "a line too many"
        last = line + lines_per_digest - 1
        return line, "another" if line == last else f"another, or one up to line {last} is"
    return None


def _iter_digests(path: Path, lines_per_digest: int) -> Iterator[str]:
    with path.open("rb") as handle:
        for first in handle:
            digest = blake2b(first, digest_size=_DIGEST_BYTES)
            for line in islice(handle, lines_per_digest - 1):
                digest.update(line)
            yield digest.hexdigest()
