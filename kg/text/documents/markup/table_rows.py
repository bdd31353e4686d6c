"""Lays out the rows of a table whose cells may span rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MAX_COLUMNS = 100
"""Maximum number of columns that a cell may span, and that may hold cells from rows above."""
MAX_REPEATED_LENGTH = 200
"""Maximum length of a repeated text, in characters; a longer one stands once."""
MAX_GROWTH = 10
"""A table of n characters may get 1,000 + 10 n more by repetition, then nothing is repeated."""
_SEPARATOR_LENGTH = 3


class Cell(NamedTuple):
    """A cell as the document has it."""

    text: str
    columns: int = 1
    """Number of columns that it spans."""
    rows: int = 1
    """Number of rows that it spans; it may be larger than that of the table."""


class TableRows:
    """The rows of a table, so that each row has all that is true of it, in the right columns.

    The text of a cell is repeated in each row and column that it spans, but a cell that is alone in
    its row stands once.
    """

    def __init__(self) -> None:
        self._spanning: dict[int, tuple[str, int]] = {}
        """Column → text of a cell from above, and the number of rows to come that it spans."""
        self._n_spare = 1_000  # characters that may still be repeated

    def count_spanning(self) -> int:
        """Returns the number of columns of the next row that hold cells from above."""
        return len(self._spanning)

    def end_group(self) -> None:
        """Ends all cells from above, as the head of a table does."""
        self._spanning.clear()

    def fill_row(self, cells: Sequence[Cell]) -> list[str]:
        """Returns the texts of the next row, column by column; none if it has no cell."""
        above, self._spanning = self._spanning, {}
        self._n_spare -= len(above)
        self._n_spare += sum(MAX_GROWTH * len(cell.text) for cell in cells)
        is_alone = len(cells) == 1 and not above
        texts: list[str] = []
        for cell in cells:
            while len(texts) in above:
                texts.append(self._repeat(above[len(texts)][0]))
            is_repeated = 1 < cell.columns <= MAX_COLUMNS and self._n_spare >= 0
            columns = cell.columns if is_repeated else 1
            for number in range(columns):
                if cell.rows > 1 and len(texts) < MAX_COLUMNS:
                    self._spanning[len(texts)] = (cell.text, cell.rows - 1)
                texts.append(self._repeat(cell.text) if number else cell.text)
        for column in sorted(above) if cells else ():
            if column >= len(texts):
                texts += [""] * (column - len(texts)) + [self._repeat(above[column][0])]
        for column, (text, rows) in above.items():
            if rows > 1:
                self._spanning.setdefault(column, (text, rows - 1))
        if self._n_spare < 0:
            self._spanning.clear()
        return [cells[0].text] if is_alone else texts

    def _repeat(self, text: str) -> str:
        """Returns a text that is repeated, or nothing if there is too much of it."""
        text = text if len(text) <= MAX_REPEATED_LENGTH else ""
        self._n_spare -= len(text) + _SEPARATOR_LENGTH
        return text if self._n_spare >= 0 else ""


def read_span(value: object) -> int:
    """Returns a number of rows or columns as written in a document; 1 if it is none."""
    digits = str(value).strip()
    return int(digits) if digits.isdecimal() and len(digits) <= 10 else 1
