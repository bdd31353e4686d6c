"""``--engine pyshacl`` uses the reference engine and gives the same cards."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cards.card import Card, read_cards
from epoche.cli import app


def make_card_file(out: Path, command: str, engine: str, *flags: str) -> list[Card]:
    asked = [command, "--domain", "mayors", "--engine", engine, "--out", str(out), *flags]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    return read_cards(out)


@pytest.mark.parametrize(
    ("command", "flags"),
    [("cards", ("--num-per-type", "4")), ("near-miss", ("--num", "6"))],
)
def test_both_engines_make_the_same_cards(
    tmp_path: Path, command: str, flags: tuple[str, ...]
) -> None:
    quick, slow = (
        make_card_file(tmp_path / f"{engine}.jsonl", command, engine, *flags)
        for engine in ("incremental", "pyshacl")
    )
    assert [(card.id, card.label, card.view) for card in quick] == [
        (card.id, card.label, card.view) for card in slow
    ]
    deciders = [{card.proof.engine for card in cards if card.proof} for cards in (quick, slow)]
    assert "pyshacl" not in deciders[0]
    assert "incremental" not in deciders[1]
    assert "pyshacl" in deciders[1]


def test_unknown_engine_is_a_usage_error(tmp_path: Path) -> None:
    asked = ["cards", "--engine", "oracle", "--out", str(tmp_path / "x.jsonl")]
    assert CliRunner().invoke(app, asked).exit_code == 2
