"""What the paired tests between systems found, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from reporting.extraction_section.shown import Shown


def differences(shown: Shown) -> Iterator[str]:
    """TODO."""
    yield from ()
