"""Byte streams that stop a hostile file before it stops the process.

A gzip bomb ends at a byte limit, JSON nested so deep that the parser's stack would overflow and
XML entities that multiply ("billion laughs") are refused: pyoxigraph 0.5 guards against none of
the three and takes the whole process down.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path
from typing import IO, Protocol

from kg.base.errors import GraphSyntaxError, GraphTooLargeError

MAX_JSON_DEPTH = 512
"""Deepest nesting of JSON-LD; the parser's stack overflows somewhere above 2,000."""

MAX_ENTITY = 512
"""Longest XML entity; what people declare there are namespaces."""

MAX_GZIP_RATIO = 200
"""Times a gzip file may grow: RDF grows 5 to 60 times, a bomb up to 1,032 times."""

FREE_UNPACKED = 32 * 1024**2
"""Bytes below which the ratio is not looked at: small repetitive files harm nobody."""

_BLOCK = 1 << 20
# Strings are matched whole, so that brackets inside them are not counted.
_JSON_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{\]}]', re.DOTALL)
_ENTITY_START = b"<!ENTITY"
_ENTITY = re.compile(rb"<!ENTITY\s+[^\"'>]*(?:\"([^\"]*)\"|'([^']*)'|>)")
_REFERENCE = re.compile(rb"&(?!#)|%")


class Readable(Protocol):
    """All that a parser asks of a stream."""

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        ...


class LimitedStream:
    """Counts and hashes what passes, and stops at a limit.

    Args:
        stream: where the bytes come from.
        path: named in the error.
        limit: most bytes to let pass.
        digest: fed with every byte, if given.
    """

    def __init__(
        self, stream: IO[bytes], path: Path, limit: int, digest: hashlib._Hash | None = None
    ) -> None:
        self._stream = stream
        self._path = path
        self._left = limit
        self._limit = limit
        self._digest = digest

    @property
    def passed(self) -> int:
        """Bytes let through so far."""
        return self._limit - self._left

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes.

        Raises:
            GraphTooLargeError: the limit is passed.
        """
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise GraphTooLargeError(
                f"the graph is larger than {self._limit} bytes once unpacked",
                where=str(self._path),
                hint="Split it, or raise max_bytes of Graph.load.",
            )
        if self._digest is not None:
            self._digest.update(data)
        return data


def unpacked(source: LimitedStream, path: Path, limit: int) -> Readable:
    """The content of a gzip stream, under a limit of its own."""
    stream = gzip.GzipFile(fileobj=source, mode="rb")  # type: ignore[call-overload]  # only read() is used
    return _RatioGuard(LimitedStream(stream, path, limit), source, path)


class _RatioGuard:
    """Stops a gzip bomb long before the byte limit: no graph packs as well as one does."""

    def __init__(self, content: LimitedStream, packed: LimitedStream, path: Path) -> None:
        self._content = content
        self._packed = packed
        self._path = path

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes.

        Raises:
            GraphTooLargeError: so far it unpacked to more than ``MAX_GZIP_RATIO`` times its size.
        """
        data = self._content.read(size)
        ratio = self._content.passed / max(self._packed.passed, 1)
        if self._content.passed > FREE_UNPACKED and ratio > MAX_GZIP_RATIO:
            raise GraphTooLargeError(
                f"it unpacks to over {MAX_GZIP_RATIO} times its size, as a gzip bomb does",
                where=str(self._path),
                hint="If you trust it, unpack it first.",
            )
        return data


class EntityGuard:
    """Passes XML through, refusing entity declarations that refer to others or are long."""

    def __init__(self, source: Readable, path: Path) -> None:
        self._source = source
        self._path = path
        self._tail = b""

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes.

        Raises:
            GraphSyntaxError: a declaration that could multiply.
        """
        data = self._source.read(size)
        text = self._tail + data
        at = text.find(_ENTITY_START)
        while at >= 0:
            match = _ENTITY.match(text, at)
            if match is None:
                # Not all of it has been read yet, unless it is longer than any honest one.
                self._refuse_if(len(text) - at > 4 * MAX_ENTITY)
                self._tail = text[at:]
                return data
            value = match.group(1) or match.group(2) or b""
            self._refuse_if(len(value) > MAX_ENTITY or _REFERENCE.search(value) is not None)
            at = text.find(_ENTITY_START, match.end())
        # A declaration may begin in this block's last bytes.
        self._tail = text[-len(_ENTITY_START) :]
        return data

    def _refuse_if(self, hostile: bool) -> None:
        if hostile:
            raise GraphSyntaxError(
                f"an XML entity refers to others or is longer than {MAX_ENTITY} bytes",
                where=str(self._path),
                hint="Write its text out, or convert the file to Turtle.",
            )


def json_within_depth(source: Readable, path: Path) -> bytes:
    """The whole JSON text of a stream.

    Raises:
        GraphSyntaxError: it nests deeper than ``MAX_JSON_DEPTH``.
    """
    data = b"".join(iter(lambda: source.read(_BLOCK), b""))
    depth = 0
    for match in _JSON_BRACKETS.finditer(data):
        char = match.group()
        if char in b"[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise GraphSyntaxError(
                    f"the JSON nests deeper than {MAX_JSON_DEPTH} levels", where=str(path)
                )
        elif char in b"]}":
            depth -= 1
    return data
