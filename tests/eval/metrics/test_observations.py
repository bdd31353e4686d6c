"""Tests that result files are read into observations, or refused with the line at fault."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from eval.abstention.manifest import RunManifest, write_manifest
from eval.abstention.metrics.observations import read_observations
from eval.abstention.metrics.outcomes import PRED_CODE
from kg.base.errors import (
    CardSetMismatchError,
    DuplicateIdError,
    EpocheError,
    MissingFileError,
    RecordError,
)
from kg.base.provenance import manifest_path

RowWriter = Callable[..., Path]
GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}


def make_row(number: int, pred: Any = "YES", **fields: Any) -> dict[str, Any]:
    label = fields.get("label", "ECU"[number % 3])
    return {
        "id": f"c{number:03d}",
        "gold": GOLD.get(label, label),
        "pred": pred,
        "pass": pred == GOLD.get(label),
        "system": "one",
        "label": label,
        **fields,
    }


def make_epoche_row(number: int, pred: Any = "YES", **fields: Any) -> dict[str, Any]:
    return make_row(
        number, pred, cards="0123456789ab", kind="k", cluster=f"s{number // 2}", **fields
    )


@pytest.fixture
def write_rows(tmp_path: Path) -> RowWriter:
    def write_file(
        rows: Iterable[dict[str, Any]], name: str = "results.jsonl", tail: str = ""
    ) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows) + tail, "utf-8")
        return path

    return write_file


def test_published_row_format_is_read(write_rows: RowWriter) -> None:
    observations = read_observations(
        [write_rows([make_row(0), make_row(1, "maybe"), make_row(2, None)])]
    )
    assert list(observations.ids) == ["c000", "c001", "c002"]
    assert observations.preds["one"].tolist() == [PRED_CODE[p] for p in ("YES", "INVALID", "ERROR")]
    assert observations.card_set.startswith("ids-")
    assert observations.n_clusters == 3
    assert any("no clusters" in note for note in observations.notes)


def test_several_systems_and_files_are_joined_by_card(write_rows: RowWriter) -> None:
    first_file = write_rows(
        [
            *(make_epoche_row(n) for n in range(6)),
            *(make_epoche_row(n, "NO", system="two") for n in range(6)),
        ],
        "a",
    )
    second_file = write_rows(
        [make_epoche_row(n, "UNKNOWN", system="three") for n in reversed(range(6))], "b"
    )
    observations = read_observations([first_file, second_file])
    assert list(observations.preds) == ["one", "two", "three"]
    assert observations.card_set == "0123456789ab"
    assert observations.n_clusters == 3
    assert [source.rows for source in observations.sources] == [12, 6]
    assert observations.notes == ()


def test_row_order_does_not_matter(write_rows: RowWriter) -> None:
    rows = [
        make_epoche_row(number, random.Random(number).choice(["YES", "NO"]), system=system)
        for number in range(30)
        for system in "ab"
    ]
    observations = read_observations([write_rows(rows, "x")])
    random.Random(1).shuffle(rows)
    shuffled_observations = read_observations([write_rows(rows, "x")])
    assert list(observations.ids) == list(shuffled_observations.ids)
    assert observations.clusters.tolist() == shuffled_observations.clusters.tolist()
    assert {name: codes.tolist() for name, codes in observations.preds.items()} == {
        name: codes.tolist() for name, codes in shuffled_observations.preds.items()
    }
    assert observations.sources == shuffled_observations.sources


def test_system_without_name_is_named_after_its_file(write_rows: RowWriter) -> None:
    assert list(read_observations([write_rows([make_row(0, system="")], "rag.jsonl")]).preds) == [
        "rag"
    ]


def test_label_and_gold_replace_each_other(write_rows: RowWriter) -> None:
    no_label, no_gold = make_row(0), make_row(1)
    del no_label["label"], no_gold["gold"]
    observations = read_observations([write_rows([no_label, no_gold])])
    # Codes of labels and golds: 0 for E and YES, 1 for C and NO, 2 for U and UNKNOWN.
    assert observations.labels.tolist() == observations.golds.tolist() == [0, 1]


def test_label_and_gold_disagreement_is_reported(write_rows: RowWriter) -> None:
    observations = read_observations([write_rows([make_row(0), make_row(1, gold="UNKNOWN")])])
    assert observations.labels.tolist() == [0, 1]
    assert observations.golds.tolist() == [0, 2]
    assert any("disagree on 1 cards" in note and "'c001'" in note for note in observations.notes)


def test_epoche_rows_supply_what_rows_of_other_tools_lack(write_rows: RowWriter) -> None:
    foreign_file, epoche_file = (
        write_rows([make_row(0), make_row(1)], "a"),
        write_rows([make_epoche_row(n, system="two") for n in range(2)], "b"),
    )
    for files in ([foreign_file, epoche_file], [epoche_file, foreign_file]):
        observations = read_observations(files)
        assert list(observations.kinds) == ["k", "k"]
        assert observations.n_clusters == 1
        assert any("2 rows name no card set" in note for note in observations.notes)


@pytest.mark.parametrize(
    ("rows", "tail", "error", "message"),
    [
        ([make_row(0), make_row(0)], "", DuplicateIdError, "results.jsonl:2"),
        ([make_row(0)], '{"id": "c00', RecordError, "cut off"),
        ([make_row(0)], "[1]\n", RecordError, "results.jsonl:2"),
        ([make_row(0)], "nonsense\n", RecordError, "not JSON"),
        ([make_row(0, label="X", gold="YES")], "", RecordError, "unknown label 'X'"),
        ([make_row(0, gold="MAYBE")], "", RecordError, "unknown gold 'MAYBE'"),
        ([{"id": "a", "pred": "YES"}], "", RecordError, "neither label nor gold"),
        ([{"id": "a", "gold": "YES"}], "", RecordError, "pred"),
        ([{"gold": "YES", "pred": "YES"}], "", RecordError, "id"),
        ([make_epoche_row(0, "PERHAPS")], "", RecordError, "unknown prediction 'PERHAPS'"),
        ([make_epoche_row(0, None)], "", RecordError, "unknown prediction None"),
        ([make_epoche_row(0, ["YES"])], "", RecordError, "unknown prediction"),
        ([], "\n", RecordError, "no results"),
        (
            [make_epoche_row(0), {**make_epoche_row(1), "cards": "ffff"}],
            "",
            CardSetMismatchError,
            "ffff",
        ),
        (
            [make_row(0), make_row(0, system="b", label="C")],
            "",
            CardSetMismatchError,
            "'c000' is C",
        ),
        (
            [make_row(0), make_row(1), make_row(0, system="b")],
            "",
            CardSetMismatchError,
            "'b' has no answer to 1",
        ),
    ],
)
def test_invalid_rows_are_refused_naming_the_file(
    write_rows: RowWriter,
    rows: list[dict[str, Any]],
    tail: str,
    error: type[EpocheError],
    message: str,
) -> None:
    with pytest.raises(error) as error_info:
        read_observations([write_rows(rows, tail=tail)])
    assert message in error_info.value.format_line()
    assert "results.jsonl" in error_info.value.format_line()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="nowhere"):
        read_observations([tmp_path / "nowhere.jsonl"])


def test_different_card_sets_name_both_files(write_rows: RowWriter) -> None:
    first_file, second_file = (
        write_rows([make_epoche_row(0)], "a.jsonl"),
        write_rows([{**make_epoche_row(1), "cards": "ffff"}], "b.jsonl"),
    )
    with pytest.raises(CardSetMismatchError, match=r"a\.jsonl has 0123.*b\.jsonl:1"):
        read_observations([first_file, second_file])


def test_common_keeps_cards_that_all_systems_answered(write_rows: RowWriter) -> None:
    first_file = write_rows([make_row(n) for n in range(6)], "a")
    second_file = write_rows([make_row(n, system="two") for n in range(2, 9)], "b")
    observations = read_observations([first_file, second_file], common=True)
    assert list(observations.ids) == ["c002", "c003", "c004", "c005"]
    assert any(
        "Only the 4 cards" in note and "5 are left out" in note for note in observations.notes
    )
    with pytest.raises(CardSetMismatchError, match="no card"):
        read_observations([first_file, write_rows([make_row(20, system="two")], "c")], common=True)


def test_two_files_of_one_system_are_distinguished(write_rows: RowWriter) -> None:
    old_file, new_file = (
        write_rows([make_row(0)], "old.jsonl"),
        write_rows([make_row(0, "NO")], "new.jsonl"),
    )
    with pytest.raises(DuplicateIdError):
        read_observations([old_file, new_file])
    assert list(read_observations([old_file, new_file], distinguish_equal_names=True).preds) == [
        "one@old",
        "one@new",
    ]
    other_file = write_rows([make_row(0, system="two")], "other.jsonl")
    assert list(read_observations([old_file, other_file], distinguish_equal_names=True).preds) == [
        "one",
        "two",
    ]


def test_manifests_declare_oracles_and_unfinished_runs(write_rows: RowWriter) -> None:
    path = write_rows([make_epoche_row(0)], "kg.jsonl")
    manifest = RunManifest(
        results="kg.jsonl",
        cards_file="cards.jsonl",
        cards_sha256="0" * 64,
        cards_file_sha256="1" * 64,
        card_count=1,
        system="kg",
        systems=("one",),
        oracles=("one",),
        seed=1,
        started="2026-01-01T00:00:00+00:00",
        status="running",
    )
    write_manifest(manifest_path(path), manifest)
    observations = read_observations([path])
    assert observations.oracles == {"one"}
    assert any("not complete" in note for note in observations.notes)
    assert any("declared oracle" in note for note in observations.notes)
    assert observations.sources[0].manifest is not None
    assert observations.sources[0].manifest["system"] == "kg"


@pytest.mark.parametrize(
    ("systems", "params", "expected_note"),
    [
        (("one",), {"measures": "little"}, "one measure little."),
        (
            ("one", "two", "three"),
            {"one": {"measures": "little"}, "two": {"k": 1}, "three": {"measures": "little"}},
            "one and three measure little.",
        ),
        (("one",), {"measures": ["little"]}, None),
        (("one", "two"), {"one": "little"}, None),
    ],
)
def test_declared_purpose_of_systems_becomes_a_note(
    write_rows: RowWriter,
    systems: tuple[str, ...],
    params: dict[str, Any],
    expected_note: str | None,
) -> None:
    path = write_rows([make_row(0, system=name) for name in systems], "some.jsonl")
    manifest = RunManifest(
        results="some.jsonl",
        cards_file="cards.jsonl",
        cards_sha256="0" * 64,
        cards_file_sha256="1" * 64,
        card_count=1,
        system="some",
        systems=systems,
        params=params,
        seed=1,
        started="2026-01-01T00:00:00+00:00",
        status="complete",
    )
    write_manifest(manifest_path(path), manifest)
    notes = [text for text in read_observations([path]).notes if "measure" in text]
    assert notes == ([] if expected_note is None else [expected_note])


def test_withheld_and_counterfactual_cards_are_not_in_the_headline(write_rows: RowWriter) -> None:
    rows = [
        make_row(0),
        make_row(1, kind="withheld", label="U"),
        make_row(2, kind="counterfactual", label="E"),
    ]
    assert read_observations([write_rows(rows)]).headline_mask.tolist() == [True, False, False]
