"""Defines the base class of objects that are closed when their ``with`` block ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closable(ABC):
    """Base class of context managers: ``close`` is called at the end of a ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Releases the object's resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
