"""What is closed when its ``with`` block ends, however it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Closes itself at the end of ``with``; the standard library's ``closing`` needs a wrapper."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
