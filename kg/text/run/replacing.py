"""A folder that takes the place of another whole: no moment shows half of it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from kg.base.errors import WriteError
from kg.base.files import write_errors_named

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
"""Flag of Linux's ``renameat2`` (``linux/fs.h``): both names stay, what they name is exchanged."""
_UNKNOWN_HERE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def building_beside(folder: Path) -> Path:
    """Where the content of ``folder`` is put together."""
    return folder.with_name(f".{folder.name}.building")


def previous_beside(folder: Path) -> Path:
    """Where the old ``folder`` is for a moment, on systems that cannot exchange two folders."""
    return folder.with_name(f".{folder.name}.previous")


def check_replaceable(folder: Path, names: Collection[str], mark: str) -> None:
    """Makes sure that replacing ``folder`` would lose nothing that is not ours.

    Args:
        folder: to be replaced; it need not exist.
        names: every file that may be lost.
        mark: the file that shows a folder, unless it is empty, to be one of ours.

    Raises:
        WriteError: it is no folder, or holds anything else.
    """
    with write_errors_named(folder):
        if not folder.name or folder.name == "..":
            raise WriteError(
                "no name for a folder", where=str(folder), hint="Choose another --out."
            )
        if not folder.is_symlink() and not folder.exists():
            return
        if folder.is_symlink() or not folder.is_dir():
            raise WriteError(
                "cannot write: it is a link or a file, not a folder",
                where=str(folder),
                hint="Choose another --out.",
            )
        held = sorted(entry.name for entry in os.scandir(folder))
    strange = [name for name in held if name not in names]
    if strange or (held and mark not in held):
        raise WriteError(
            f"cannot replace the folder: it holds {(strange or held)[0]!r}, which may be yours",
            where=str(folder),
            hint="Choose another --out, or move that away.",
        )


@contextlib.contextmanager
def replacing_folder(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """Opens an empty folder that takes the place of ``folder`` only if the block succeeds.

    An exception leaves ``folder`` as it was. So does ``kill -9``: what it leaves behind is another
    folder, hidden, which the next call clears away.

    Args:
        folder: to be replaced, or made; see ``check_replaceable``.
        names: the only files that are put in it, or lost with it.

    Yields:
        The folder to write to.

    Raises:
        WriteError: the disk refuses.
    """
    building, previous = building_beside(folder), previous_beside(folder)
    with write_errors_named(folder), contextlib.ExitStack() as stack:
        folder.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(_locked(folder.parent))
        stack.callback(_remove, building, names)
        building.mkdir(exist_ok=True)
        _empty(building, names)
        if previous.exists():
            # Killed between the two renames below: `folder` is missing, or new and complete.
            if folder.exists():
                _remove(previous, names)
            else:
                previous.rename(folder)
        yield building
        for entry in [*building.iterdir(), building]:
            _to_disk(entry)
        if not folder.exists():
            building.rename(folder)
        elif not _exchange(building, folder):
            folder.rename(previous)
            building.rename(folder)
            _remove(previous, names)
        _to_disk(folder.parent)


def point_link(link: Path, target: str) -> None:
    """Lets a symbolic link point at a name beside it, in one step; any older link is replaced.

    Raises:
        WriteError: a file or folder is in its place, or the file system knows no links.
    """
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    with write_errors_named(link):
        if link.exists() and not link.is_symlink():
            raise WriteError(
                "cannot write: it is no link",
                where=str(link),
                hint="Move it away; the run is kept.",
            )
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target)
        temporary.replace(link)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders in one step; false where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, TypeError, AttributeError):  # not Linux, or another C library
        return False
    names = os.fsencode(one), os.fsencode(other)
    if rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN_HERE:  # a file system that cannot
        return False
    raise OSError(code, os.strerror(code), str(other))


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lets one process at a time replace folders in ``folder``; others wait for it.

    The lock goes with the process, so none outlives ``kill -9``.
    """
    try:
        import fcntl
    except ImportError:  # Windows: no advisory locks of this kind, so no protection
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network mounts know no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove(folder: Path, names: Collection[str]) -> None:
    """Removes a folder of ours; what else it holds stays, and with it the folder."""
    if folder.is_dir() and not folder.is_symlink():
        _empty(folder, names)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _empty(folder: Path, names: Collection[str]) -> None:
    """Removes files of ours, and what an atomic write of one left when it was killed."""
    torn = tuple(f".{name}." for name in names)
    for entry in list(folder.iterdir()):
        if entry.name in names or entry.name.startswith(torn):
            entry.unlink()


def _to_disk(path: Path) -> None:
    """Hands a file's or folder's content to the disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        if path.is_dir():  # Windows opens no folders
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
