"""Tests that ``CardFile``, which reads card by card, agrees with ``read_cards``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cards.card import hash_card_set, read_cards
from eval.abstention.card_file import CardFile
from kg.base.errors import (
    CardSetMismatchError,
    DuplicateIdError,
    EpocheError,
    MissingFileError,
    RecordError,
)
from kg.base.files import sha256_file


def test_card_file_has_the_same_cards_as_the_list(card_file: Callable[..., Path]) -> None:
    path = card_file(50)
    # Blank lines before and between the cards are skipped.
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("\n" + "".join(line + "  \n" * (n % 3) for n, line in enumerate(lines)))
    card_list = read_cards(path)
    with CardFile(path) as cards:
        assert len(cards) == 50
        assert [cards[item] for item in reversed(range(50))] == card_list[::-1]
        assert cards.sha256 == hash_card_set(card_list)
        assert cards.file_sha256 == sha256_file(path)
        assert [cards.find_item(card.id) for card in card_list] == list(range(50))
        assert cards.find_item("id99999") is None


@pytest.mark.parametrize(
    ("change", "error_type"),
    [
        (lambda text: text + text.splitlines()[3] + "\n", DuplicateIdError),
        (lambda text: text[:-20], RecordError),
        (lambda text: text.replace('"gold":"NO"', '"gold":"YES"'), RecordError),
        (lambda _: "\n\n", RecordError),
        (lambda _: "", RecordError),
    ],
)
def test_card_file_refuses_the_same_errors_as_the_list(
    card_file: Callable[..., Path], change: Callable[[str], str], error_type: type[EpocheError]
) -> None:
    path = card_file(6)
    path.write_text(change(path.read_text()))
    with pytest.raises(error_type) as file_error:
        CardFile(path)
    with pytest.raises(error_type) as list_error:
        read_cards(path)
    assert file_error.value.format_line() == list_error.value.format_line()


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="card file does not exist"):
        CardFile(tmp_path / "none.jsonl")


def test_change_of_the_open_file_is_detected(
    card_file: Callable[..., Path], tmp_path: Path
) -> None:
    path = card_file(6)
    with CardFile(path) as cards:
        before = cards[2]
        card_file(3, "other.jsonl")
        (tmp_path / "other.jsonl").replace(path)
        assert cards[2] == before, "the open file keeps its content if another file replaces it"
    with CardFile(path) as cards:
        path.write_text(path.read_text().replace("Brook", "Creek"))
        with pytest.raises(CardSetMismatchError, match="card file was changed during the run"):
            cards[1]
