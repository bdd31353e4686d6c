"""Tests that tables are printed without cutting numbers, in pipes and on terminals of any width."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kg.base.table_printer import print_table, split_table

HEADERS = [f"metric-{number}" for number in range(9)]
VALUES = [f"0.{number}23 [0.{number}11, 0.{number}45]" for number in range(9)]


def make_table(name: str = "raw:a model") -> Table:
    table = Table(title="policy licensed", title_justify="left")
    table.add_column("system")
    for header in HEADERS:
        table.add_column(header, justify="right")
    table.add_row(Text(name), *map(Text, VALUES))
    return table


@pytest.mark.parametrize("width", [None, 20, 40, 80, 132, 1000])
def test_no_cell_is_cut(width: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    for block, needed in split_table(make_table(), width):
        Console(width=needed).print(block)
    output = capsys.readouterr().out
    assert "…" not in output
    assert [value for value in VALUES if value not in output] == []
    assert [header for header in HEADERS if header not in output] == []
    # On a terminal too narrow for one column, the lines are longer.
    if width is not None and width >= 40:
        assert max(map(cell_len, output.splitlines())) <= width


def test_blocks_repeat_the_names_and_fold_long_ones(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = list(split_table(make_table("raw:" + "x" * 100), 80))
    assert len(blocks) > 1
    for block, needed in blocks:
        assert needed <= 80
        Console(width=needed).print(block)
        output = capsys.readouterr().out
        assert sum(map(len, re.findall("x+", output))) == 100


def test_table_in_a_pipe_is_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table(make_table())
    lines = capsys.readouterr().out.splitlines()
    assert any(all(value in line for value in VALUES) for line in lines)
