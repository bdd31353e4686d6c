"""Replies kept in one SQLite file, so that a question is never paid for twice.

The key is a hash of everything that decides a reply: the server, the whole request as it is sent
(model, sampling, messages, response format), the repeat and the sample. Errors, refusals and empty
replies are never kept. Two processes may share the file; whichever stores a reply first wins, and
the other uses that one too. An entry that fails its checksum is dropped and asked anew.

One write costs some 25 µs, so it happens where the reply arrives and no thread is needed. With
write-ahead logging and ``synchronous=NORMAL`` nothing is lost when the process is killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
import zlib
from pathlib import Path

import msgspec

from eval.model.wire import Received
from kg.base.console import warn
from kg.base.errors import WriteError
from kg.base.files import write_errors_named

KEY_VERSION = 1
"""Raised when what goes into a key changes, so that older entries are no longer found."""

_SUFFIXES = frozenset({".sqlite", ".sqlite3", ".db"})
"""A file of another name that is no database is somebody's, not a cache that was damaged."""

_BUSY_S = 10.0
"""Seconds to wait for another process that is writing; a write takes microseconds."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies(
    key BLOB PRIMARY KEY, made REAL NOT NULL, checksum INTEGER NOT NULL, reply BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused(
    server TEXT NOT NULL, feature TEXT NOT NULL, PRIMARY KEY(server, feature)
) WITHOUT ROWID;
"""
_decode = msgspec.json.Decoder(Received).decode
_encode = msgspec.json.Encoder().encode


def reply_key(base_url: str, request: bytes, repeat: int, sample: int) -> bytes:
    """The key of one reply.

    Args:
        base_url: the server.
        request: the body as it is sent, which holds every parameter and message.
        repeat: which repeat of the question; each is an entry of its own.
        sample: which of several samples of one answer; so is each of these.
    """
    head = f"{KEY_VERSION}\n{base_url}\n{repeat}\n{sample}\n".encode()
    return hashlib.sha256(head + request).digest()


class ReplyCache:
    """The cache file; see the module.

    Args:
        path: the file, made with its folder when it is not there.

    Raises:
        WriteError: it cannot be made, or a file that is no cache stands in its place.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed = False
        with write_errors_named(path):
            if path.exists() and not path.is_file():
                raise _is_no_cache(path)
            path.parent.mkdir(parents=True, exist_ok=True)
        self._database = self._open()

    def get(self, key: bytes) -> Received | None:
        """The reply stored under ``key``, or null."""
        try:
            row = self._database.execute(
                "SELECT checksum, reply FROM replies WHERE key = ?", (key,)
            ).fetchone()
        except sqlite3.DatabaseError as error:
            self._complain(error)
            return None
        if row is None:
            return None
        checksum, raw = row
        if isinstance(raw, bytes) and zlib.crc32(key + raw) == checksum:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                return _decode(raw)
        warn(f"{self._path}: a damaged reply is dropped and asked for again")
        self._write("DELETE FROM replies WHERE key = ?", (key,))
        return None

    def put(self, key: bytes, reply: Received) -> Received:
        """Stores a reply, unless another process did so meanwhile; returns the one stored."""
        raw = _encode(reply)
        added = self._write(
            "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)",
            (key, time.time(), zlib.crc32(key + raw), raw),
        )
        return reply if added else self.get(key) or reply

    def refused(self, server: str) -> set[str]:
        """What the server named ``server`` is known not to do, from earlier runs on this file."""
        try:
            rows = self._database.execute("SELECT feature FROM refused WHERE server = ?", (server,))
            return {feature for (feature,) in rows}
        except sqlite3.DatabaseError as error:
            self._complain(error)
            return set()

    def note_refused(self, server: str, feature: str) -> None:
        """Remembers that a server does not do something, so that replies made without are found."""
        self._write("INSERT OR IGNORE INTO refused VALUES (?, ?)", (server, feature))

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            with write_errors_named(self._path):
                if isinstance(error, sqlite3.OperationalError):
                    # A folder in its place, no permission, a full disk: not a damaged file.
                    raise OSError(str(error)) from error
                if self._path.suffix not in _SUFFIXES:
                    raise _is_no_cache(self._path) from error
                aside = self._set_aside()
            warn(f"{self._path} is no cache or is damaged; it is now {aside.name}, a new one begun")
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        # No transactions left open: each write is on its own, so that nobody waits for long.
        # It may be opened in one thread and used by the event loop of another, never by both.
        database = sqlite3.connect(
            self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            self._refuse_foreign(database)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.executescript(_SCHEMA)
            database.execute("SELECT key, made, checksum, reply FROM replies LIMIT 1").fetchone()
        except BaseException:
            database.close()
            raise
        return database

    def _refuse_foreign(self, database: sqlite3.Connection) -> None:
        """Before anything is written: a database of somebody else's stays as it is."""
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if tables and "replies" not in tables:
            raise _is_no_cache(self._path)

    def _set_aside(self) -> Path:
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.damaged-{number}")).exists():
            number += 1
        self._path.rename(aside)
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        return aside

    def _write(self, statement: str, values: tuple[object, ...]) -> int:
        """Rows changed; 1 as well where nothing can be written, since the reply then stands."""
        try:
            return self._database.execute(statement, values).rowcount
        except sqlite3.DatabaseError as error:
            self._complain(error)
            return 1

    def _complain(self, error: sqlite3.DatabaseError) -> None:
        """Says once that the cache no longer works: answers matter more than their copies."""
        if not self._failed:
            self._failed = True
            warn(f"{self._path}: {error}; replies are not kept from here on")


def _is_no_cache(path: Path) -> WriteError:
    return WriteError(
        "the file is there and holds no replies", where=str(path), hint="Choose another --cache."
    )
