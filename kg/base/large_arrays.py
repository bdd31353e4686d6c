"""Makes the C library give the memory of large arrays back as soon as they are freed."""

from __future__ import annotations

import ctypes
import os

_M_MMAP_THRESHOLD = -3
"""The number of this setting in glibc's ``malloc.h``."""
_MIN_LARGE_BYTES = 128 * 1024
"""The value that glibc starts with."""


def return_large_arrays() -> None:
    """Makes the C library allocate each large array apart for the rest of the process.

    glibc starts like this, but whenever such an array is freed, it puts later ones of that size
    among the small objects, up to 32 MiB. They leave gaps there when they are freed or grow:
    reading a million rows, 50 MB. Other C libraries lack the setting, and then nothing is done; no
    result depends on it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MIN_LARGE_BYTES)
