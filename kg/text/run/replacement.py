"""Replaces a folder atomically: readers see the old or the new content, never a mixture."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from kg.base.errors import WriteError
from kg.base.files import convert_write_errors

_AT_FDCWD = -100
"""Argument of Linux's ``renameat2``: relative paths start at the current folder."""
_RENAME_EXCHANGE = 2
"""Flag of Linux's ``renameat2`` (``linux/fs.h``): exchanges two paths atomically."""
_UNSUPPORTED_ERRORS = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def get_building_path(folder: Path) -> Path:
    """Returns the hidden folder in which the new content of ``folder`` is built."""
    return folder.with_name(f".{folder.name}.building")


def get_previous_path(folder: Path) -> Path:
    """Returns where the old ``folder`` is moved to on systems that cannot exchange two folders."""
    return folder.with_name(f".{folder.name}.previous")


def check_replaceable(folder: Path, names: Collection[str], marker: str) -> None:
    """Checks that replacing ``folder`` would delete only files of Epoché.

    Args:
        folder: the folder to replace; it need not exist.
        names: the only files that may be deleted.
        marker: the file that the folder must contain, unless it is empty; it shows that Epoché
            wrote the folder.

    Raises:
        WriteError: ``folder`` is not a folder, contains other files, or does not contain the
            marker.
    """
    with convert_write_errors(folder):
        if not folder.name or folder.name == "..":
            raise WriteError("not a folder name", where=str(folder), hint="Choose another --out.")
        if not folder.is_symlink() and not folder.exists():
            return
        if folder.is_symlink() or not folder.is_dir():
            raise WriteError(
                "cannot write: it is a link or a file, not a folder",
                where=str(folder),
                hint="Choose another --out.",
            )
        file_names = sorted(entry.name for entry in os.scandir(folder))
    foreign_names = [name for name in file_names if name not in names]
    if foreign_names or (file_names and marker not in file_names):
        name = (foreign_names or file_names)[0]
        raise WriteError(
            f"cannot replace the folder: {name!r} in it was not written by Epoché",
            where=str(folder),
            hint="Choose another --out, or move the file away.",
        )


@contextlib.contextmanager
def replace_folder(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """Yields an empty folder that replaces ``folder`` if the block succeeds.

    On an exception or ``kill -9`` ``folder`` is unchanged; the hidden folder that ``kill -9``
    leaves behind is removed by the next call.

    Args:
        folder: the folder to replace or create; see ``check_replaceable``.
        names: the only files that may be written to it, or deleted with the old one.

    Yields:
        The folder to write to.

    Raises:
        WriteError: a file operation failed.
    """
    building_path, previous_path = get_building_path(folder), get_previous_path(folder)
    with convert_write_errors(folder), contextlib.ExitStack() as stack:
        folder.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(_lock_folder(folder.parent))
        stack.callback(_remove_folder, building_path, names)
        building_path.mkdir(exist_ok=True)
        _remove_files(building_path, names)
        if previous_path.exists():
            # An earlier process was killed around the renames below. If `folder` exists, it is
            # the complete new content; else the old content must be restored first.
            if folder.exists():
                _remove_folder(previous_path, names)
            else:
                previous_path.rename(folder)
        yield building_path
        # Sync before renaming: else a power failure could leave the new name with empty files.
        for entry in [*building_path.iterdir(), building_path]:
            _sync_to_disk(entry)
        if not folder.exists():
            building_path.rename(folder)
        elif not _exchange_folders(building_path, folder):
            folder.rename(previous_path)
            building_path.rename(folder)
            _remove_folder(previous_path, names)
        _sync_to_disk(folder.parent)


def point_link(link: Path, target: str) -> None:
    """Points a symbolic link at a name in the same folder, atomically replacing an older link.

    Raises:
        WriteError: ``link`` is a file or folder, or the file system does not support links.
    """
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    with convert_write_errors(link):
        if link.exists() and not link.is_symlink():
            raise WriteError(
                "cannot update the link: a file or folder has its name",
                where=str(link),
                hint="Move it away. The run itself was written.",
            )
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target)
        temporary.replace(link)


def _exchange_folders(first: Path, second: Path) -> bool:
    """Exchanges two folders atomically; returns False if the system does not support it."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, TypeError, AttributeError):  # not Linux, or a C library without renameat2
        return False
    encoded_paths = os.fsencode(first), os.fsencode(second)
    if renameat2(_AT_FDCWD, encoded_paths[0], _AT_FDCWD, encoded_paths[1], _RENAME_EXCHANGE) == 0:
        return True
    error_number = ctypes.get_errno()
    if error_number in _UNSUPPORTED_ERRORS:  # the kernel or the file system does not support it
        return False
    raise OSError(error_number, os.strerror(error_number), str(second))


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Locks ``folder``, so that only one process at a time replaces folders in it; others wait.

    The lock is released when the process ends, even by ``kill -9``.
    """
    try:
        import fcntl
    except ImportError:  # Windows: no advisory locks of this kind, so no protection
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network mounts do not support locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_folder(folder: Path, names: Collection[str]) -> None:
    """Removes the files ``names`` of a folder, and the folder if it is empty then."""
    if folder.is_dir() and not folder.is_symlink():
        _remove_files(folder, names)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove_files(folder: Path, names: Collection[str]) -> None:
    """Removes the files ``names`` and temporary files of atomic writes that were killed."""
    temporary_prefixes = tuple(f".{name}." for name in names)
    for entry in list(folder.iterdir()):
        if entry.name in names or entry.name.startswith(temporary_prefixes):
            entry.unlink()


def _sync_to_disk(path: Path) -> None:
    """Flushes a file or folder to disk (fsync)."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        if path.is_dir():  # Windows cannot open folders
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
