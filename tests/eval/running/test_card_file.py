"""A card file read card by card gives the same cards as one read at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cards.card import hash_card_set, read_cards
from eval.card_file import CardFile
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
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("\n" + "".join(line + "  \n" * (n % 3) for n, line in enumerate(lines)))
    whole = read_cards(path)
    with CardFile(path) as cards:
        assert len(cards) == 50
        assert [cards[item] for item in reversed(range(50))] == whole[::-1]
        assert cards.sha256 == hash_card_set(whole)
        assert cards.file_sha256 == sha256_file(path)
        assert [cards.find_item(card.id) for card in whole] == list(range(50))
        assert cards.find_item("id99999") is None


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda text: text + text.splitlines()[3] + "\n", DuplicateIdError),
        (lambda text: text[:-20], RecordError),
        (lambda text: text.replace('"gold":"NO"', '"gold":"YES"'), RecordError),
        (lambda _: "\n\n", RecordError),
        (lambda _: "", RecordError),
    ],
)
def test_card_file_refuses_the_same_errors_as_the_list(
    card_file: Callable[..., Path], change: Callable[[str], str], kind: type[EpocheError]
) -> None:
    path = card_file(6)
    path.write_text(change(path.read_text()))
    with pytest.raises(kind) as one:
        CardFile(path)
    with pytest.raises(kind) as other:
        read_cards(path)
    assert one.value.format_line() == other.value.format_line()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
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
        assert cards[2] == before, "an editor that replaces the file leaves the opened one whole"
    with CardFile(path) as cards:
        path.write_text(path.read_text().replace("Brook", "Creek"))
        with pytest.raises(CardSetMismatchError, match="card file was changed during the run"):
            cards[1]
