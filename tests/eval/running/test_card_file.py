"""A card file read card by card is the same as one read whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cards.card import card_set_hash, read_cards
from eval.card_file import CardFile
from kg.base.errors import (
    CardSetMismatchError,
    DuplicateIdError,
    EpocheError,
    MissingFileError,
    RecordError,
)
from kg.base.files import sha256_file


def test_it_holds_what_the_list_holds(card_file: Callable[..., Path]) -> None:
    path = card_file(50)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("\n" + "".join(line + "  \n" * (n % 3) for n, line in enumerate(lines)))
    whole = read_cards(path)
    with CardFile(path) as cards:
        assert len(cards) == 50
        assert [cards[item] for item in reversed(range(50))] == whole[::-1]
        assert cards.sha256 == card_set_hash(whole)
        assert cards.file_sha256 == sha256_file(path)
        assert [cards.find(card.id) for card in whole] == list(range(50))
        assert cards.find("id99999") is None


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
def test_it_refuses_what_the_list_refuses(
    card_file: Callable[..., Path], change: Callable[[str], str], kind: type[EpocheError]
) -> None:
    path = card_file(6)
    path.write_text(change(path.read_text()))
    with pytest.raises(kind) as one:
        CardFile(path)
    with pytest.raises(kind) as other:
        read_cards(path)
    assert one.value.one_line() == other.value.one_line()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="card file does not exist"):
        CardFile(tmp_path / "none.jsonl")


def test_a_change_of_the_open_file_is_noticed_and_a_replacement_is_not_read(
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
        with pytest.raises(CardSetMismatchError, match="while they were being asked"):
            cards[1]
