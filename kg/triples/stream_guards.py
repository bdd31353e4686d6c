"""Reads byte streams and rejects malicious files before they can crash the process.

The streams stop gzip bombs at a byte limit. They also reject JSON nested so deeply that the
parser's stack would overflow, and XML entities that multiply ("billion laughs"). pyoxigraph 0.5
does not protect against any of the three, and each would crash the whole process.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import html
import re
import time
from collections import deque
from pathlib import Path
from typing import IO, Protocol

from kg.base.errors import GraphSyntaxError, GraphTooLargeError

MAX_JSON_DEPTH = 512
"""Maximum nesting of JSON-LD; the parser's stack overflows somewhere above 2,000."""

MAX_ENTITY_LENGTH = 512
"""Maximum length of an XML entity in bytes; in RDF/XML, entities abbreviate namespaces."""

MAX_XML_ENTITIES = 1_000
"""Maximum number of entities that prefixes may refer to."""

MAX_GZIP_RATIO = 200
"""Maximum ratio of unpacked to packed size: RDF reaches 5 to 60, a gzip bomb up to 1,032."""

MAX_XML_HEAD = 1 << 20
"""Maximum bytes at the start of an XML file that are searched for prefixes."""

MAX_SLOW_SECONDS = 10.0
"""CPU seconds after which a file must have been read at ``MIN_BYTES_PER_SECOND`` on average."""

MIN_BYTES_PER_SECOND = 100_000
"""A fiftieth of what usual files reach. RDF/XML that nests 30,000 elements deep is slower, because
the parser's time for an element grows with its depth."""

MAX_TERM_BYTES = 16 * 1024**2
"""Maximum size of the parser's buffer, which holds a whole literal; less for JSON-LD."""

MIN_RATIO_BYTES = 32 * 1024**2
"""The ratio is checked only above this many unpacked bytes: small repetitive files are harmless."""

_BLOCK_SIZE = 1 << 20
# Strings are matched whole, so that brackets inside them are not counted.
_JSON_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{\]}]', re.DOTALL)
_XML_DECLARATION = re.compile(rb"(\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"'])([A-Za-z0-9._-]+)")
_MAX_DOCTYPE = 1 << 16
"""Bytes at the start of an XML file in which its DOCTYPE must end to be rewritten."""
_SINGLE_QUOTED_ENTITY = re.compile(rb"(<!ENTITY\s+[^\s'\"<>]+\s+)'([^'\"<]{0,2000})'")
_ENTITY_START = b"<!ENTITY"
# A declaration up to the end of its quoted value, or up to ">" if it has no quoted value.
_ENTITY = re.compile(rb"<!ENTITY\s+[^\"'>]*(?:\"([^\"]*)\"|'([^']*)'|>)")
# The declaration of a namespace prefix.
_XML_PREFIX = re.compile(rb"\sxmlns:([\w.-]+)\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_ENTITY_NAME = re.compile(rb"<!ENTITY\s+([\w.-]+)\s")
# An entity reference. "&#" begins a character reference, which cannot multiply.
_ENTITY_REFERENCE = re.compile(rb"&([A-Za-z_][\w.-]*);")
_REFERENCE = re.compile(rb"&(?!#)|%")
_MAX_TAG = 1 << 16
"""Maximum bytes of a tag that is looked at as a whole."""
# An rdf:ID that is no XML name, but could be the last part of an IRI.
_INVALID_ID = rb"(?![A-Za-z_\x80-\xff][\w.\-\x80-\xff]*[\"'])[^\"'<>#:\s]+"
_MAYBE_INVALID_ID = re.compile(rb"rdf:ID\s*=\s*[\"']" + _INVALID_ID + rb"[\"']")
# What is no tag is matched, too, so that nothing in it is taken for one.
_XML_TOKEN = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"
    rb"|<[A-Za-z_\x80-\xff](?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+>",
    re.DOTALL,
)
_XML_ATTRIBUTE = re.compile(rb"(\s)([\w:.\-]+)(\s*=\s*)(\"[^\"<]*\"|'[^'<]*')")
_WHOLE_INVALID_ID = re.compile(rb"[\"']" + _INVALID_ID + rb"[\"']")


class Readable(Protocol):
    """The part of the file protocol that the parsers use."""

    def read(self, size: int = -1) -> bytes:
        """Returns up to ``size`` bytes; empty at the end."""
        ...


class LimitedStream:
    """A stream that counts and hashes the bytes it returns, and raises an error at a limit.

    Args:
        stream: the source of the bytes.
        path: file name for error messages.
        limit: maximum number of bytes.
        digest: updated with all bytes, if given.
    """

    def __init__(
        self, stream: IO[bytes], path: Path, limit: int, digest: hashlib._Hash | None = None
    ) -> None:
        self._stream = stream
        self._path = path
        self._remaining = limit
        self._limit = limit
        self._digest = digest

    @property
    def bytes_read(self) -> int:
        """Number of bytes returned so far."""
        return self._limit - self._remaining

    def read(self, size: int = -1) -> bytes:
        """Returns up to ``size`` bytes.

        Raises:
            GraphTooLargeError: the limit is exceeded.
        """
        data = self._stream.read(size)
        self._remaining -= len(data)
        if self._remaining < 0:
            raise GraphTooLargeError(
                f"the graph is larger than {self._limit} bytes once unpacked",
                where=str(self._path),
                hint="Split it, or raise max_bytes of Graph.load.",
            )
        if self._digest is not None:
            self._digest.update(data)
        return data


def open_gzip(source: LimitedStream, path: Path, limit: int) -> Readable:
    """Opens the content of a gzip stream, with a limit on its unpacked size."""
    stream = gzip.GzipFile(fileobj=source, mode="rb")  # type: ignore[call-overload]  # only read() is used
    return _RatioGuard(LimitedStream(stream, path, limit), source, path)


class _RatioGuard:
    """Detects a gzip bomb by its compression ratio, which no real graph reaches.

    This detects it long before the byte limit.
    """

    def __init__(self, content: LimitedStream, packed: LimitedStream, path: Path) -> None:
        self._content = content
        self._packed = packed
        self._path = path

    def read(self, size: int = -1) -> bytes:
        """Returns up to ``size`` bytes.

        Raises:
            GraphTooLargeError: the content is over ``MAX_GZIP_RATIO`` times the packed size.
        """
        data = self._content.read(size)
        ratio = self._content.bytes_read / max(self._packed.bytes_read, 1)
        if self._content.bytes_read > MIN_RATIO_BYTES and ratio > MAX_GZIP_RATIO:
            raise GraphTooLargeError(
                f"it unpacks to over {MAX_GZIP_RATIO} times its size, as a gzip bomb does",
                where=str(self._path),
                hint="If you trust the file, unpack it first.",
            )
        return data


class ProgressGuard:
    """Counts lines for error messages, and stops files that the parser is too slow for."""

    def __init__(self, source: Readable, path: Path) -> None:
        self._source = source
        self._path = path
        self._start, self._wall_start = time.thread_time(), time.monotonic()
        self._byte_count = 0
        self._line_count = 1
        # Size and number of lines of the blocks that may still be in the parser's buffer.
        self._blocks: deque[tuple[int, int]] = deque()
        self._buffered_bytes = 0

    def read(self, size: int = -1) -> bytes:
        """Returns up to ``size`` bytes.

        Raises:
            GraphTooLargeError: reading has taken too long for the number of bytes.
        """
        # Processor time is asked for only if it can be too much, because that is slow.
        is_late = time.monotonic() - self._wall_start > MAX_SLOW_SECONDS
        seconds = time.thread_time() - self._start if is_late else 0.0
        if seconds > MAX_SLOW_SECONDS and self._byte_count < seconds * MIN_BYTES_PER_SECOND:
            raise GraphTooLargeError(
                f"{self._byte_count} bytes took {seconds:.0f} seconds: probably elements nest too "
                "deeply",
                where=f"{self._path}, line {self.get_last_line()}",
                hint="Convert the file to Turtle or N-Triples.",
            )
        data = self._source.read(size)
        self._byte_count += len(data)
        self._buffered_bytes += len(data)
        self._blocks.append((len(data), data.count(b"\n")))
        while self._buffered_bytes - self._blocks[0][0] >= MAX_TERM_BYTES:
            length, lines = self._blocks.popleft()
            self._buffered_bytes -= length
            self._line_count += lines
        return data

    def get_last_line(self) -> int:
        """Returns the number of the last line that was read, at least in part."""
        return self._line_count + sum(lines for _, lines in self._blocks)

    def get_buffer_line(self) -> int:
        """Returns the last line, counted from 1, that a full buffer of the parser cannot hold."""
        return self._line_count


class EntityGuard:
    """Returns XML unchanged, but rejects entity declarations that could multiply.

    Those are declarations that refer to other entities or are longer than ``MAX_ENTITY_LENGTH``.
    """

    def __init__(self, source: Readable, path: Path) -> None:
        self._source = source
        self._path = path
        self._tail = b""
        self._head = b""
        self._entities: dict[bytes, bytes] = {}

    def find_prefixes(self) -> dict[str, str]:
        """Returns the namespace prefixes declared in what was read; the first declaration wins."""
        prefixes: dict[str, str] = {}
        for match in _XML_PREFIX.finditer(self._head):
            value = _ENTITY_REFERENCE.sub(
                lambda reference: self._entities.get(reference.group(1), reference.group()),
                match.group(2) or match.group(3) or b"",
            )
            name, namespace = match.group(1).decode(), html.unescape(value.decode(errors="replace"))
            prefixes.setdefault(name, namespace)
        return prefixes

    def read(self, size: int = -1) -> bytes:
        """Returns up to ``size`` bytes.

        Raises:
            GraphSyntaxError: an entity declaration could multiply.
        """
        data = self._source.read(size)
        self._head += data[: MAX_XML_HEAD - len(self._head)]
        text = self._tail + data
        start = text.find(_ENTITY_START)
        while start >= 0:
            match = _ENTITY.match(text, start)
            if match is None:
                # The declaration is not complete yet, or is longer than any legitimate one.
                self._reject_entity_if(len(text) - start > 4 * MAX_ENTITY_LENGTH)
                self._tail = text[start:]
                return data
            value = match.group(1) or match.group(2) or b""
            self._reject_entity_if(
                len(value) > MAX_ENTITY_LENGTH or _REFERENCE.search(value) is not None
            )
            name = _ENTITY_NAME.match(text, start)
            if name is not None and len(self._entities) < MAX_XML_ENTITIES:
                self._entities[name.group(1)] = value
            start = text.find(_ENTITY_START, match.end())
        # A declaration may begin in the last bytes of this block and end in the next.
        self._tail = text[-len(_ENTITY_START) :]
        return data

    def _reject_entity_if(self, is_hostile: bool) -> None:
        if is_hostile:
            raise GraphSyntaxError(
                f"an XML entity refers to others or is longer than {MAX_ENTITY_LENGTH} bytes",
                where=str(self._path),
                hint="Replace the entity by its text, or convert the file to Turtle.",
            )


class XmlTranscoder:
    """Rewrites RDF/XML so that the parser reads all of it.

    That is in UTF-8, with entities in double quotes, and with an ``rdf:about`` in place of an
    ``rdf:ID`` that is no XML name, as in many BioPAX files. (One that names a statement is lost.)
    """

    def __init__(self, source: Readable, path: Path) -> None:
        self._source = source
        self._path = path
        self._decoder: codecs.IncrementalDecoder | None = None
        self._buffer: bytes | None = None
        self._tag = b""
        """The start of a tag that the source has not given whole yet."""

    def read(self, size: int = -1) -> bytes:
        """Returns up to ``size`` bytes; none only at the end.

        Raises:
            GraphSyntaxError: the encoding that the file declares is unknown, or it has another.
        """
        if self._buffer is None:
            self._buffer = self._replace_ids(self._read_head())
        while not self._buffer:
            data = self._source.read(size)
            self._buffer = self._replace_ids(self._decode(data), is_last=not data)
            if not data:
                break
        end = len(self._buffer) if size < 0 else size
        data, self._buffer = self._buffer[:end], self._buffer[end:]
        return data

    def _replace_ids(self, block: bytes, *, is_last: bool = False) -> bytes:
        block = self._tag + block
        if _MAYBE_INVALID_ID.search(block):
            # Few files have such, so these may be read whole.
            self._tag = b""
            rest = iter(lambda: self._decode(self._source.read(_BLOCK_SIZE)), b"")
            return _XML_TOKEN.sub(_replace_invalid_ids, b"".join([block, *rest]))
        end = block.rfind(b"<")
        if is_last or end < 0 or len(block) - end > _MAX_TAG:
            end = len(block)
        self._tag = block[end:]
        return block[:end]

    def _read_head(self) -> bytes:
        head = b""
        while len(head) < _MAX_DOCTYPE and (block := self._source.read(_BLOCK_SIZE)):
            head += block
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._decoder = self._make_decoder("utf-16")
            head = self._decode(head)
        declaration = _XML_DECLARATION.match(head)
        if declaration is not None and declaration[2].lower() not in (b"utf-8", b"utf8"):
            if self._decoder is None:
                self._decoder = self._make_decoder(declaration[2].decode("ascii"))
                head = self._decode(head)
            head = _XML_DECLARATION.sub(rb"\1utf-8", head, count=1)
        start = head.find(b"<!DOCTYPE")
        end = head.find(b"]", start) if start >= 0 else -1
        if end < 0:
            return head
        doctype = _SINGLE_QUOTED_ENTITY.sub(rb'\1"\2"', head[start:end])
        return head[:start] + doctype + head[end:]

    def _make_decoder(self, encoding: str) -> codecs.IncrementalDecoder:
        try:
            "a".encode(encoding)  # fails for what is no encoding of text, such as "zip"
            return codecs.getincrementaldecoder(encoding)()
        except (LookupError, ValueError) as error:
            raise self._make_error(f"the encoding {encoding!r} is unknown") from error

    def _decode(self, data: bytes) -> bytes:
        if self._decoder is None:
            return data
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeError as error:
            raise self._make_error(f"not in the encoding it declares: {error}") from error
        # A block may have only part of a character; an empty one would be the end.
        return text.encode() or (self._decode(self._source.read(_BLOCK_SIZE)) if data else b"")

    def _make_error(self, problem: str) -> GraphSyntaxError:
        return GraphSyntaxError(
            problem, where=str(self._path), hint="Save the file in UTF-8, and declare it so."
        )


def _replace_invalid_ids(token: re.Match[bytes]) -> bytes:
    text = token[0]
    return text if text.startswith(b"<!") else _XML_ATTRIBUTE.sub(_replace_invalid_id, text)


def _replace_invalid_id(attribute: re.Match[bytes]) -> bytes:
    space, name, equals, value = attribute.groups()
    if name != b"rdf:ID" or not _WHOLE_INVALID_ID.fullmatch(value):
        return attribute[0]
    return space + b"rdf:about" + equals + value[:1] + b"#" + value[1:]


def read_json_with_depth_limit(source: Readable, path: Path) -> bytes:
    """Reads the whole JSON text of a stream and checks its nesting.

    Raises:
        GraphSyntaxError: it nests deeper than ``MAX_JSON_DEPTH``.
    """
    data = b"".join(iter(lambda: source.read(_BLOCK_SIZE), b""))
    depth = 0
    for match in _JSON_BRACKETS.finditer(data):
        char = match.group()
        if char in b"[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise GraphSyntaxError(
                    f"the JSON nests deeper than {MAX_JSON_DEPTH} levels",
                    where=str(path),
                    hint="Convert the file to Turtle or N-Triples.",
                )
        elif char in b"]}":
            depth -= 1
    return data
