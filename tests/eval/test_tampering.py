"""Tests that changed results are refused or flagged, with the files changed in many ways.

Each way of changing a run is tried on ``metrics``, ``compare``, ``gate``, ``report`` and
``verify``. Nothing may pass all of them, and what only ``verify`` finds is listed.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmark_runs import FOLDER_COMMANDS
from stage_calls import CommandResult, check_error_line, run_epoche, write_edited_manifest

from cards.card import hash_card_set, read_cards
from cards.consistency import find_card_problems
from kg.base.files import sha256_file
from kg.base.provenance import compute_content_digest

pytestmark = pytest.mark.usefixtures("kept_readers")

CHANGED = 40
"""Exit code of commands that refuse changed rows or cards."""
OTHER_ANSWERS = {"YES": "NO", "NO": "YES", "UNKNOWN": "YES"}
SWAPPED = {"E": "C", "C": "E", "U": "U", "YES": "NO", "NO": "YES", "UNKNOWN": "UNKNOWN"}
FEW = ("--resamples", 100)
Row = dict[str, Any]
Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cards, the results of a system asked twice, of another one, and metrics."""
    folder = tmp_path_factory.mktemp("cards")
    cards = folder / "cards.jsonl"
    eval_cards = ("eval", "--cards", cards, "--system")
    for arguments in (
        ("cards", "--domain", "rivers", "--num-per-type", 4, "--out", cards),
        (*eval_cards, "kg", "--repeat", 2, "--out", folder / "kg.jsonl"),
        (*eval_cards, "rag", "--out", folder / "rag.jsonl"),
        ("metrics", folder / "kg.jsonl", *FEW, "--out", folder / "metrics.json"),
    ):
        done = run_epoche(*arguments)
        assert done.code == 0, done.err
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of the folder that a test may change."""
    return shutil.copytree(finished, tmp_path / "copy")


def run_all(folder: Path, *flags: object) -> dict[str, CommandResult]:
    """Gives the results to all commands that read them."""
    kg, rag = folder / "kg.jsonl", folder / "rag.jsonl"
    new_metrics = folder / "new" / "metrics.json"
    commands: dict[str, tuple[object, ...]] = {
        "metrics": ("metrics", kg, *FEW, "--out", new_metrics),
        "compare": ("compare", kg, rag, *FEW, "--out", folder / "new" / "c.json"),
        "gate": ("gate", kg, "--metric", "LA>=0", *FEW),
        "report": ("report", kg, "--metrics", folder / "metrics.json", "--formats", "md"),
    }
    return {
        name: run_epoche(
            *arguments, *flags, *(("--out", folder / "r.html") if name == "report" else ())
        )
        for name, arguments in commands.items()
    }


# Changes of result files.


def read_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write_lines(path: Path, rows: list[Row]) -> None:
    text = "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    )
    path.write_text(text, "utf-8")


def change_rows(folder: Path, change: Callable[[list[Row]], list[Row]]) -> None:
    write_lines(folder / "kg.jsonl", change(read_lines(folder / "kg.jsonl")))


def set_fields(numbers: slice, **fields: object) -> Change:
    """Returns a change that sets fields of some rows; a function computes one from the row."""

    def change(rows: list[Row]) -> list[Row]:
        for row in rows[numbers]:
            row.update({k: v(row) if callable(v) else v for k, v in fields.items()})
        return rows

    return partial(change_rows, change=change)


def edit_manifest(folder: Path, name: str = "kg", **fields: object) -> None:
    """Sets fields of a manifest, and its digest as a careful forger would."""
    path = folder / f"{name}.manifest.json"
    write_edited_manifest(path, {**json.loads(path.read_bytes()), **fields})


def edit_manifest_carelessly(folder: Path, name: str = "kg", **fields: object) -> None:
    """Sets fields of a manifest without its digest."""
    path = folder / f"{name}.manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}), "utf-8")


def forge_hashes(folder: Path, *, with_cards: bool = False) -> None:
    """Enters the hashes and counts of the changed files, as a careful forger would."""
    cards, rows = folder / "cards.jsonl", folder / "kg.jsonl"
    card_set = hash_card_set(read_cards(cards))
    set_fields(slice(None), cards=card_set[:12])(folder)
    edit_manifest(
        folder,
        cards_sha256=card_set,
        cards_file_sha256=sha256_file(cards),
        card_count=len(read_cards(cards)),
        counts=Counter(row["pred"] for row in read_lines(rows)),
        rows_sha256=sha256_file(rows),
    )
    if with_cards:
        edit_manifest(folder, "cards", cards_sha256=card_set, cards_file_sha256=sha256_file(cards))


def keep_passing(folder: Path) -> None:
    """Keeps the passing rows of a run that has others."""
    use_foreign_rows(folder)
    change_rows(folder, lambda rows: [row for row in rows if row["pass"]])


def forge_limit(folder: Path, *, with_count: bool = False) -> None:
    """Says that the run was to ask as many cards as have rows."""
    forge_hashes(folder)
    n_cards = len({row["id"] for row in read_lines(folder / "kg.jsonl")})
    edit_manifest(folder, limit=n_cards, **({"card_count": n_cards} if with_count else {}))


# Changes of cards.


def swap_labels(folder: Path, numbers: slice = slice(None)) -> None:
    """Swaps E and C on some cards, and in the rows about them."""
    cards = read_lines(folder / "cards.jsonl")
    ids = {card["id"] for card in cards[numbers]}
    for card in cards[numbers]:
        card.update(label=SWAPPED[card["label"]], gold=SWAPPED[card["gold"]])
    write_lines(folder / "cards.jsonl", cards)
    swap_rows(folder, ids)


def swap_rows(folder: Path, ids: set[str]) -> None:
    def swap(rows: list[Row]) -> list[Row]:
        for row in rows:
            if row["id"] in ids:
                row.update({key: SWAPPED[row[key]] for key in ("label", "gold", "pred")})
        return rows

    change_rows(folder, swap)


def exchange_proofs(folder: Path) -> None:
    """Gives each E card the proofs of a C card and the reverse, as no honest accident does."""
    cards = read_lines(folder / "cards.jsonl")
    by_label = {label: [card for card in cards if card["label"] == label] for label in "EC"}
    for first, second in zip(by_label["E"], by_label["C"], strict=True):
        first["proof"], second["proof"] = second["proof"], first["proof"]
        proofs = [card["meta"]["card_proof"] for card in (first, second)]
        second["meta"]["card_proof"], first["meta"]["card_proof"] = proofs
    write_lines(folder / "cards.jsonl", cards)


def copy_cards(folder: Path, n_cards: int = 200) -> None:
    """Copies cards and rows to many further ids."""
    cards, rows = read_lines(folder / "cards.jsonl"), read_lines(folder / "kg.jsonl")
    rows_by_id: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_id.setdefault(row["id"], []).append(row)
    new_cards, new_rows = list(cards), list(rows)
    for number in range(n_cards - len(cards)):
        card, name = cards[number % len(cards)], f"copy{number}"
        new_cards.append({**card, "id": name})
        new_rows += [{**row, "id": name} for row in rows_by_id[card["id"]]]
    write_lines(folder / "cards.jsonl", new_cards)
    write_lines(folder / "kg.jsonl", new_rows)


def shuffle_facts(folder: Path) -> None:
    """Copies a card with its facts in another order."""
    cards = read_lines(folder / "cards.jsonl")
    write_lines(
        folder / "cards.jsonl",
        [*cards, {**cards[0], "id": "other", "facts": cards[0]["facts"][::-1]}],
    )
    rows = read_lines(folder / "kg.jsonl")
    first = [row for row in rows if row["id"] == cards[0]["id"]]
    write_lines(folder / "kg.jsonl", [*rows, *({**row, "id": "other"} for row in first)])


def edit_card(folder: Path, **fields: object) -> None:
    cards = read_lines(folder / "cards.jsonl")
    cards[1].update(fields)
    write_lines(folder / "cards.jsonl", cards)


def chain(*changes: Change) -> Change:
    def change(folder: Path) -> None:
        for part in changes:
            part(folder)

    return change


def use_foreign_rows(folder: Path) -> None:
    """Replaces the rows by those of another system under the name of this one."""
    rows = [{**row, "system": "kg"} for row in read_lines(folder / "rag.jsonl")]
    write_lines(folder / "kg.jsonl", [{**r, "repeat": n} for r in rows for n in (0, 1)])


forge_all = partial(forge_hashes, with_cards=True)

TAMPERINGS: dict[str, Change] = {
    # Rows removed.
    "first row removed": partial(change_rows, change=lambda rows: rows[1:]),
    "last row removed": partial(change_rows, change=lambda rows: rows[:-1]),
    "half removed": partial(change_rows, change=lambda rows: rows[::2]),
    "second repeat removed": partial(
        change_rows, change=lambda rows: [row for row in rows if not row.get("repeat")]
    ),
    "unknown cards removed": partial(
        change_rows, change=lambda rows: [row for row in rows if row["label"] != "U"]
    ),
    "wrong answers removed": chain(
        use_foreign_rows,
        partial(change_rows, change=lambda rows: [row for row in rows if row["pass"]]),
    ),
    # Rows doubled, or in another order.
    "a row doubled": partial(change_rows, change=lambda rows: [*rows, rows[0]]),
    "all rows doubled": partial(change_rows, change=lambda rows: rows * 2),
    "a row replaced by another": partial(change_rows, change=lambda rows: [*rows[:-1], rows[0]]),
    "rows reversed": partial(change_rows, change=lambda rows: rows[::-1]),
    # Rows edited.
    "one answer flipped": set_fields(slice(1), pred=lambda r: OTHER_ANSWERS[r["pred"]]),
    "flipped with pass": set_fields(
        slice(1),
        **{"pred": lambda r: OTHER_ANSWERS[r["pred"]], "pass": lambda r: not r["pass"]},
    ),
    "two answers exchanged": set_fields(slice(2), pred=lambda r: SWAPPED[r["pred"]]),
    "all answers right": set_fields(slice(None), pred=lambda r: r["gold"], confidence=1.0),
    "all UNKNOWN": set_fields(slice(None), pred="UNKNOWN"),
    "an error written": set_fields(slice(3), pred="ERROR"),
    "gold edited": set_fields(slice(1), gold=lambda r: OTHER_ANSWERS[r["gold"]]),
    "label edited": set_fields(slice(1), label="U"),
    "kind edited": set_fields(slice(1), kind="near-miss/sibling"),
    "all near-misses": set_fields(slice(6), kind="near-miss/sibling"),
    "cluster edited": set_fields(slice(None), cluster="one"),
    "triplet removed": set_fields(slice(None), triplet=""),
    "full label edited": set_fields(slice(None), full_label="E"),
    "confidence added": set_fields(slice(None), confidence=0.5),
    "raw edited": set_fields(slice(1), raw="x"),
    "latency edited": set_fields(slice(1), latency_s=0.001),
    # Foreign rows.
    "rows of another system": use_foreign_rows,
    "another system": set_fields(slice(None), system="better"),
    "another system on one row": set_fields(slice(1), system="better"),
    "a foreign card": set_fields(slice(1), id="nobody"),
    "a foreign card set": set_fields(slice(None), cards="0123456789ab"),
    "another repeat": set_fields(slice(1), repeat=7),
    "a foreign card, hashes forged": chain(set_fields(slice(2), id="nobody"), forge_hashes),
    "labels in rows edited, hashes forged": chain(
        set_fields(slice(2), label="U", gold="UNKNOWN"), forge_hashes
    ),
    # Stale or edited manifests.
    "stale counts": partial(edit_manifest, counts={"YES": 24}),
    "another hash of the rows": partial(edit_manifest, rows_sha256="0" * 64),
    "no hash of the rows": partial(edit_manifest, rows_sha256=None),
    "another hash of the cards": partial(edit_manifest, cards_sha256="0" * 64),
    "another hash of the card file": partial(edit_manifest, cards_file_sha256="0" * 64),
    "more repeats promised": partial(edit_manifest, repeats=3),
    "fewer repeats promised": partial(edit_manifest, repeats=1),
    "a limit that was none": partial(edit_manifest, limit=4),
    "failing rows removed, hashes forged": chain(keep_passing, forge_hashes),
    "failing rows removed, with a forged limit": chain(keep_passing, forge_limit),
    "failing rows removed, with a forged number of cards": chain(
        keep_passing, partial(forge_limit, with_count=True)
    ),
    "another card file": partial(edit_manifest, cards_file="none.jsonl"),
    "manifest of another run": lambda folder: (
        shutil.copy(folder / "rag.manifest.json", folder / "kg.manifest.json"),
        None,
    )[1],
    "another model": partial(edit_manifest_carelessly, model="gpt-9"),
    "another setting": partial(edit_manifest_carelessly, params={"depth": 9}),
    "a warning about the cards hidden": chain(
        partial(edit_manifest, card_warnings=["Labels can be predicted."]),
        partial(edit_manifest_carelessly, card_warnings=[]),
    ),
    "no digest of the manifest": partial(edit_manifest_carelessly, content_sha256=""),
    "manifest removed": lambda folder: (folder / "kg.manifest.json").unlink(),
    # Cards.
    "question of a card edited": partial(edit_card, question="Does it rain?"),
    "facts of a card removed": partial(edit_card, facts=[]),
    "kind of a card edited": partial(edit_card, kind="changed"),
    "E and C swapped": swap_labels,
    "E and C swapped, hashes of the run forged": chain(swap_labels, forge_hashes),
    "E and C swapped, all hashes forged": chain(swap_labels, forge_all),
    "two thirds swapped, all hashes forged": chain(
        partial(swap_labels, numbers=slice(8)), forge_all
    ),
    "manifest of the cards edited": partial(edit_manifest_carelessly, name="cards", domain="other"),
    "cards copied": copy_cards,
    "cards copied, hashes of the run forged": chain(copy_cards, forge_hashes),
    "cards copied, all hashes forged": chain(copy_cards, forge_all),
    "facts in another order, all hashes forged": chain(shuffle_facts, forge_all),
    "E and C swapped with their proofs, all hashes forged": chain(
        swap_labels, exchange_proofs, forge_all
    ),
}
ONLY_VERIFY = {"E and C swapped with their proofs, all hashes forged"}
"""What ``epoche verify`` finds, because it proves the labels again, and nothing else does."""
FLAGGED: dict[str, str] = {
    "no hash of the rows": "rows:unverified",
    "manifest removed": "rows:unverified",
    "no digest of the manifest": "rows:unverified",
    "another card file": "cards:unchecked",
}
"""What is not refused → how the metrics show it."""


COPIED_FIELDS: dict[str, Any] = {
    "gold": lambda row: SWAPPED[row["gold"]],
    "kind": "near-miss/sibling",
    "cluster": "one",
    "triplet": "",
    "full_label": "E",
}


@pytest.mark.parametrize("flags", [(), ("--cards",)])
@pytest.mark.parametrize("field", COPIED_FIELDS)
def test_fields_of_cards_edited_in_rows_with_forged_hashes_are_refused(
    folder: Path, field: str, flags: tuple[str, ...]
) -> None:
    set_fields(slice(None), **{field: COPIED_FIELDS[field]})(folder)
    forge_hashes(folder)
    results = run_all(folder, *(part for flag in flags for part in (flag, folder / "cards.jsonl")))
    for name in ("metrics", "gate"):
        line = check_error_line(results[name], 1 if name == "gate" else CHANGED)
        assert f"has {field} " in line
        assert "cards.jsonl:" in line
    assert results["compare"].code != 0


@pytest.mark.parametrize("with_count", [False, True])
def test_a_forged_limit_is_found_with_named_cards(folder: Path, with_count: bool) -> None:
    keep_passing(folder)
    forge_limit(folder, with_count=with_count)
    results = run_all(folder, "--cards", folder / "cards.jsonl")
    for name in ("metrics", "compare", "gate"):
        line = check_error_line(results[name], 1 if name == "gate" else CHANGED)
        assert ("its card file has 12" if with_count else "its run asked only the first") in line


def test_limited_runs_and_shards_are_read(folder: Path) -> None:
    flags = ("eval", "--cards", folder / "cards.jsonl", "--system", "rag", "--out")
    shards = [folder / f"s{number}.jsonl" for number in (1, 2)]
    for number, shard in enumerate(shards, start=1):
        assert run_epoche(*flags, shard, "--shard", f"{number}/2").code == 0
    limited = folder / "limited.jsonl"
    assert run_epoche(*flags, limited, "--limit", 5).code == 0
    for files in (shards, shards[:1], [limited]):
        for cards in ((), ("--cards", folder / "cards.jsonl")):
            done = run_epoche("metrics", *files, *cards, *FEW, "--out", folder / "m.json")
            assert done.code == 0, done.err
            assert "rows:" not in (folder / "m.json").read_text("utf-8")


def test_what_is_not_known_of_rows_and_cards_is_said_beside_the_numbers(folder: Path) -> None:
    (folder / "kg.manifest.json").unlink()
    edit_manifest(folder, "rag", cards_file="none.jsonl")
    (folder / "cards.jsonl").rename(folder / "moved.jsonl")
    junit = folder / "gate.xml"
    for name, detail in (("kg", "rows:unverified"), ("rag", "cards:unchecked")):
        path, out = folder / f"{name}.jsonl", folder / "m.json"
        done = run_epoche("metrics", path, *FEW, "--out", out)
        (warning,) = json.loads(out.read_bytes())["warnings"]
        assert f"({detail})" in warning
        assert f"{name}.jsonl" in warning
        assert f"WARNING: {warning}" in done.out
        gate = ("gate", path, "--metric", "LA>=0", *FEW, "--junit", junit)
        if name == "kg":
            assert "kg.jsonl has no manifest" in check_error_line(run_epoche(*gate), 1)
            gate = (*gate, "--allow-changed")
        gated = run_epoche(*gate)
        assert gated.code == 0, gated.err
        assert f"WARNING: {warning}" in gated.out
        signature = gated.out.splitlines()[-1]
        assert f"|{detail}|" in signature
        assert f'<property name="signature" value="{signature}"/>' in junit.read_text("utf-8")
        assert run_epoche("metrics", path, "--strict", *FEW, "--out", out).code == 0


def test_there_are_enough_ways() -> None:
    assert len(TAMPERINGS) >= 40


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_tampering_is_refused_or_flagged(folder: Path, tampering: str) -> None:
    TAMPERINGS[tampering](folder)
    results = run_all(folder)
    if tampering in ONLY_VERIFY:
        assert results["metrics"].code == 0, results["metrics"].err
        assert run_epoche("verify", folder / "kg.jsonl").code == 39
        check_verified_cards(folder, "label is")
        return
    if tampering in FLAGGED:
        assert results["metrics"].code == 0, results["metrics"].err
        written = (folder / "new" / "metrics.json").read_text("utf-8")
        assert FLAGGED[tampering] in written
        return
    for name in ("metrics", "compare", "gate", "report"):
        line = check_error_line(results[name], results[name].code)
        assert results[name].code not in (0, 2, 100), (name, results[name].out)
        assert str(folder) in line or "--cards" in line, line


def check_verified_cards(folder: Path, message: str) -> None:
    done = run_epoche("verify", folder / "cards.jsonl")
    assert done.code == 39, done.out
    assert message in done.out


@pytest.mark.parametrize(
    "tampering",
    [
        "last row removed",
        "flipped with pass",
        "raw edited",
        "rows reversed",
        "kind edited",
        "stale counts",
        "kind of a card edited",
        "cards copied, all hashes forged",
        "E and C swapped, all hashes forged",
    ],
)
def test_accepted_changes_show_in_the_signature(folder: Path, tampering: str) -> None:
    TAMPERINGS[tampering](folder)
    out = folder / "metrics.json"
    done = run_epoche("metrics", folder / "kg.jsonl", *FEW, "--out", out, "--allow-changed")
    assert done.code == 0, done.err
    assert "WARNING: Accepted with --allow-changed: " in done.out
    report = json.loads(out.read_bytes())
    signature = report["policies"]["licensed"]["systems"]["kg"]["metrics"]["skill@.5"]["signature"]
    assert "|rows:changed|" in signature or "|cards:changed|" in signature
    gate = ("gate", folder / "kg.jsonl", "--metric", "skill@.5>=-9", *FEW)
    gated = run_epoche(*gate, "--allow-changed")
    assert "WARNING: Accepted with --allow-changed: " in gated.out
    assert run_epoche(*gate).code == 1
    page = folder / "r.html"
    reported = run_epoche(
        "report", folder / "kg.jsonl", "--formats", "md", "--out", page, "--allow-changed"
    )
    assert reported.code == 0, reported.err
    text = page.with_suffix(".md").read_text("utf-8")
    assert "Warning:** Accepted with" in text
    assert "proved" not in text.partition("## ")[0]


def test_the_line_is_named(folder: Path) -> None:
    original = (folder / "kg.jsonl").read_bytes()
    for tampering, line in {
        "a row doubled": "kg.jsonl:25",
        "kind edited": "kg.jsonl:1",
        "one answer flipped": "kg.jsonl:1",
        "another repeat": "kg.jsonl:1",
        "a foreign card": "kg.jsonl:1",
    }.items():
        (folder / "kg.jsonl").write_bytes(original)
        TAMPERINGS[tampering](folder)
        message = run_epoche("metrics", folder / "kg.jsonl", "--out", folder / "m.json").err
        assert line in message, (tampering, message)


def test_copies_and_swapped_labels_are_named_with_their_lines(folder: Path) -> None:
    chain(copy_cards, forge_all)(folder)
    message = check_error_line(run_all(folder)["metrics"], CHANGED)
    assert "'copy0'" in message
    assert "a copy of card" in message
    assert "cards.jsonl:13" in message
    check_verified_cards(folder, "cards.jsonl:13: card 'copy0': facts and question is a copy of")


CARD_CHANGES: dict[str, Change] = {
    "hard cards removed": lambda folder: write_lines(
        folder / "cards.jsonl", read_lines(folder / "cards.jsonl")[:6]
    ),
    "E and C swapped": swap_labels,
    "question edited": partial(edit_card, question="Is the moon made of cheese?"),
    "kind edited": partial(edit_card, kind="near-miss/sibling"),
    "cluster edited": partial(edit_card, cluster="another"),
}


def list_card_commands(folder: Path) -> dict[str, tuple[object, ...]]:
    """Lists the commands that read cards and write cards or rows."""
    cards, out = folder / "cards.jsonl", folder / "new.jsonl"
    return {
        "join": ("join", cards, "--out", out),
        "near-miss": ("near-miss", "--cards", cards, "--num", 2, "--out", out),
        "paraphrase": ("paraphrase", cards, "--out", out),
        "eval": ("eval", "--cards", cards, "--system", "rag", "--out", out),
        "score": (
            *("score", "--cards", cards, "--predictions", folder / "rag.jsonl"),
            *("--out", out, "--resamples", 100),
        ),
        "degrade": ("degrade", "--cards", cards, "--system", "rag", "--out", folder / "new", *FEW),
    }


@pytest.mark.parametrize("change", CARD_CHANGES)
def test_cards_that_their_manifest_does_not_describe_are_not_passed_on(
    folder: Path, change: str
) -> None:
    CARD_CHANGES[change](folder)
    for command in list_card_commands(folder).values():
        line = check_error_line(run_epoche(*command), CHANGED)
        assert "cards.jsonl changed after it was made" in line
        assert "cards.manifest.json" in line
        assert not list(folder.glob("new*"))


@pytest.mark.parametrize("command", ["join", "near-miss", "paraphrase", "eval", "score"])
def test_accepted_cards_are_marked_in_what_is_made_of_them(folder: Path, command: str) -> None:
    CARD_CHANGES["kind edited"](folder)
    done = run_epoche(*list_card_commands(folder)[command], "--allow-changed")
    assert done.code == 0, done.err
    assert "warning: Accepted with --allow-changed: cards.jsonl changed after it" in done.err
    rows = folder / "new.jsonl"
    if command not in ("eval", "score"):
        rows = folder / "rows.jsonl"
        asked = run_epoche(
            "eval", "--cards", folder / "new.jsonl", "--system", "rag", "--out", rows
        )
        assert asked.code == 0, asked.err
    measured = run_epoche("metrics", rows, *FEW, "--out", folder / "m.json")
    assert measured.code == 0, measured.err
    assert "WARNING: Accepted with --allow-changed before the cards were asked" in measured.out
    assert "|cards:changed|" in (folder / "m.json").read_text("utf-8")


def test_cards_that_the_user_names_must_be_those_of_their_manifest(folder: Path) -> None:
    edit_manifest(folder, "cards", cards_sha256="0" * 64)
    flags = ("--cards", folder / "cards.jsonl")
    for name, result in run_all(folder, *flags).items():
        line = check_error_line(result, 1 if name == "gate" else CHANGED)
        assert "cards.jsonl changed after it was made: its manifest is of card set 0000" in line
    assert "cards:changed" in run_all(folder, *flags, "--allow-changed")["gate"].out


def forget_cards_manifest(folder: Path) -> None:
    (folder / "cards.manifest.json").unlink()


def join_unverified_cards(folder: Path) -> None:
    """Joins cards without a manifest, which gives them one, and asks them."""
    forget_cards_manifest(folder)
    cards = (folder / "cards.jsonl").rename(folder / "parts.jsonl")
    for command in (
        ("join", cards, "--out", folder / "cards.jsonl"),
        *(
            ("eval", "--cards", folder / "cards.jsonl", "--system", "rag", "--out", out)
            for out in (folder / "kg.jsonl", folder / "rag.jsonl")
        ),
    ):
        done = run_epoche(*command, *(("--overwrite",) if command[0] == "eval" else ()))
        assert done.code == 0, done.err


@pytest.mark.parametrize(
    "change",
    [
        forget_cards_manifest,
        partial(edit_manifest_carelessly, name="cards", content_sha256=""),
        partial(edit_manifest, name="cards", cards_sha256=None),
        join_unverified_cards,
    ],
)
@pytest.mark.parametrize("flags", [(), ("--cards",)])
def test_cards_without_hashes_are_signed(
    folder: Path, change: Change, flags: tuple[str, ...]
) -> None:
    change(folder)
    run_epoche("metrics", folder / "kg.jsonl", *FEW, "--out", folder / "metrics.json")
    results = run_all(folder, *(part for flag in flags for part in (flag, folder / "cards.jsonl")))
    for name, result in results.items():
        assert result.code == 0, (name, result.err)
        if name != "report":
            warning = "WARNING: Nothing shows whether cards of cards.jsonl were changed"
            assert warning in result.out, name
    assert "|cards:unverified|" in results["gate"].out
    assert "cards:unverified" in (folder / "r.md").read_text("utf-8")


def test_near_misses_of_cards_without_hashes_say_so(folder: Path) -> None:
    forget_cards_manifest(folder)
    out = folder / "near.jsonl"
    done = run_epoche(
        "near-miss", "--cards", folder / "cards.jsonl", "--domain", "rivers", "--num", 4,
        "--out", out,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads(out.with_name("near.manifest.json").read_bytes())["unverified"] == [
        "cards.jsonl"
    ]


def add_graph_line(folder: Path) -> None:
    with (folder / "cards.graph.nt").open("a", encoding="utf-8") as graph:
        graph.write("<http://x.example/a> <http://x.example/b> <http://x.example/c> .\n")


UNPROVED: dict[str, Change] = {
    "manifest of the cards removed": forget_cards_manifest,
    "graph removed": lambda folder: (folder / "cards.graph.nt").unlink(),
    "a line added to the graph": add_graph_line,
}


@pytest.mark.parametrize("change", UNPROVED)
def test_labels_that_cannot_be_proved_are_no_agreement(folder: Path, change: str) -> None:
    UNPROVED[change](folder)
    for path in (folder / "kg.jsonl", folder / "cards.jsonl"):
        done = run_epoche("verify", path)
        check_error_line(done, 3)
        assert f"{path} (cards): agrees" not in done.out
        report = run_epoche("verify", path, "--json")
        assert json.loads(report.out)["agrees"] is False
        without_proofs = run_epoche("verify", path, "--no-proofs")
        assert without_proofs.code == 0, without_proofs.err


def test_a_changed_graph_hides_no_labels_that_the_cards_refute(folder: Path) -> None:
    chain(swap_labels, exchange_proofs, forge_all, add_graph_line)(folder)
    for path in (folder / "kg.jsonl", folder / "cards.jsonl"):
        done = run_epoche("verify", path)
        check_error_line(done, 39)
        assert "labels not checked: the graph changed after the cards were made" in done.out
        assert "proved over the card" in done.out


def write_predictions(folder: Path, name: str, rows: list[Row]) -> str:
    write_lines(folder / f"{name}.predictions.jsonl", rows)
    return f"{name}={folder / name}.predictions.jsonl"


def test_repeats_of_one_file_of_predictions_say_nothing_of_the_others(folder: Path) -> None:
    ids = [card["id"] for card in read_lines(folder / "cards.jsonl")]
    once = [{"id": card_id, "pred": "UNKNOWN"} for card_id in ids]
    repeated = [{**row, "repeat": number} for number in range(5) for row in once][:-1]
    out = folder / "scored.jsonl"
    files = (("once", once), ("repeated", repeated))
    flags = [("--predictions", write_predictions(folder, *file)) for file in files]
    done = run_epoche(
        *("score", "--cards", folder / "cards.jsonl", *chain_flags(flags), "--out", out),
        *("--resamples", 100),
    )
    assert done.code == 0, done.err
    rows = Counter((row["system"], row["pred"]) for row in read_lines(out))
    assert rows == {
        ("once", "UNKNOWN"): 12, ("repeated", "UNKNOWN"): 59, ("repeated", "ERROR"): 1
    }  # fmt: skip
    assert run_epoche("verify", out).code == 0
    compared = run_epoche("compare", out, *FEW, "--out", folder / "c.json")
    assert compared.code == 0, compared.err
    change = read_lines(out)
    write_lines(out, [row for row in change if row["system"] != "once" or row["label"] != "U"])
    check_error_line(run_epoche("metrics", out, *FEW, "--out", folder / "m.json"), CHANGED)


def chain_flags(flags: list[tuple[str, str]]) -> list[str]:
    return [part for flag in flags for part in flag]


def test_signatures_say_what_was_given_and_what_was_asked(folder: Path) -> None:
    """A run scored from someone's predictions, a shard, and a limited run are told from others."""
    cards = ("--cards", folder / "cards.jsonl")
    paths = {
        detail: folder / f"{detail[:5]}.jsonl"
        for detail in ("predictions:given", "shard:2/2", "limit:5", "rag")
    }
    eval_rag = ("eval", *cards, "--system", "rag", "--out")
    scored = paths["predictions:given"]
    for command in (
        ("score", *cards, "--predictions", folder / "rag.jsonl", *FEW, "--out", scored),
        (*eval_rag, paths["shard:2/2"], "--shard", "2/2"),
        (*eval_rag, paths["limit:5"], "--limit", 5),
        (*eval_rag, paths["rag"], "--limit", 500),
    ):
        done = run_epoche(*command)
        assert done.code == 0, done.err
    for detail, path in paths.items():
        gated = run_epoche("gate", path, "--metric", "LA>=0", *FEW)
        signature = gated.out.splitlines()[-1]
        for other in paths:
            assert (f"|{other}|" in signature) == (other == detail != "rag"), signature


def test_a_cut_file_without_a_manifest_is_not_compared(folder: Path) -> None:
    keep_passing_rows(folder)
    results = run_all(folder)
    assert "has no answer to" in check_error_line(results["compare"], 14)
    compared = run_all(folder, "--cards", folder / "cards.jsonl")["compare"]
    assert compared.code == 0, compared.err
    report = json.loads((folder / "new" / "c.json").read_bytes())
    assert report["n_cards"] == 12
    assert any("missing from kg and count as failed calls" in note for note in report["notes"])
    limited = folder / "limited.jsonl"
    eval_kg = ("eval", "--cards", folder / "cards.jsonl", "--system", "kg", "--limit", 6)
    assert run_epoche(*eval_kg, "--out", limited).code == 0
    for flags in ((), ("--common",)):
        files = (limited, folder / "rag.jsonl") if not flags else (folder / "kg.jsonl", limited)
        compared = run_epoche("compare", *files, *FEW, *flags, "--out", folder / "c.json")
        assert compared.code == 0, compared.err


def test_the_recorded_hash_is_the_right_one(folder: Path) -> None:
    manifest = json.loads((folder / "kg.manifest.json").read_bytes())
    set_fields(slice(1), latency_s=0.5)(folder)
    done = run_epoche("verify", folder / "kg.jsonl")
    assert "kg.jsonl:1: line is another, should be the line that the run wrote" in done.out
    write_edited_manifest(folder / "kg.manifest.json", {**manifest, "line_digests": {}})
    done = run_epoche("verify", folder / "kg.jsonl")
    changed = sha256_file(folder / "kg.jsonl")
    recorded = manifest["rows_sha256"]
    assert f"kg.jsonl: rows_sha256 is {changed}, should be {recorded}" in done.out
    edit_card(folder, question="Does it rain?")
    for path in (folder / "kg.jsonl", folder / "cards.jsonl"):
        done = run_epoche("verify", path)
        changed, recorded = (
            hash_card_set(read_cards(folder / "cards.jsonl")),
            manifest["cards_sha256"],
        )
        assert f"cards.jsonl: cards_sha256 is {changed}, should be {recorded}" in done.out


def test_another_hash_in_the_manifest_of_the_cards_is_found_by_verify(folder: Path) -> None:
    edit_manifest(folder, "cards", cards_sha256="0" * 64)
    done = run_epoche("verify", folder / "kg.jsonl")
    assert "its manifest is of card set 000000000000" in check_error_line(done, CHANGED)
    check_verified_cards(folder, "should be 0000")


def test_an_edited_manifest_of_cards_is_not_made_readable_by_the_message(folder: Path) -> None:
    edit_manifest_carelessly(folder, "cards", domain="other")
    line = check_error_line(run_epoche("verify", folder / "cards.jsonl"), CHANGED)
    assert "content_sha256" not in line


def find_warnings(result: CommandResult) -> list[str]:
    return [line for line in result.err.splitlines() if "rows:unverified" in line]


def test_rows_without_a_manifest_are_scored_with_one_warning(folder: Path) -> None:
    assert not any(find_warnings(result) for result in run_all(folder).values())
    (folder / "kg.manifest.json").unlink()
    for name, result in run_all(folder, "--cards", folder / "cards.jsonl").items():
        assert result.code == 0, (name, result.err)
        (warning,) = find_warnings(result)
        assert warning.startswith("warning: ")
        assert "kg.manifest.json is missing" in warning
        assert "or run again" in warning


def test_a_file_whose_manifest_is_gone_stays_a_result_of_its_folder(folder: Path) -> None:
    """`rag` fails the gate, and still does without its manifest beside `kg`, which has one."""
    gate = ("gate", folder, "--metric", "accuracy>=0.99", *FEW)
    for flags in ((), ("--cards", folder / "cards.jsonl")):
        gated = run_epoche(*gate, *flags)
        assert gated.code == 100, gated.err
        assert "FAIL  rag" in gated.out
        (folder / "rag.manifest.json").unlink(missing_ok=True)
    assert "rag.jsonl has no manifest" in check_error_line(run_epoche(*gate), 1)
    (folder / "rag.manifest.json").write_text('{"results": "rag.js', "utf-8")
    gated = run_epoche(*gate)
    assert "rag.manifest.json" in check_error_line(gated, 1)


def keep_passing_rows(folder: Path) -> None:
    """Keeps the passing rows of a run that has others, and removes its manifest."""
    keep_passing(folder)
    (folder / "kg.manifest.json").unlink()


def test_rows_removed_with_the_manifest_are_errors_if_the_cards_are_named(folder: Path) -> None:
    keep_passing_rows(folder)
    n_removed = 2 * len(read_lines(folder / "cards.jsonl")) - len(read_lines(folder / "kg.jsonl"))
    assert n_removed > 0
    gated = run_epoche("gate", folder / "kg.jsonl", "--metric", "accuracy>=0.9", *FEW)
    assert "rows were removed" in check_error_line(gated, 1)
    results = run_all(folder, "--cards", folder / "cards.jsonl")
    assert results["gate"].code == 100
    assert "FAIL  kg  error_rate" in results["gate"].out
    assert results["metrics"].code == 0, results["metrics"].err
    report = json.loads((folder / "new" / "metrics.json").read_bytes())
    assert report["policies"]["licensed"]["systems"]["kg"]["counts"]["ERROR"] == n_removed
    (note,) = [note for note in report["notes"] if "missing from" in note]
    assert note == (
        f"{n_removed} rows are missing from kg and count as failed calls: the run is without a "
        "manifest."
    )
    assert results["report"].code != 0  # its metrics are of the whole run


def test_rows_removed_with_the_manifest_are_left_out_only_on_request(folder: Path) -> None:
    keep_passing_rows(folder)
    flags = ("--cards", folder / "cards.jsonl", "--common", *FEW, "--out", folder / "m.json")
    done = run_epoche("metrics", folder / "kg.jsonl", *flags)
    assert done.code == 0, done.err
    report = json.loads((folder / "m.json").read_bytes())
    assert report["policies"]["licensed"]["systems"]["kg"]["counts"]["ERROR"] == 0
    assert any("have no result; they do not count" in note for note in report["notes"])


def test_a_run_that_goes_on_is_scored_with_a_warning(folder: Path) -> None:
    edit_manifest(folder, status="running")
    for name, result in run_all(folder).items():
        assert result.code == 0, (name, result.err)
        (warning,) = find_warnings(result)
        assert "not finished" in warning


def test_foreign_logs_are_scored_with_a_warning_that_fits_them(folder: Path) -> None:
    for name in ("kg", "rag"):
        (folder / f"{name}.manifest.json").unlink()
        write_lines(
            folder / f"{name}.jsonl",
            [
                {key: row[key] for key in ("id", "system", "gold", "label", "pred")}
                for row in read_lines(folder / f"{name}.jsonl")
                if not row.get("repeat")
            ],
        )
    metrics = ("metrics", folder / "kg.jsonl", *FEW, "--out", folder / "metrics.json")
    assert run_epoche(*metrics).code == 0
    for name, result in run_all(folder, "--cards", folder / "cards.jsonl").items():
        assert result.code == 0, (name, result.err)
        warnings = find_warnings(result)
        assert len(warnings) == (2 if name == "compare" else 1)
        for warning in warnings:
            assert "another program wrote them" in warning
            assert "is missing" not in warning
            assert "run again" not in warning


def test_copies_in_another_card_file_are_found(folder: Path) -> None:
    n_cards = len(read_lines(folder / "cards.jsonl"))
    chain(copy_cards, forge_all)(folder)
    cards = read_lines(folder / "cards.jsonl")
    parts = folder / "originals.jsonl", folder / "copies.jsonl"
    for path, part in zip(parts, (cards[:n_cards], cards[n_cards:]), strict=True):
        write_lines(path, part)
    flags = [flag for path in parts for flag in ("--cards", path)]
    metrics = ("metrics", folder / "kg.jsonl", *FEW, "--out", folder / "m.json", *flags)
    message = check_error_line(run_epoche(*metrics), CHANGED)
    assert "copies.jsonl:1" in message
    assert f"in line 1 of {parts[0]}" in message
    accepted = run_epoche(*metrics, "--allow-changed")
    assert accepted.code == 0, accepted.err
    assert "WARNING: Accepted with --allow-changed: card 'copy0'" in accepted.out
    gated = run_epoche("gate", folder / "kg.jsonl", "--metric", "LA>=0", *FEW, *flags)
    page = ("--metrics", folder / "m.json", "--formats", "md", "--out", folder / "r.html")
    reported = run_epoche("report", folder / "kg.jsonl", *page, *flags)
    for result, code in ((gated, 1), (reported, CHANGED)):
        assert "a copy of card" in check_error_line(result, code)
    joined = run_epoche("join", *parts, "--out", folder / "joined.jsonl")
    assert joined.code == 0, joined.err
    assert "'copy0'" in joined.err
    assert f"and {len(cards) - n_cards - 1} more" in joined.err


COPY_CHANGES: dict[str, Callable[[Row], Row]] = {
    "spaces in the question": lambda card: {"question": card["question"].replace(" ", "  ") + " "},
    "case of the question": lambda card: {"question": card["question"].upper()},
    "no question mark": lambda card: {"question": card["question"].removesuffix("?") + " !"},
    "another question": lambda card: {"question": f"Is it so? {card['question']}"},
    "a rule more": lambda card: {"rules": [*card["rules"], "A river is a river."]},
    "a fact twice": lambda card: {"facts": [*card["facts"], card["facts"][0].lower()]},
    "spaces in a fact": lambda card: {"facts": [f"{card['facts'][0]}\u00a0", *card["facts"][1:]]},
    "another claim": lambda card: {"claim": {**card["claim"], "obj": "http://x.example/o"}},
}


@pytest.mark.parametrize("change", COPY_CHANGES)
def test_copies_in_other_words_are_found(folder: Path, change: str) -> None:
    cards = read_lines(folder / "cards.jsonl")
    copies = [{**card, **COPY_CHANGES[change](card), "id": f"copy{card['id']}"} for card in cards]
    write_lines(folder / "cards.jsonl", [*cards, *copies])
    forge_all(folder)
    check_verified_cards(
        folder, f"cards.jsonl:{len(cards) + 1}: card 'copy{cards[0]['id']}': facts"
    )
    (folder / "cards.manifest.json").unlink()
    rows = folder / "rows.jsonl"
    asked = run_epoche("eval", "--cards", folder / "cards.jsonl", "--system", "rag", "--out", rows)
    assert asked.code == 0, asked.err
    measured = run_epoche("metrics", rows, *FEW, "--out", folder / "m.json")
    assert "is a copy of card" in check_error_line(measured, CHANGED)


def test_numbers_and_symbols_tell_cards_apart(folder: Path) -> None:
    card, *_ = read_lines(folder / "cards.jsonl")
    texts = ("1.5", "15", "-15", "1,5", "C", "C++", "C#", "I/O", "IO", "ä", "ö", "川", "河")
    texts += ("2:1", "21", "10²", "102")
    claims = [{**card["claim"], "obj": f"http://x.example/{text}"} for text in texts]
    write_lines(
        folder / "other.jsonl",
        [
            {**card, "id": text, "claim": claim, "question": f"Is it {text}?"}
            for text, claim in zip(texts, claims, strict=True)
        ],
    )
    assert not list(find_card_problems([folder / "other.jsonl"]))


def test_case_tells_cards_apart_where_labels_differ(folder: Path) -> None:
    card, *_ = read_lines(folder / "cards.jsonl")
    card |= {"proof": None, "meta": {}}
    asked = [("5 mW", "E", "YES"), ("5 MW", "C", "NO"), ("5 Mw", "C", "NO")]
    write_lines(
        folder / "other.jsonl",
        [
            {**card, "id": text, "label": label, "gold": gold, "question": f"Is it {text}?"}
            | {"claim": {**card["claim"], "obj": f"http://x.example/{text}"}}
            for text, label, gold in asked
        ],
    )
    problems = list(find_card_problems([folder / "other.jsonl"]))
    assert [(problem.id, problem.field) for problem in problems] == [("5 Mw", "facts and question")]


def test_subjects_in_several_clusters_are_found_by_verify(folder: Path) -> None:
    cards = read_lines(folder / "cards.jsonl")
    for number, card in enumerate(cards):
        card["cluster"] += str(number)
    write_lines(folder / "cards.jsonl", cards)
    forge_all(folder)
    check_verified_cards(folder, f"cluster is {cards[0]['cluster']}, should be ")


def test_a_swap_in_a_few_cards_is_found_whatever_the_order(folder: Path) -> None:
    cards = read_lines(folder / "cards.jsonl")
    random.Random(3).shuffle(cards)
    write_lines(folder / "cards.jsonl", cards)
    number = next(n for n, card in enumerate(cards) if card["label"] == "C")
    swap_labels(folder, slice(number, number + 1))
    forge_all(folder)
    message = check_error_line(run_all(folder)["metrics"], CHANGED)
    assert f"cards.jsonl:{number + 1}" in message
    assert "label is E, should be C" in message


@pytest.mark.parametrize("tampering", ["last row removed", "raw edited", "flipped with pass"])
def test_changed_rows_are_not_resumed(folder: Path, tampering: str) -> None:
    TAMPERINGS[tampering](folder)
    before = (folder / "kg.jsonl").read_bytes()
    cards = ("--cards", folder / "cards.jsonl")
    done = run_epoche("eval", *cards, "--system", "kg", "--repeat", 2, "--out", folder / "kg.jsonl")
    assert "after the last session" in check_error_line(done, CHANGED)
    assert (folder / "kg.jsonl").read_bytes() == before


def check_recorded_change(folder: Path, name: str, change: str) -> None:
    """Checks that all readers of a run say that changed rows were accepted when it was made."""
    manifest = json.loads((folder / f"{name}.manifest.json").read_bytes())
    assert manifest["accepted_changes"] == [change]
    out = folder / "metrics.json"
    done = run_epoche("metrics", folder / f"{name}.jsonl", *FEW, "--out", out)
    assert done.code == 0, done.err
    accepted = "Accepted with --allow-changed when the run was resumed or merged"
    assert f"WARNING: {accepted}: {change}." in done.out
    report = json.loads(out.read_bytes())
    signature = report["policies"]["licensed"]["systems"]["kg"]["metrics"]["skill@.5"]["signature"]
    assert "|rows:changed|" in signature
    gated = run_epoche("gate", folder / f"{name}.jsonl", "--metric", "skill@.5>=-9", *FEW)
    assert "Accepted with --allow-changed" in gated.out
    reported = run_epoche(
        "report", folder / f"{name}.jsonl", "--formats", "md", "--out", folder / "r.html"
    )
    assert reported.code == 0, reported.err
    assert "Warning:** Accepted with" in (folder / "r.md").read_text("utf-8")


@pytest.mark.parametrize("tampering", ["last row removed", "raw edited", "flipped with pass"])
def test_changed_rows_are_resumed_with_a_mark(folder: Path, tampering: str) -> None:
    TAMPERINGS[tampering](folder)
    n_rows = len(read_lines(folder / "kg.jsonl"))
    resume = ("eval", "--cards", folder / "cards.jsonl", "--system", "kg", "--repeat", 2)
    done = run_epoche(*resume, "--out", folder / "kg.jsonl", "--allow-changed")
    assert done.code == 0, done.err
    assert "warning: Accepted with --allow-changed: kg.jsonl changed after the last" in done.err
    assert f"({n_rows} were there already)" in done.out
    # A later session finds nothing changed, and keeps the mark.
    again = run_epoche(*resume, "--out", folder / "kg.jsonl")
    assert again.code == 0, again.err
    check_recorded_change(folder, "kg", "kg.jsonl changed after the last session of the run")


def test_changed_shards_are_not_merged(folder: Path) -> None:
    shards = [folder / f"s{n}.jsonl" for n in (1, 2)]
    for number, shard in enumerate(shards, start=1):
        flags = ("--system", "kg", "--shard", f"{number}/2", "--out", shard)
        assert run_epoche("eval", "--cards", folder / "cards.jsonl", *flags).code == 0
    rows = read_lines(shards[1])
    rows[0]["raw"] = "changed"
    write_lines(shards[1], rows)
    merged = run_epoche("merge", *shards, "--out", folder / "merged.jsonl")
    assert "s2.jsonl:1" in check_error_line(merged, CHANGED)
    assert not (folder / "merged.jsonl").exists()
    merged = run_epoche("merge", *shards, "--out", folder / "merged.jsonl", "--allow-changed")
    assert merged.code == 0, merged.err
    assert "warning: Accepted with --allow-changed: s2.jsonl changed after the run" in merged.err
    change = "the first difference: line is another, should be the line that the run wrote"
    check_recorded_change(folder, "merged", f"s2.jsonl changed after the run; {change}")


def test_rows_without_a_hash_get_none_by_being_merged_or_resumed(folder: Path) -> None:
    """Otherwise changed rows would look like those of a run after one more command."""
    eval_kg = ("eval", "--cards", folder / "cards.jsonl", "--system", "kg")
    for number in (1, 2):
        out = folder / f"s{number}.jsonl"
        assert run_epoche(*eval_kg, "--shard", f"{number}/2", "--out", out).code == 0
    edit_manifest(folder, "s1", rows_sha256=None)
    merged = folder / "merged.jsonl"
    shards = (folder / "s1.jsonl", folder / "s2.jsonl")
    assert run_epoche("merge", *shards, "--out", merged).code == 0
    TAMPERINGS["all answers right"](folder)
    edit_manifest(folder, rows_sha256=None)
    resumed = run_epoche(*eval_kg, "--repeat", 2, "--out", folder / "kg.jsonl")
    assert resumed.code == 0, resumed.err
    for path in (merged, folder / "kg.jsonl"):
        done = run_epoche("metrics", path, *FEW, "--out", folder / "m.json")
        assert done.code == 0, done.err
        assert "(rows:unverified)" in done.out


def forge_copy(folder: Path, **changes: object) -> Path:
    """Copies the results of ``rag`` under another name, with a manifest that fits."""
    rows = [{**row, "system": "better", **changes} for row in read_lines(folder / "rag.jsonl")]
    write_lines(folder / "better.jsonl", [dict(reversed(row.items())) for row in reversed(rows)])
    manifest = json.loads((folder / "rag.manifest.json").read_bytes())
    (folder / "better.manifest.json").write_text(json.dumps(manifest), "utf-8")
    hashes = {"rows_sha256": sha256_file(folder / "better.jsonl")}
    edit_manifest(folder, "better", system="better", systems=["better"], **hashes)
    return folder / "better.jsonl"


def test_a_copy_of_a_system_under_another_name_is_said(folder: Path) -> None:
    """Neither other latencies nor another order of rows and keys hide it."""
    copy, rag, out = forge_copy(folder, latency_s=0.25), folder / "rag.jsonl", folder / "m.json"
    warning = "better and rag gave the same replies, word for word, to all cards"
    done = run_epoche("metrics", rag, copy, *FEW, "--out", out)
    assert f"WARNING: {warning}" in done.out.replace("rag and better", "better and rag")
    assert "|systems:alike|" in out.read_text("utf-8")
    reported = run_epoche(
        *("report", rag, copy, "--metrics", out, "--formats", "md", "--out", folder / "r.html")
    )
    assert reported.code == 0, reported.err
    assert "systems:alike" in (folder / "r.md").read_text("utf-8")
    for files in ((rag, folder / "kg.jsonl"), (rag, forge_copy(folder, raw="another"))):
        compared = run_epoche("compare", *files, *FEW, "--out", folder / "c.json")
        assert compared.code == 0, compared.err
        assert "systems:alike" not in (folder / "c.json").read_text("utf-8")


def test_rows_of_a_run_that_asked_some_cards_must_be_of_these(folder: Path) -> None:
    """Who keeps the passing rows can forge the limit, but not which cards come first."""
    rag = folder / "rag.jsonl"
    rows = read_lines(rag)
    kept = rows[-6:]
    write_lines(rag, kept)
    counts = Counter(row["pred"] for row in kept)
    edit_manifest(folder, "rag", limit=6, counts=counts, rows_sha256=sha256_file(rag))
    measured = run_epoche("metrics", rag, *FEW, "--out", folder / "m.json")
    gated = run_epoche("gate", rag, "--metric", "LA>=0", *FEW)
    for done, code in ((measured, CHANGED), (gated, 1)):
        assert "asked only the first 6 cards" in check_error_line(done, code)


def test_rows_of_a_system_that_the_run_did_not_ask_are_refused(folder: Path) -> None:
    chain(set_fields(slice(None), system="better"), forge_hashes)(folder)
    line = check_error_line(
        run_epoche("metrics", folder / "kg.jsonl", *FEW, "--out", folder / "m.json"), CHANGED
    )
    assert "has rows of 'better', and its run is of kg" in line


def test_another_graph_that_the_manifest_does_not_admit_is_said(folder: Path) -> None:
    edit_manifest(folder, graph_sha256="0" * 64)
    done = run_epoche("metrics", folder / "kg.jsonl", *FEW, "--out", folder / "m.json")
    assert "(graph:00000000)" in done.out


def test_proofs_worded_by_an_edited_graph_are_said(folder: Path) -> None:
    graph = folder / "cards.graph.nt"
    graph.write_text(graph.read_text("utf-8").replace("Rhine", "Main"), "utf-8")
    report = ("report", folder / "kg.jsonl", "--metrics", folder / "metrics.json")
    done = run_epoche(*report, "--formats", "md", "--out", folder / "r.html")
    assert done.code == 0, done.err
    assert "worded by another graph" in (folder / "r.md").read_text("utf-8")


def test_results_that_vanished_from_a_folder_are_named(folder: Path) -> None:
    (folder / "rag.jsonl").unlink()
    done = run_epoche("metrics", folder, *FEW, "--out", folder / "m.json")
    assert done.code == 0, done.err
    assert "rag.manifest.json is of results that are not there" in done.err


# Records of computed numbers.


def edit_number(path: Path, change: Callable[[Row], object]) -> None:
    record = json.loads(path.read_bytes())
    change(record)
    path.write_text(json.dumps(record), "utf-8")


def flatter(record: Row) -> None:
    record["policies"]["licensed"]["systems"]["kg"]["metrics"]["skill@.5"]["low"] = 0.999


def report_kg(folder: Path, *flags: object) -> CommandResult:
    out = ("--formats", "md", "--out", folder / "r.html")
    return run_epoche("report", folder / "kg.jsonl", *out, *flags)


def test_edited_metrics_are_refused_or_said_in_the_report(folder: Path) -> None:
    edit_number(folder / "metrics.json", flatter)
    line = check_error_line(report_kg(folder), CHANGED)
    assert "metrics.json were changed after it was computed" in line
    assert report_kg(folder, "--allow-changed").code == 0
    assert "metrics:changed" in (folder / "r.md").read_text("utf-8")
    edit_number(folder / "metrics.json", lambda record: record.pop("content_sha256"))
    assert report_kg(folder).code == 0
    assert "metrics:unverified" in (folder / "r.md").read_text("utf-8")


def test_a_reformatted_record_is_the_same_record(folder: Path) -> None:
    metrics = folder / "metrics.json"
    metrics.write_text(json.dumps(json.loads(metrics.read_bytes()), sort_keys=True), "utf-8")
    done = report_kg(folder)
    assert done.code == 0, done.err
    assert "metrics:" not in (folder / "r.md").read_text("utf-8")


@pytest.mark.parametrize("flags", [(), ("--allow-changed",)])
def test_metrics_of_other_rows_are_refused(folder: Path, flags: tuple[str, ...]) -> None:
    """The number of rows is the same, and without the manifest nothing else tells the states."""
    TAMPERINGS["flipped with pass"](folder)
    (folder / "kg.manifest.json").unlink()
    line = check_error_line(report_kg(folder, "--cards", folder / "cards.jsonl", *flags), 14)
    assert "not computed from these rows: kg.jsonl changed since" in line


def test_metrics_of_rows_in_other_files_are_refused(folder: Path) -> None:
    both, metrics = folder / "both.jsonl", folder / "both.json"
    files = (folder / "kg.jsonl", folder / "rag.jsonl")
    assert run_epoche("metrics", *files, *FEW, "--common", "--out", metrics).code == 0
    both.write_bytes(b"".join(path.read_bytes() for path in files))
    flags = ("--cards", folder / "cards.jsonl", "--metrics", metrics, "--out", folder / "r.html")
    line = check_error_line(run_epoche("report", both, *flags), 14)
    assert "both.jsonl changed since, or is another file" in line


# Run folders of the other benchmarks.


@pytest.fixture(scope="module", params=["retrieval", "skn", "extraction", "synthlink"])
def whole_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp(request.param) / "run"
    done = run_epoche(
        *(a for a in FOLDER_COMMANDS[request.param] if a != "--no-score"), "--out", run
    )
    assert done.code == 0, done.err
    (run.parent / "name.json").write_text(json.dumps(request.param))
    return run


def change_file(run: Path, name: str, change: Callable[[list[Row]], list[Row]]) -> None:
    write_lines(run / name, change(read_lines(run / name)))


def edit_run_manifest(run: Path, change: Callable[[Row], object]) -> None:
    path = next(p for p in (run / "run_manifest.json", run / "manifest.json") if p.exists())
    manifest = json.loads(path.read_bytes())
    change(manifest)
    write_edited_manifest(path, manifest)


def edit_run_manifest_carelessly(run: Path) -> None:
    path = next(p for p in (run / "run_manifest.json", run / "manifest.json") if p.exists())
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "seed": 7}), "utf-8")


def increase_count(manifest: Row) -> None:
    name = next(iter(manifest["counts"]))
    manifest["counts"][name] += 1


FOLDER_TAMPERINGS: dict[str, Change] = {
    "first row removed": partial(change_file, name="rows.jsonl", change=lambda rows: rows[1:]),
    "last row removed": partial(change_file, name="rows.jsonl", change=lambda rows: rows[:-1]),
    "a row doubled": partial(change_file, name="rows.jsonl", change=lambda rows: [*rows, rows[0]]),
    "rows reversed": partial(change_file, name="rows.jsonl", change=lambda rows: rows[::-1]),
    "a foreign row": partial(
        change_file,
        name="rows.jsonl",
        change=lambda rows: [{**rows[0], "id": "nobody"}, *rows[1:]],
    ),
    "a reply removed": partial(change_file, name="replies.jsonl", change=lambda rows: rows[:-1]),
    "a reply edited": partial(
        change_file,
        name="replies.jsonl",
        change=lambda rows: [{**rows[0], "raw": "edited"}, *rows[1:]],
    ),
    "votes added": lambda run: (run / "votes.jsonl").write_text("", "utf-8") and None,
    "replies removed": lambda run: (run / "replies.jsonl").unlink(),
    "stale counts": partial(edit_run_manifest, change=increase_count),
    "another seed": edit_run_manifest_carelessly,
    "stale hash": partial(
        edit_run_manifest, change=lambda m: m["files_sha256"].update({"rows.jsonl": "0" * 64})
    ),
    "no hash of the rows": partial(
        edit_run_manifest, change=lambda m: m["files_sha256"].pop("rows.jsonl")
    ),
}


@pytest.fixture
def run(whole_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole_run, whole_run.with_name(tmp_path.name))


def run_all_on_folder(run: Path, *flags: object) -> dict[str, CommandResult]:
    new = run.with_name(f"{run.name}-new")
    return {
        "metrics": run_epoche("metrics", run, *FEW, *flags),
        "compare": run_epoche("compare", run, *FEW, "--out", new / "c.json", *flags),
        "gate": run_epoche("gate", run, "--metric", "error_rate<=1", *FEW, *flags),
        "report": run_epoche("report", run, "--out", new / "r.html", "--formats", "md", *flags),
        "power": run_epoche("power", run, "--effect", 0.1, *flags),
    }


def test_an_unchanged_run_is_read(run: Path) -> None:
    results = run_all_on_folder(run)
    assert {name for name, done in results.items() if done.code == CHANGED} == set()
    assert (results["metrics"].code, results["report"].code) == (0, 0), results["metrics"].err
    assert "rows:" not in results["metrics"].out


def test_a_run_that_was_asked_fewer_items_fails_the_gate(whole_run: Path, tmp_path: Path) -> None:
    name = json.loads((whole_run.parent / "name.json").read_bytes())
    command = (part for part in FOLDER_COMMANDS[name] if part != "--no-score")
    done = run_epoche(*command, "--limit", 2, "--out", tmp_path / "short")
    assert done.code == 0, done.err
    flags = (*FEW, "--max-drop", 1, "--max-failures", 0.5, "--baseline")
    gated = run_epoche("gate", tmp_path / "short", *flags, whole_run)
    assert gated.code == 100, gated.err
    failed = [line for line in gated.out.splitlines() if line.startswith("FAIL")]
    assert failed
    assert all("coverage of the baseline >= 0.5: " in line for line in failed)
    gated = run_epoche("gate", whole_run, *flags, tmp_path / "short")
    assert "coverage" not in gated.out


@pytest.mark.parametrize("whole_run", ["skn", "extraction"], indirect=True)
def test_edited_numbers_of_a_run_folder_are_refused_or_said(run: Path) -> None:
    page = ("report", run, "--formats", "md", "--out", run.with_name(f"{run.name}.html"))
    original = (run / "metrics.json").read_bytes()
    edit_number(run / "metrics.json", lambda record: record["report"].update(notes=["Best of all"]))
    line = check_error_line(run_epoche(*page), CHANGED)
    assert "metrics.json were changed after it was computed" in line
    accepted = run_epoche(*page, "--allow-changed")
    assert accepted.code == 0, accepted.err
    assert "metrics:changed" in page[-1].with_suffix(".md").read_text("utf-8")  # type: ignore[union-attr]
    (run / "metrics.json").write_bytes(original)
    edit_number(run / "metrics.json", lambda record: forge_rows(record["report"]))
    assert "computed from other rows" in check_error_line(run_epoche(*page), CHANGED)


def forge_rows(record: Row) -> None:
    record["rows_sha256"] = "0" * 64
    record["content_sha256"] = compute_content_digest(record)


@pytest.mark.parametrize("tampering", FOLDER_TAMPERINGS)
def test_a_changed_run_folder_is_refused(run: Path, tampering: str) -> None:
    FOLDER_TAMPERINGS[tampering](run)
    for name, done in run_all_on_folder(run).items():
        assert done.code not in (0, 2, 100), (name, done.out)
        check_error_line(done, done.code)
    assert run_epoche("verify", run).code != 0


def test_a_changed_run_folder_is_accepted_with_a_mark(run: Path) -> None:
    edit_run_manifest(run, increase_count)
    results = run_all_on_folder(run, "--allow-changed")
    assert "|rows:changed|" in results["metrics"].out
    assert "note: Accepted with --allow-changed: counts." in results["metrics"].out
    assert "Accepted with --allow-changed: counts." in results["gate"].out
    page = run.with_name(f"{run.name}-new") / "r.md"
    assert "Accepted with --allow-changed: counts." in page.read_text("utf-8")


@pytest.mark.parametrize("whole_run", ["synthlink"], indirect=True)
@pytest.mark.parametrize("name", ["synthlink_scores.json", "synthlink_answers.jsonl"])
def test_edited_scores_are_refused(run: Path, name: str) -> None:
    path = run / name
    path.write_bytes(path.read_bytes() + b"\n")
    for command, done in run_all_on_folder(run).items():
        if command != "compare":  # of one system
            assert name in check_error_line(done, 1 if command == "gate" else CHANGED)
    accepted = run_all_on_folder(run, "--allow-changed")["metrics"]
    assert "|rows:changed|" in accepted.out


def test_a_run_without_hashes_is_signed_unverified(run: Path) -> None:
    edit_run_manifest(run, lambda manifest: manifest.pop("files_sha256"))
    done = run_epoche("metrics", run, *FEW)
    assert done.code == 0, done.err
    assert "|rows:unverified|" in done.out
    for name, result in run_all_on_folder(run).items():
        if name != "compare":  # which fails where there is only one system
            assert len(find_warnings(result)) == 1, name


def test_a_changed_run_folder_is_not_resumed(run: Path) -> None:
    change_file(run, "replies.jsonl", lambda rows: [{**rows[0], "raw": "edited"}, *rows[1:]])
    command = FOLDER_COMMANDS[json.loads((run.parent / "name.json").read_bytes())]
    done = run_epoche(*command, "--out", run)
    assert "after the last session" in check_error_line(done, CHANGED)
    accepted = run_epoche(*command, "--out", run, "--allow-changed")
    assert accepted.code == 0, accepted.err
    measured = run_epoche("metrics", run, *FEW)
    assert measured.code == 0, measured.err
    assert "|rows:changed|" in measured.out
    assert "note: Accepted with --allow-changed when the run was resumed or merged" in measured.out
