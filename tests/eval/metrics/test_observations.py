from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from eval.manifest import RunManifest, write_manifest
from eval.metrics.observations import read_observations
from eval.metrics.outcomes import PRED_CODE
from kg.base.errors import (
    CardSetMismatchError,
    DuplicateIdError,
    EpocheError,
    MissingFileError,
    RecordError,
)
from kg.base.provenance import manifest_path

Write = Callable[..., Path]
GOLD = {"E": "YES", "C": "NO", "U": "UNKNOWN"}


def row(number: int, pred: Any = "YES", **more: Any) -> dict[str, Any]:
    label = more.get("label", "ECU"[number % 3])
    return {
        "id": f"c{number:03d}",
        "gold": GOLD.get(label, label),
        "pred": pred,
        "pass": pred == GOLD.get(label),
        "system": "one",
        "label": label,
        **more,
    }


def ours(number: int, pred: Any = "YES", **more: Any) -> dict[str, Any]:
    return row(number, pred, cards="0123456789ab", kind="k", cluster=f"s{number // 2}", **more)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(rows: Iterable[dict[str, Any]], name: str = "results.jsonl", tail: str = "") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(r) + "\n" for r in rows) + tail, "utf-8")
        return path

    return write


def test_rows_of_the_published_form_are_read(write: Write) -> None:
    seen = read_observations([write([row(0), row(1, "maybe"), row(2, None)])])
    assert seen.ids == ("c000", "c001", "c002")
    assert seen.preds["one"].tolist() == [PRED_CODE[p] for p in ("YES", "INVALID", "ERROR")]
    assert seen.cards.startswith("ids-")
    assert seen.n_clusters == 3
    assert any("no clusters" in note for note in seen.notes)


def test_several_systems_and_files_meet_on_their_cards(write: Write) -> None:
    a = write([*(ours(n) for n in range(6)), *(ours(n, "NO", system="two") for n in range(6))], "a")
    b = write([ours(n, "UNKNOWN", system="three") for n in reversed(range(6))], "b")
    seen = read_observations([a, b])
    assert list(seen.preds) == ["one", "two", "three"]
    assert seen.cards == "0123456789ab"
    assert seen.n_clusters == 3
    assert [source.rows for source in seen.sources] == [12, 6]
    assert seen.notes == ()


def test_the_order_of_rows_does_not_matter(write: Write) -> None:
    rows = [
        ours(n, random.Random(n).choice(["YES", "NO"]), system=s) for n in range(30) for s in "ab"
    ]
    first = read_observations([write(rows, "x")])
    random.Random(1).shuffle(rows)
    second = read_observations([write(rows, "x")])
    assert first.ids == second.ids
    assert first.clusters.tolist() == second.clusters.tolist()
    assert {k: v.tolist() for k, v in first.preds.items()} == {
        k: v.tolist() for k, v in second.preds.items()
    }
    assert first.sources == second.sources


def test_a_system_without_a_name_is_named_after_its_file(write: Write) -> None:
    assert list(read_observations([write([row(0, system="")], "rag.jsonl")]).preds) == ["rag"]


def test_label_and_gold_stand_in_for_each_other(write: Write) -> None:
    no_label, no_gold = row(0), row(1)
    del no_label["label"], no_gold["gold"]
    seen = read_observations([write([no_label, no_gold])])
    assert seen.labels.tolist() == seen.golds.tolist() == [0, 1]


def test_disagreement_of_label_and_gold_is_said(write: Write) -> None:
    seen = read_observations([write([row(0), row(1, gold="UNKNOWN")])])
    assert seen.labels.tolist() == [0, 1]
    assert seen.golds.tolist() == [0, 2]
    assert any("disagree on 1 cards" in note and "'c001'" in note for note in seen.notes)


def test_ours_fills_in_what_another_s_row_lacks(write: Write) -> None:
    a, b = write([row(0), row(1)], "a"), write([ours(n, system="two") for n in range(2)], "b")
    for files in ([a, b], [b, a]):
        seen = read_observations(files)
        assert seen.kinds == ("k", "k")
        assert seen.n_clusters == 1
        assert any("2 rows name no card set" in note for note in seen.notes)


@pytest.mark.parametrize(
    ("rows", "tail", "error", "said"),
    [
        ([row(0), row(0)], "", DuplicateIdError, "results.jsonl:2"),
        ([row(0)], '{"id": "c00', RecordError, "torn"),
        ([row(0)], "[1]\n", RecordError, "results.jsonl:2"),
        ([row(0)], "nonsense\n", RecordError, "not JSON"),
        ([row(0, label="X", gold="YES")], "", RecordError, "unknown label 'X'"),
        ([row(0, gold="MAYBE")], "", RecordError, "unknown gold 'MAYBE'"),
        ([{"id": "a", "pred": "YES"}], "", RecordError, "neither label nor gold"),
        ([{"id": "a", "gold": "YES"}], "", RecordError, "pred"),
        ([{"gold": "YES", "pred": "YES"}], "", RecordError, "id"),
        ([ours(0, "PERHAPS")], "", RecordError, "unknown prediction 'PERHAPS'"),
        ([ours(0, None)], "", RecordError, "unknown prediction None"),
        ([ours(0, ["YES"])], "", RecordError, "unknown prediction"),
        ([], "\n", RecordError, "no results"),
        ([ours(0), {**ours(1), "cards": "ffff"}], "", CardSetMismatchError, "ffff"),
        ([row(0), row(0, system="b", label="C")], "", CardSetMismatchError, "'c000' is C"),
        ([row(0), row(1), row(0, system="b")], "", CardSetMismatchError, "'b' has no answer to 1"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(
    write: Write, rows: list[dict[str, Any]], tail: str, error: type[EpocheError], said: str
) -> None:
    with pytest.raises(error) as caught:
        read_observations([write(rows, tail=tail)])
    assert said in caught.value.one_line()
    assert "results.jsonl" in caught.value.one_line()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="nowhere"):
        read_observations([tmp_path / "nowhere.jsonl"])


def test_two_card_sets_name_both_files(write: Write) -> None:
    a, b = write([ours(0)], "a.jsonl"), write([{**ours(1), "cards": "ffff"}], "b.jsonl")
    with pytest.raises(CardSetMismatchError, match=r"a\.jsonl has 0123.*b\.jsonl:1"):
        read_observations([a, b])


def test_common_counts_what_all_answered(write: Write) -> None:
    a = write([row(n) for n in range(6)], "a")
    b = write([row(n, system="two") for n in range(2, 9)], "b")
    seen = read_observations([a, b], common=True)
    assert seen.ids == ("c002", "c003", "c004", "c005")
    assert any("Only the 4 cards" in note and "5 are left out" in note for note in seen.notes)
    with pytest.raises(CardSetMismatchError, match="no card"):
        read_observations([a, write([row(20, system="two")], "c")], common=True)


def test_two_files_of_one_system_can_be_told_apart(write: Write) -> None:
    a, b = write([row(0)], "old.jsonl"), write([row(0, "NO")], "new.jsonl")
    with pytest.raises(DuplicateIdError):
        read_observations([a, b])
    assert list(read_observations([a, b], distinguish=True).preds) == ["one@old", "one@new"]
    other = write([row(0, system="two")], "other.jsonl")
    assert list(read_observations([a, other], distinguish=True).preds) == ["one", "two"]


def test_manifests_declare_oracles_and_unfinished_runs(write: Write) -> None:
    path = write([ours(0)], "kg.jsonl")
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
    seen = read_observations([path])
    assert seen.oracles == {"one"}
    assert any("not complete" in note for note in seen.notes)
    assert any("declared oracle" in note for note in seen.notes)
    assert seen.sources[0].manifest is not None
    assert seen.sources[0].manifest["system"] == "kg"


@pytest.mark.parametrize(
    ("systems", "params", "note"),
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
def test_what_systems_declare_to_measure_is_a_note(
    write: Write, systems: tuple[str, ...], params: dict[str, Any], note: str | None
) -> None:
    path = write([row(0, system=name) for name in systems], "some.jsonl")
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
    found = [said for said in read_observations([path]).notes if "measure" in said]
    assert found == ([] if note is None else [note])


def test_faithfulness_is_no_headline(write: Write) -> None:
    rows = [row(0), row(1, kind="withheld", label="U"), row(2, kind="counterfactual", label="E")]
    assert read_observations([write(rows)]).headline.tolist() == [True, False, False]
