"""Caches replies in one SQLite file, so that no request is paid for twice.

The key is a hash of everything that decides a reply: the server, the whole request as it is sent
(model, sampling, messages, response format), the repeat and the sample. Errors, refusals and empty
replies are never cached. Two processes may share the file: if both request the same reply, the one
stored first is used by both. An entry with a wrong checksum is deleted and requested again.

A write takes about 25 µs, so it is done in the event loop, without a thread. With write-ahead
logging and ``synchronous=NORMAL``, no stored reply is lost if the process is killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
import zlib
from pathlib import Path

import msgspec

from eval.model.wire import ReceivedReply
from kg.base.console import print_warning
from kg.base.errors import WriteError
from kg.base.files import convert_write_errors

KEY_VERSION = 1
"""Increased when the contents of a key change, so that older entries are no longer found."""

_SUFFIXES = frozenset({".sqlite", ".sqlite3", ".db"})
"""A file that SQLite cannot open is treated as a damaged cache only if it has such a suffix.

A file with any other suffix may be the user's, and is refused.
"""

_BUSY_S = 10.0
"""Seconds to wait for another process that is writing; a write takes microseconds."""
_RETRY_S = 0.02

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies(
    key BLOB PRIMARY KEY, made REAL NOT NULL, checksum INTEGER NOT NULL, reply BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused(
    server TEXT NOT NULL, feature TEXT NOT NULL, PRIMARY KEY(server, feature)
) WITHOUT ROWID;
"""
_decode = msgspec.json.Decoder(ReceivedReply).decode
_encode = msgspec.json.Encoder().encode


def reply_key(base_url: str, request: bytes, repeat: int, sample: int) -> bytes:
    """Returns the key of one reply.

    Args:
        base_url: address of the server.
        request: the request body as it is sent, with every parameter and message.
        repeat: number of the repeat of the question; each repeat is a separate entry.
        sample: number of the sample of one answer; each sample is a separate entry.
    """
    prefix = f"{KEY_VERSION}\n{base_url}\n{repeat}\n{sample}\n".encode()
    return hashlib.sha256(prefix + request).digest()


class ReplyCache:
    """A cache of replies in one SQLite file.

    Args:
        path: the file; created with its folder if it does not exist.

    Raises:
        WriteError: the file cannot be created, or it exists and is not a cache.
    """

    keeps_every_reply = False
    """Whether also empty replies and refusals are kept, which are otherwise requested again."""
    weights_sha256: str | None = None
    """Hash of the weights that replied, if known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed = False
        with convert_write_errors(path):
            if path.exists() and not path.is_file():
                raise _make_foreign_file_error(path)
            path.parent.mkdir(parents=True, exist_ok=True)
        self._database = self._open_database()

    def get(self, key: bytes) -> ReceivedReply | None:
        """Returns the reply stored under ``key``, or None."""
        try:
            row = self._database.execute(
                "SELECT checksum, reply FROM replies WHERE key = ?", (key,)
            ).fetchone()
        except sqlite3.DatabaseError as error:
            self._warn_once(error)
            return None
        if row is None:
            return None
        checksum, raw = row
        if isinstance(raw, bytes) and zlib.crc32(key + raw) == checksum:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                return _decode(raw)
        print_warning(f"{self._path}: a damaged cache entry is deleted and requested again")
        self._execute_write("DELETE FROM replies WHERE key = ?", (key,))
        return None

    def store_reply(self, key: bytes, reply: ReceivedReply) -> ReceivedReply:
        """Stores a reply, unless another process already has; returns the stored one."""
        raw = _encode(reply)
        n_added = self._execute_write(
            "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)",
            (key, time.time(), zlib.crc32(key + raw), raw),
        )
        return reply if n_added else self.get(key) or reply

    def read_refused_features(self, server: str) -> set[str]:
        """Returns the features that ``server`` refused in earlier runs with this file."""
        try:
            rows = self._database.execute("SELECT feature FROM refused WHERE server = ?", (server,))
            return {feature for (feature,) in rows}
        except sqlite3.DatabaseError as error:
            self._warn_once(error)
            return set()

    def add_refused_feature(self, server: str, feature: str) -> None:
        """Stores that a server refuses a feature.

        Later runs then send the same request without it, and find the cached reply.
        """
        self._execute_write("INSERT OR IGNORE INTO refused VALUES (?, ?)", (server, feature))

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def _connect_patiently(self) -> sqlite3.Connection:
        # SQLite does not wait for another process that makes the same file at the same time.
        deadline = time.monotonic() + _BUSY_S
        while True:
            try:
                return self._connect_database()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_S)

    def _open_database(self) -> sqlite3.Connection:
        try:
            return self._connect_patiently()
        except sqlite3.DatabaseError as error:
            with convert_write_errors(self._path):
                if isinstance(error, sqlite3.OperationalError):
                    # A cause outside the file, such as missing permission or a full disk.
                    raise OSError(str(error)) from error
                if self._path.suffix not in _SUFFIXES:
                    raise _make_foreign_file_error(self._path) from error
                new_path = self._rename_damaged_file()
            print_warning(
                f"{self._path} is damaged or not a cache; it was renamed to {new_path.name} and a "
                "new cache is used"
            )
            return self._connect_database()

    def _connect_database(self) -> sqlite3.Connection:
        # Autocommit: each write is its own transaction, so that other processes wait only briefly.
        # The connection may be opened in one thread and used in the event loop of another, but
        # never by both at once.
        database = sqlite3.connect(
            self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            self._refuse_foreign_database(database)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.executescript(_SCHEMA)
            # Fails if an existing table has other columns.
            database.execute("SELECT key, made, checksum, reply FROM replies LIMIT 1").fetchone()
        except BaseException:
            database.close()
            raise
        return database

    def _refuse_foreign_database(self, database: sqlite3.Connection) -> None:
        """Refuses a database that is not a cache, before anything is written to it."""
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if tables and "replies" not in tables:
            raise _make_foreign_file_error(self._path)

    def _rename_damaged_file(self) -> Path:
        number = 1
        while (new_path := self._path.with_name(f"{self._path.name}.damaged-{number}")).exists():
            number += 1
        self._path.rename(new_path)
        # Otherwise SQLite would apply the write-ahead log of the damaged file to the new file.
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        return new_path

    def _execute_write(self, statement: str, values: tuple[object, ...]) -> int:
        """Executes a statement and returns the number of rows changed.

        A failed write only causes a warning and returns 1, so that the caller continues as if the
        reply had been stored.
        """
        try:
            return self._database.execute(statement, values).rowcount
        except sqlite3.DatabaseError as error:
            self._warn_once(error)
            return 1

    def _warn_once(self, error: sqlite3.DatabaseError) -> None:
        """Warns once that the cache does not work; the run continues without it."""
        if not self._failed:
            self._failed = True
            print_warning(f"{self._path}: {error}; replies are no longer cached")


def _make_foreign_file_error(path: Path) -> WriteError:
    return WriteError(
        "the file exists and is not a cache of replies",
        where=str(path),
        hint="Choose another --cache.",
    )
