"""Tests that ``--engine pyshacl`` uses the reference engine and gives the same cards."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cards.card import Card, read_cards
from epoche.cli import app


def make_card_file(out: Path, command: str, engine: str, *flags: str) -> list[Card]:
    arguments = [command, "--domain", "mayors", "--engine", engine, "--out", str(out), *flags]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return read_cards(out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "flags"),
    [("cards", ("--num-per-type", "4"))],
)
def test_both_engines_make_the_same_cards(
    tmp_path: Path, command: str, flags: tuple[str, ...]
) -> None:
    incremental_cards, reference_cards = (
        make_card_file(tmp_path / f"{engine}.jsonl", command, engine, *flags)
        for engine in ("incremental", "pyshacl")
    )
    assert [(card.id, card.label, card.view) for card in incremental_cards] == [
        (card.id, card.label, card.view) for card in reference_cards
    ]
    engines_of_incremental_cards, engines_of_reference_cards = (
        {card.proof.engine for card in cards if card.proof}
        for cards in (incremental_cards, reference_cards)
    )
    assert "pyshacl" not in engines_of_incremental_cards
    assert "incremental" not in engines_of_reference_cards
    assert "pyshacl" in engines_of_reference_cards


def test_unknown_engine_is_a_usage_error(tmp_path: Path) -> None:
    arguments = ["cards", "--engine", "oracle", "--out", str(tmp_path / "x.jsonl")]
    assert CliRunner().invoke(app, arguments).exit_code == 2
