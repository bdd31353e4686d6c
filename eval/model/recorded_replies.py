"""Records a model's replies, and replays them byte for byte without the model.

A recording is a reply cache, packed: a compressed file of JSON lines, in which each reply has the
key that the cache gives it. The model ``recorded/NAME`` answers from the recordings of ``NAME``. A
request that was not recorded is an error, so that nothing is ever answered by another model.

While a recording is made (``epoche record``), the recorded model that ``EPOCHE_MODEL`` names is the
server at ``EPOCHE_RECORD_URL``, and its replies go to the cache file ``EPOCHE_RECORD_FILE``. Others
are replayed.
"""

from __future__ import annotations

import lzma
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import msgspec

from eval.model.cache import KEY_VERSION, ReplyCache
from eval.model.environment import Variables
from eval.model.providers import RECORDED, Endpoint
from eval.model.wire import ReceivedReply
from kg.base.errors import ModelAccessError, RecordError, WriteError
from kg.base.files import write_bytes_atomic

RECORDINGS_VARIABLE = "EPOCHE_RECORDINGS"
"""Names a folder of recordings; by default those shipped with Epoché."""
RECORD_FILE_VARIABLE = "EPOCHE_RECORD_FILE"
SHIPPED = Path(__file__).with_name("recordings")
SUFFIX = ".jsonl.xz"
MAX_RECORDING_BYTES = 512 * 1024 * 1024
"""A longer recording, after decompression, is refused."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS used(key BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sampling(parameters TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS source(name TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_DELETE_HINT = "Delete it, and record its plan again."
_NOT_SAMPLING = ("messages", "response_format", "guided_json", "seed", "stream", "stream_options")


class RecordingHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a recording: where its replies come from.

    Attributes:
        model: name of the model, as in ``recorded/NAME``.
        weights_sha256: hash of the GGUF file.
        server: library and version that served it.
        plan: the commands that were run, as in the plan file; a comment has an exit code other
            than 0.
        sampling: the parameters of the requests other than their texts and seeds, as JSON.
        refused: features that the server refused.
        key_version: version of the keys.
        n_replies: number of replies.
    """

    model: str
    weights_sha256: str
    server: str
    plan: tuple[str, ...]
    sampling: tuple[str, ...]
    refused: tuple[str, ...] = ()
    key_version: int = KEY_VERSION
    n_replies: int


class _Line(msgspec.Struct):
    key: str
    reply: msgspec.Raw


@dataclass(frozen=True)
class Recording:
    """A recording, read into memory.

    Attributes:
        path: its file.
        header: where its replies come from.
        replies: the replies as JSON, by key.
        hits: keys that were asked for in this process.
    """

    path: Path
    header: RecordingHeader
    replies: dict[bytes, bytes]
    hits: set[bytes] = field(default_factory=set)

    @property
    def plan_name(self) -> str:
        """Name of its plan file, which the name of its own file has after the model's."""
        return self.path.name.removesuffix(SUFFIX).removeprefix(f"{self.header.model}.")

    def describe(self) -> str:
        """Returns its plan, and how many replies it has."""
        n_replies = len(self.replies)
        return f"{self.plan_name} ({n_replies} {'reply' if n_replies == 1 else 'replies'})"


class ReplayedCache:
    """Answers from recordings, in place of a ``ReplyCache``.

    Args:
        model: the name after ``recorded/``.
        folder: where the recordings are.

    Raises:
        ModelAccessError: there is no recording of the model.
        RecordError: a recording is damaged, or they are of different weights.
    """

    keeps_every_reply = False

    def __init__(self, model: str, folder: Path) -> None:
        self._recordings = load_recordings(model, folder)
        hashes = {one.header.weights_sha256 for one in self._recordings}
        if len(hashes) > 1:
            raise RecordError(
                f"the recordings of the model {model!r} are of different weights",
                where=str(folder),
                hint="Record all plans again with one GGUF file, or delete those of the other.",
            )
        self._model = model
        self.weights_sha256: str | None = hashes.pop()

    def get(self, key: bytes) -> ReceivedReply:
        """Returns the recorded reply.

        Raises:
            ModelAccessError: the request was not recorded.
        """
        found = [recording for recording in self._recordings if key in recording.replies]
        for recording in found:
            recording.hits.add(key)
        if found:
            return msgspec.json.decode(found[0].replies[key], type=ReceivedReply)
        raise ModelAccessError(
            "this request was not recorded",
            where=f"{RECORDED}/{self._model}",
            hint="A recording answers only the requests it was made of: "
            f"{', '.join(recording.describe() for recording in self._recordings)}. "
            f"`epoche test-connection --model {RECORDED}/{self._model}` prints the commands that "
            "make them, with their cards, prompts and settings. For anything else, use the model "
            "itself: epoche serve-model.",
        )

    def store_reply(self, key: bytes, reply: ReceivedReply) -> ReceivedReply:
        """Never needed: a request that was not recorded is not sent."""
        raise AssertionError((key, reply))

    def read_refused_features(self, server: str) -> set[str]:  # noqa: ARG002
        """Returns the features that the recorded server refused."""
        return {name for recording in self._recordings for name in recording.header.refused}

    def add_refused_feature(self, server: str, feature: str) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


class RecordingCache(ReplyCache):
    """A cache that also notes which replies were used, and how the requests sample.

    It keeps every reply, also an empty one or a refusal, so that all of a run can be replayed. What
    cannot be written stops the run.
    """

    keeps_every_reply = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._database.executescript(_SCHEMA)
        self._parameters: set[str] = set()

    def get(self, key: bytes) -> ReceivedReply | None:
        """Returns the reply stored under ``key``, or None."""
        reply = super().get(key)
        if reply is not None:
            self._note_use(key)
        return reply

    def store_reply(self, key: bytes, reply: ReceivedReply) -> ReceivedReply:
        """Stores a reply."""
        self._note_use(key)
        return super().store_reply(key, reply)

    def reset_source(self, source: str) -> None:
        """Forgets what was used, and all that another source replied."""
        is_other = self._database.execute("SELECT 1 FROM source WHERE name != ?", (source,))
        others = ("source", "replies", "refused") if is_other.fetchone() else ()
        for table in ("used", "sampling", *others):
            self._execute_write(f"DELETE FROM {table}", ())  # noqa: S608 - constants
        self._execute_write("INSERT OR IGNORE INTO source VALUES (?)", (source,))

    def add_earlier_reply(self, key: bytes, reply: ReceivedReply) -> None:
        """Stores a reply of an earlier recording, which this one has not used yet."""
        if super().get(key) is None:
            super().store_reply(key, reply)

    def note_sampling(self, request: bytes) -> None:
        """Notes the parameters of a request."""
        members = msgspec.json.decode(request)
        for name in _NOT_SAMPLING:
            members.pop(name, None)
        text = msgspec.json.encode(members).decode()
        if text not in self._parameters:
            self._parameters.add(text)
            self._execute_write("INSERT OR IGNORE INTO sampling VALUES (?)", (text,))

    def _warn_once(self, error: sqlite3.DatabaseError) -> None:
        raise WriteError(f"the reply cannot be recorded: {error}", where=str(self._path)) from error

    def _note_use(self, key: bytes) -> None:
        self._execute_write("INSERT OR IGNORE INTO used VALUES (?)", (key,))


AnyCache = ReplyCache | ReplayedCache


def open_cache(path: Path | None, endpoint: Endpoint, variables: Variables) -> AnyCache | None:
    """Opens the cache of an endpoint: a file, or for a recorded model the recordings.

    Args:
        path: the cache file; None for no cache. Not used for a recorded model.
        endpoint: the model.
        variables: the environment.

    Raises:
        WriteError, ModelAccessError, RecordError: it cannot be opened.
    """
    if endpoint.provider != RECORDED:
        return None if path is None else ReplyCache(path)
    record_file = variables.get_exported(RECORD_FILE_VARIABLE)
    if endpoint.server_url and record_file:
        return RecordingCache(Path(record_file))
    return ReplayedCache(endpoint.model, find_folder(variables))


def find_folder(variables: Variables) -> Path:
    """Returns the folder of recordings."""
    name = variables.get(RECORDINGS_VARIABLE)
    return Path(name) if name else SHIPPED


def find_recordings(folder: Path) -> list[Path]:
    """Returns the recordings in a folder, in a fixed order."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def load_recordings(model: str, folder: Path) -> list[Recording]:
    """Reads all recordings of a model.

    Args:
        model: the name after ``recorded/``.
        folder: where the recordings are.

    Raises:
        ModelAccessError: there are none.
        RecordError: one is damaged.
    """
    named = [path for path in find_recordings(folder) if path.name.startswith(f"{model}.")]
    recordings = [one for one in map(load_recording, named) if one.header.model == model]
    if not recordings:
        names = sorted({path.name.rsplit(".", 3)[0] for path in find_recordings(folder)})
        raise ModelAccessError(
            f"there is no recording of the model {model!r}",
            where=str(folder),
            hint=f"Recorded models: {', '.join(names) or 'none'}. `epoche record` records one; "
            f"{RECORDINGS_VARIABLE} names another folder.",
        )
    return recordings


@lru_cache(maxsize=64)
def load_recording(path: Path) -> Recording:
    """Reads a recording; each file is read once.

    Raises:
        RecordError: it is damaged, too long, or of another version.
    """
    replies: dict[bytes, bytes] = {}
    try:
        lines = _iter_lines(path)
        header = msgspec.json.decode(next(lines, b""), type=RecordingHeader)
        decode = msgspec.json.Decoder(_Line).decode
        for line in lines:
            entry = decode(line)
            msgspec.json.decode(entry.reply, type=ReceivedReply)
            replies[bytes.fromhex(entry.key)] = bytes(entry.reply)
    except (OSError, EOFError, lzma.LZMAError, ValueError, msgspec.MsgspecError) as error:
        raise RecordError(
            f"the recording cannot be read: {error}", where=str(path), hint=_DELETE_HINT
        ) from error
    if header.key_version != KEY_VERSION or header.n_replies != len(replies):
        raise RecordError(
            "the recording is incomplete or of another version",
            where=str(path),
            hint=_DELETE_HINT,
        )
    return Recording(path, header, replies)


def start_recording(cache_file: Path, earlier: Sequence[Recording], source: str) -> None:
    """Prepares the cache file of a recording.

    Replies that are in it already stay, so that an interrupted recording resumes, and those of
    earlier recordings are added. Which of them are used is found out anew.

    Args:
        cache_file: the file; what another source replied is removed.
        earlier: recordings of the same source.
        source: what replies: weights and server.
    """
    cache = RecordingCache(cache_file)
    cache.reset_source(source)
    for recording in earlier:
        for key, raw in recording.replies.items():
            cache.add_earlier_reply(key, msgspec.json.decode(raw, type=ReceivedReply))
    cache.close()


def pack_recording(
    cache_file: Path, out: Path, *, model: str, weights_sha256: str, server: str, plan: list[str]
) -> RecordingHeader:
    """Packs the replies that were used since ``start_recording``.

    The same replies give the same bytes.

    Args:
        cache_file: the cache file of the recording.
        out: the recording to write, ``….jsonl.xz``.
        model: as in ``RecordingHeader``.
        weights_sha256: as in ``RecordingHeader``.
        server: as in ``RecordingHeader``.
        plan: as in ``RecordingHeader``.

    Returns:
        The header as written.

    Raises:
        RecordError: there are none.
        WriteError: the file cannot be written.
    """
    database = sqlite3.connect(cache_file)
    try:
        rows = database.execute(
            "SELECT key, reply FROM replies WHERE key IN (SELECT key FROM used) ORDER BY key"
        ).fetchall()
        sampling = database.execute("SELECT parameters FROM sampling ORDER BY parameters")
        refused = database.execute("SELECT DISTINCT feature FROM refused ORDER BY feature")
        header = RecordingHeader(
            model=model,
            weights_sha256=weights_sha256,
            server=server,
            plan=tuple(plan),
            sampling=tuple(text for (text,) in sampling.fetchall()),
            refused=tuple(name for (name,) in refused.fetchall()),
            n_replies=len(rows),
        )
    finally:
        database.close()
    if not rows:
        raise RecordError(
            "no reply was recorded, since no command of the plan asked the model",
            where=f"{model}, {out.name}",
            hint="Let a command ask it: `--model {model}`, or a system that asks EPOCHE_MODEL.",
        )
    lines = [msgspec.json.encode(header)]
    lines += [msgspec.json.encode(_Line(key.hex(), msgspec.Raw(reply))) for key, reply in rows]
    write_bytes_atomic(out, lzma.compress(b"\n".join(lines) + b"\n", preset=9))
    return header


def _iter_lines(path: Path) -> Iterator[bytes]:
    """Yields the lines of a compressed file, up to a total length."""
    n_bytes = 0
    with lzma.open(path) as handle:
        while line := handle.readline(MAX_RECORDING_BYTES - n_bytes):
            n_bytes += len(line)
            if n_bytes >= MAX_RECORDING_BYTES:
                raise ValueError(f"longer than {MAX_RECORDING_BYTES} bytes")
            yield line
