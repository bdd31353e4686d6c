"""Tests that copies and contradictory labels are found, against a search of all pairs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cards.consistency import LABEL_OF_PROOF, find_card_problems

CARDS = st.lists(
    st.fixed_dictionaries(
        {
            "facts": st.lists(st.sampled_from("abc"), max_size=3),
            "rules": st.lists(st.sampled_from("rs"), max_size=1),
            "question": st.sampled_from(["one?", "two?"]),
            "label": st.sampled_from("ECU"),
            "proof": st.one_of(
                st.none(), st.fixed_dictionaries({"kind": st.sampled_from(list(LABEL_OF_PROOF))})
            ),
            "meta": st.one_of(
                st.just({}),
                st.fixed_dictionaries(
                    {
                        "card_proof": st.fixed_dictionaries(
                            {"kind": st.sampled_from(list(LABEL_OF_PROOF))}
                        )
                    }
                ),
            ),
        }
    ),
    max_size=12,
)


def have_equal_content(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return (
        sorted(first["facts"]) == sorted(second["facts"])
        and first["rules"] == second["rules"]
        and first["question"] == second["question"]
    )


@given(cards=CARDS)
def test_every_copy_and_every_contradictory_label_is_found(cards: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cards.jsonl"
        # A blank line, so that lines and numbers of cards differ.
        lines = [json.dumps({"id": f"c{n}", **card}) for n, card in enumerate(cards)]
        path.write_text("".join(f"{line}\n" for line in ["", *lines]), "utf-8")
        problems = list(find_card_problems(path))
    copies = {
        number: next(n for n in range(number) if have_equal_content(cards[n], card))
        for number, card in enumerate(cards)
        if any(have_equal_content(earlier, card) for earlier in cards[:number])
    }
    contradictory = [
        number
        for number, card in enumerate(cards)
        for proofs in [[card["proof"], card["meta"].get("card_proof")]]
        if any(proof and LABEL_OF_PROOF[proof["kind"]] != card["label"] for proof in proofs)
    ]
    assert [item.line - 2 for item in problems if item.field == "label"] == contradictory
    found = {item.line - 2: item.found for item in problems if item.field != "label"}
    assert found == {
        number: f"a copy of card 'c{first}' in line {first + 2}" for number, first in copies.items()
    }
    assert all(item.id == f"c{item.line - 2}" for item in problems)
