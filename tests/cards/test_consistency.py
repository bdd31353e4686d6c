"""Tests that copies and contradictory labels are found, against a search of all pairs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cards.card import read_cards
from cards.consistency import LABEL_OF_PROOF, find_card_problems
from kg.base.errors import RecordError
from kg.claims import GOLD_OF_LABEL

CARDS = st.lists(
    st.fixed_dictionaries(
        {
            "facts": st.lists(st.sampled_from("abc"), max_size=3),
            "rules": st.lists(st.sampled_from("rs"), max_size=1),
            "question": st.sampled_from(["one?", "two?"]),
            "claim": st.fixed_dictionaries(
                {"subj": st.just("s"), "pred": st.just("p"), "obj": st.sampled_from(["o", "x"])}
            ),
            "label": st.sampled_from("ECU"),
            "proof": st.one_of(
                st.none(),
                st.fixed_dictionaries(
                    {"kind": st.sampled_from(list(LABEL_OF_PROOF)), "engine": st.just("index")}
                ),
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
    min_size=1,
    max_size=12,
)


def have_equal_content(first: dict[str, Any], second: dict[str, Any]) -> bool:
    if set(first["facts"]) != set(second["facts"]):
        return False
    if first["question"] != second["question"]:
        return bool(first["facts"]) and first["claim"] == second["claim"]
    return bool(first["facts"]) or set(first["rules"]) == set(second["rules"])


def make_lines(cards: list[dict[str, Any]]) -> list[str]:
    claim = {"subj": "s", "pred": "p", "obj": "o"}
    return [
        json.dumps({"id": f"c{n}", "gold": GOLD_OF_LABEL[card["label"]], "claim": claim} | card)
        for n, card in enumerate(cards)
    ]


@given(cards=CARDS, first_line=st.sampled_from([1, 2]))
def test_every_copy_and_every_contradictory_label_is_found(
    cards: list[dict[str, Any]], first_line: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cards.jsonl"
        # With a blank line, the file is read line by line, else many lines at once.
        lines = [*[""] * (first_line - 1), *make_lines(cards)]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        problems = list(find_card_problems([path]))
    copies = {
        number: {n for n in range(number) if have_equal_content(cards[n], card)}
        for number, card in enumerate(cards)
        if any(have_equal_content(earlier, card) for earlier in cards[:number])
    }
    contradictory = [
        number
        for number, card in enumerate(cards)
        for proofs in [[card["proof"], card["meta"].get("card_proof")]]
        if any(proof and LABEL_OF_PROOF[proof["kind"]] != card["label"] for proof in proofs)
    ]
    assert [item.line - first_line for item in problems if item.field == "label"] == contradictory
    found = {item.line - first_line: item.found for item in problems if item.field != "label"}
    assert found.keys() == copies.keys()
    for number, firsts in copies.items():
        assert found[number] in {f"a copy of card 'c{n}' in line {n + first_line}" for n in firsts}
    assert all(item.id == f"c{item.line - first_line}" for item in problems)


@given(cards=CARDS, n_first=st.integers(0, 12))
def test_copies_are_found_in_other_files(cards: list[dict[str, Any]], n_first: int) -> None:
    lines = make_lines(cards)
    parts = [part for part in (lines[:n_first], lines[n_first:]) if part]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.jsonl" for number in range(len(parts))]
        whole = Path(folder) / "whole.jsonl"
        for path, part in [*zip(paths, parts, strict=True), (whole, lines)]:
            path.write_text("\n".join(part), "utf-8")
        in_parts, in_one = list(find_card_problems(paths)), list(find_card_problems([whole]))
    assert [(item.id, item.field) for item in in_parts] == [
        (item.id, item.field) for item in in_one
    ]
    for item in in_parts:
        first = item.found.split("'")[1] if "copy" in item.found else item.id
        is_in_first_part = len(parts) == 2 and int(first[1:]) < n_first <= int(item.id[1:])
        assert (f" of {paths[0]}" in item.found) == is_in_first_part


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("300 K", "300 \N{KELVIN SIGN}"),
        ("caf\u00e9", "cafe\u0301"),
        ("Stra\u00dfe", "STRASSE"),
        ("Mi\u017fsi\u017fsippi", "Mississippi"),
        ("one", "\u201cOne\u201d"),
    ],
)
def test_copies_in_another_form_of_the_characters_are_found(
    tmp_path: Path, text: str, other: str
) -> None:
    card = {"facts": ["f"], "rules": [], "label": "E"}
    claims = [{"subj": "s", "pred": "p", "obj": one} for one in "ab"]
    cards = [
        card | {"question": question, "claim": claim}
        for question, claim in zip((text, other), claims, strict=True)
    ]
    path = tmp_path / "cards.jsonl"
    path.write_text("\n".join(make_lines(cards)), "utf-8")
    (problem,) = find_card_problems([path])
    assert (problem.line, problem.field) == (2, "facts and question")


@pytest.mark.parametrize("proof", [None, [], [{}], "denied", 1, {"kind": ["denied"]}, {}])
def test_a_proof_that_is_none_proves_nothing(tmp_path: Path, proof: object) -> None:
    card = {"facts": [], "rules": [], "question": "?", "label": "E", "meta": {"card_proof": proof}}
    path = tmp_path / "cards.jsonl"
    path.write_text("\n".join(make_lines([card])), "utf-8")
    assert list(find_card_problems([path])) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gold": "NO"}, "label E needs gold YES"),
        ({"facts": "f"}, "Expected `array`"),
        ({"claim": {}}, "missing required field `subj`"),
        ({"difficulty": "extreme"}, "Invalid enum value"),
        ({"meta": []}, "Expected `object`"),
        ({"proof": {"kind": "asserted"}}, "missing required field `engine`"),
    ],
)
def test_invalid_cards_are_reported_with_their_line(
    tmp_path: Path, fields: dict[str, object], message: str
) -> None:
    good = {"facts": [], "rules": [], "question": "?", "label": "E"}
    path = tmp_path / "cards.jsonl"
    path.write_text("\n".join(make_lines([good, good, good | fields, good])), "utf-8")
    errors = []
    for read in (lambda: list(find_card_problems([path])), lambda: read_cards(path)):
        with pytest.raises(RecordError, match=message) as caught:
            read()
        errors.append(caught.value.format_line())
    assert f"{path}:3" in errors[0]
    assert errors[0] == errors[1]
