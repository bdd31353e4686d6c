"""Card, result and metrics files that are torn, foreign or mixed up, through the command line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from servers import behaviours as does
from servers.scripted_server import ScriptedServer

sys.path.insert(0, str(Path(__file__).parent))
from stage_calls import epoche, error_line, snapshot

from kg.base import errors

GARBAGE = bytes(range(256)) * 40
TORN = r"last line is torn \(bad\.jsonl:12\)\. .*again"
REPORT = ("report", "--metrics", "metrics.json", "--out", "new.html", "--results")


def fails(shop: Path, code: int, *arguments: object, said: str = "") -> str:
    """Runs a command that must fail with ``code`` and leave every file as it was."""
    before = snapshot(shop)
    line = error_line(epoche(*arguments), code)
    assert snapshot(shop) == before, "a failure changed files"
    assert re.search(said, line), line
    return line


def reading_cards(file: str) -> dict[str, tuple[object, ...]]:
    return {
        "eval": ("eval", "--cards", file, "--system", "always-NO", "--out", "new.jsonl"),
        "audit": ("audit", file),
        "join": ("join", file, "--out", "new.jsonl"),
        "metrics": ("metrics", "--results", "kg.jsonl", "--cards", file, "--out", "new.json"),
        "compare": ("compare", "kg.jsonl", "controls.jsonl", "--cards", file, "--out", "new.json"),
        "report": (*REPORT, "kg.jsonl", "--cards", file),
    }


def reading_results(file: str) -> dict[str, tuple[object, ...]]:
    return {
        "metrics": ("metrics", "--results", file, "--out", "new.json"),
        "compare": ("compare", file, "controls.jsonl", "--out", "new.json"),
        "report": (*REPORT, file, "--cards", "cards.jsonl"),
    }


def first_line_twice(text: str) -> str:
    return text + text.splitlines(keepends=True)[0]


CARD_FILES: dict[str, tuple[Callable[[str], str | bytes], int, str]] = {
    "torn last line": (
        lambda text: text[:-40],
        12,
        r"last line is torn \(bad\.jsonl:12\)\. .*again",
    ),
    "unknown label": (
        lambda text: text.replace('"label":"E"', '"label":"X"', 1),
        12,
        r"'X'.*label.*\(bad\.jsonl:\d+\)\. See `epoche schema card`",
    ),
    "gold against label": (
        lambda text: text.replace('"gold":"YES"', '"gold":"NO"', 1),
        12,
        r"label E needs gold YES \(bad\.jsonl:\d+\)",
    ),
    "duplicate ids": (first_line_twice, 13, r"card id '\w+' occurs twice \(bad\.jsonl\)"),
    "no cards": (lambda text: "\n", 12, "no cards"),
    "not an object": (lambda text: "[1]\n", 12, r"bad\.jsonl:1\)\. See"),
    "deep": (lambda text: "[" * 99_999 + "\n", 12, "nested too deeply"),
    "10 MB line": (lambda text: b'{"id":"' + b"x" * 10**7 + b'"}\n', 12, r"bad\.jsonl:1\)\. See"),
    "endless line": (lambda text: b" " * (17 * 1024**2), 12, "longer than 16777216 bytes"),
    "garbage": (lambda text: GARBAGE, 12, "not JSON"),
}


@pytest.mark.parametrize("case", CARD_FILES)
def test_a_card_file_that_is_none(shop: Path, case: str) -> None:
    change, code, said = CARD_FILES[case]
    changed = change((shop / "cards.jsonl").read_text("utf-8"))
    (shop / "bad.jsonl").write_bytes(changed.encode() if isinstance(changed, str) else changed)
    stages = reading_cards("bad.jsonl")
    for stage in stages if len(changed) < 10**6 else ("eval", "audit"):
        fails(shop, code, *stages[stage], said=said)


RESULT_FILES: dict[str, tuple[Callable[[str], str | bytes], int, str]] = {
    "torn last line": (
        lambda text: text[:-40],
        12,
        r"last line is torn \(bad\.jsonl:12\)\. .*again",
    ),
    "unknown label": (
        lambda text: text.replace('"label":"E"', '"label":"X"', 1),
        12,
        r"'X'.*\(bad\.jsonl:\d+\)\. \w",
    ),
    "answered twice": (first_line_twice, 13, r"answers card '\w+' twice \(bad\.jsonl:13\)\. \w"),
    "mixed card sets": (
        lambda text: text.replace('"cards":"', '"cards":"0000', 1),
        14,
        r"card set \w+.*bad\.jsonl.*\. (Give|Compute)",
    ),
    "no rows": (lambda text: "", 12, r"no (results|rows)|hold no rows"),
    "not an object": (lambda text: "[1]\n", 12, r"bad\.jsonl:1\)\. See"),
    "deep": (lambda text: "[" * 99_999 + "\n", 12, r"bad\.jsonl:1\)\. See"),
    "garbage": (lambda text: GARBAGE, 12, "not JSON"),
}


@pytest.mark.parametrize("case", RESULT_FILES)
def test_a_result_file_that_is_none(shop: Path, case: str) -> None:
    change, code, said = RESULT_FILES[case]
    changed = change((shop / "kg.jsonl").read_text("utf-8"))
    (shop / "bad.jsonl").write_bytes(changed.encode() if isinstance(changed, str) else changed)
    for arguments in reading_results("bad.jsonl").values():
        fails(shop, code, *arguments, said=said)


def test_files_that_are_not_there(shop: Path) -> None:
    for arguments in reading_cards("gone.jsonl").values():
        fails(shop, 3, *arguments, said=r"card file does not exist \(gone\.jsonl\)\. Check")
    for arguments in reading_results("gone.jsonl").values():
        fails(shop, 3, *arguments, said=r"result file does not exist \(gone\.jsonl\)\. Check")
    of_results = reading_results(".")
    del of_results["compare"]  # It takes a folder of runs.
    for arguments in (*reading_cards(".").values(), *of_results.values()):
        fails(shop, 3, *arguments, said="is a folder, not a file")
    fails(shop, 3, *reading_cards("n" * 300)["audit"], said="cannot be reached.*too long")
    report = ("report", "--out", "new.html", "--metrics")
    fails(shop, 3, *report, "gone.json", "--results", "kg.jsonl", said=r"gone\.json\)\. Compute")
    (shop / "alone.jsonl").write_bytes((shop / "kg.jsonl").read_bytes())
    fails(shop, 3, *REPORT, "alone.jsonl", said="pass --cards")


@pytest.mark.parametrize("content", [GARBAGE, b"", b"[]", b'{"a":' + b"[" * 99_999, b"{}"])
def test_a_metrics_file_that_is_none(shop: Path, content: bytes) -> None:
    (shop / "bad.json").write_bytes(content)
    report = ("report", "--results", "kg.jsonl", "--out", "new.html", "--metrics", "bad.json")
    fails(shop, 12, *report, said=r"bad\.json\)\. (Make|Compute)")


def test_results_of_another_card_set(shop: Path) -> None:
    stages = reading_cards("other.jsonl")
    for stage in ("metrics", "compare", "report"):
        fails(shop, 14, *stages[stage], said=r"other\.jsonl|--cards")
    asked = ("eval", "--system", "kg", "--domain", "mayors", "--out", "kg.jsonl", "--cards")
    line = fails(shop, 14, *asked, "other.jsonl")
    assert "cards.jsonl" in line
    assert "--overwrite" in line
    again = ("eval", "--system", "rag", "--domain", "mayors", "--out", "kg.jsonl", "--cards")
    fails(shop, 14, *again, "cards.jsonl", said="another system")
    fails(shop, 14, "compare", "kg.jsonl", "--out", "new.json", said="two systems or more")
    assert epoche(*asked, "cards.jsonl").code == 0, "its own cards still resume"


def test_a_result_file_nobody_knows(shop: Path) -> None:
    asked = ("eval", "--cards", "cards.jsonl", "--system", "always-NO", "--out", "x.jsonl")
    (shop / "x.jsonl").write_text("my diary\n")
    fails(shop, 12, *asked, said=r"x\.manifest\.json is not beside it")
    (shop / "x.manifest.json").write_bytes(GARBAGE)
    fails(shop, 12, *asked, said=r"not a run manifest.*x\.manifest\.json")
    (shop / "x.manifest.json").write_bytes((shop / "kg.manifest.json").read_bytes())
    fails(shop, 14, *asked, said="--overwrite")


@pytest.mark.parametrize("content", [GARBAGE, b"", b"[]", b'{"domain":5}', b"[" * 99_999])
def test_a_card_manifest_that_is_none(shop: Path, content: bytes) -> None:
    (shop / "cards.manifest.json").write_bytes(content)
    asked = ("eval", "--cards", "cards.jsonl", "--system", "kg", "--domain", "mayors")
    said = r"not a card manifest.*cards\.manifest\.json"
    fails(shop, 12, *asked, "--out", "new.jsonl", said=said)


def test_models_that_cannot_be_asked(
    shop: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("eval", "--cards", "cards.jsonl", "--system", "raw", "--out", "new.jsonl", "--model")
    fails(shop, 23, *asked, "nobody/x", said="nobody.*openai")
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    scripted_server.behave([does.status(400, "no such thing as a stream")])
    guard = ("guard", "--ask", "Well?", "--model", f"custom/{scripted_server.model}")
    fails(shop, 24, *guard, "--domain", "mayors", said="no such thing as a stream")


@pytest.mark.extra("dense")
def test_model_weights_that_are_none(shop: Path) -> None:
    (shop / "weights").mkdir()
    asked = ("eval", "--cards", "cards.jsonl", "--system", "nli", "--out", "new.jsonl")
    fails(shop, 25, *asked, "--set", "model=weights", said="holds no model weights")


def test_text_that_is_withheld(shop: Path) -> None:
    (shop / "said.txt").write_text("Vienna had John Tory as its mayor on 1 January 2020.")
    done = epoche("guard", "said.txt", "--domain", "mayors", "--fail")
    assert "[withheld" in done.out
    error_line(done, 29)


def test_runs_that_reach_a_limit_and_shards_that_lack_something(shop: Path) -> None:
    (shop / "costly.py").write_text(
        "from epoche import Answer\n"
        "from eval.result import Usage\n"
        "class Costly:\n"
        "    name = 'costly'\n"
        "    def params(self): return {}\n"
        "    def answer(self, card): return Answer(pred='NO', usage=Usage(1, 1, 0.5))\n"
        "class Down(Costly):\n"
        "    def answer(self, card): raise ConnectionError('refused')\n"
    )
    asked = ("eval", "--cards", "cards.jsonl", "--system")
    costly = (*asked, "costly:Costly", "--out", "costly.jsonl", "--max-cost", "1")
    line = error_line(epoche(*costly), 26)
    assert re.search(r"1\.0000 USD are spent.*higher --max-cost", line), line
    down = (*asked, "costly:Down", "--out", "down.jsonl", "--max-consecutive-errors", "2")
    line = error_line(epoche(*down), 27)
    assert re.search("2 questions in a row ended in ERROR.*--retry-errors", line), line
    assert [Path(name).read_bytes().count(b"\n") for name in ("costly.jsonl", "down.jsonl")] == [
        2,
        2,
    ]
    shard = (*asked, "always-NO", "--out", "s.jsonl", "--shard", "1/2")
    assert epoche(*shard).code == 0
    fails(shop, 28, "merge", "s.jsonl", "--out", "m.jsonl", said="not given: 2/2")


def test_systems_and_settings_that_are_none(shop: Path) -> None:
    asked = ("eval", "--cards", "cards.jsonl", "--out", "new.jsonl", "--system")
    fails(shop, 16, *asked, "kgg", said="Nearest first: kg,")
    fails(shop, 16, *asked, "no.such:System", said="cannot be imported")
    fails(shop, 16, "compare", "kg.jsonl", "controls.jsonl", "--baseline", "x", said="One of kg")
    fails(shop, 19, *asked, "rag", "--domain", "mayors", "--set", "nix=1", said="It has: ")
    line = fails(shop, 19, *asked, "rag", "--set", "api_key=hush", said="environment")
    assert "hush" not in line


def test_an_extra_that_is_not_installed(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    asked = ("eval", "--cards", "cards.jsonl", "--out", "new.jsonl", "--system", "rag")
    dense = ("--domain", "mayors", "--set", "retriever=dense")
    fails(shop, 18, *asked, *dense, said=r"pip install 'epoche\[dense\]'")


def test_cards_whose_labels_show(shop: Path) -> None:
    cards = [json.loads(line) for line in (shop / "cards.jsonl").read_text("utf-8").splitlines()]
    with (shop / "leaky.jsonl").open("w", encoding="utf-8") as handle:
        for number in range(120):
            card = cards[number % len(cards)]
            word = {"E": "surely", "C": "never", "U": "perhaps"}[card["label"]]
            changed = {**card, "id": f"{number}", "cluster": f"c{number}"}
            changed |= {"question": f"{word} {card['question']}", "facts": [f"{number} {word}"]}
            handle.write(json.dumps(changed) + "\n")
    for flag in (("--max-leak", 0.1), ("--fail",)):
        fails(shop, 17, "audit", "leaky.jsonl", *flag, said=r"read off the surface.*leaky\.jsonl")


def test_every_error_class_is_seen_by_a_test() -> None:
    """A class without a test through the command line is a promise nobody has checked."""
    texts = [
        (Path(__file__).parent / name).read_text("utf-8")
        for name in (
            "test_bad_input.py",
            "test_bad_records.py",
            "test_bad_text.py",
            "test_interruptions.py",
        )
    ]
    codes = {
        value.exit_code: name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.EpocheError)
    }
    seen = {
        int(code)
        for text in texts
        for code in re.findall(r"(?:fails\(shop, |, |^        )(\d+)(?:,|\)|$)", text, re.MULTILINE)
    }
    assert {name for code, name in codes.items() if code not in seen} <= {
        "EpocheError",  # These two are raised by name, in the test after this one.
        "ShapesEngineError",
    }


@pytest.mark.parametrize("cls", [errors.EpocheError, errors.ShapesEngineError])
def test_an_engine_that_gives_up(
    shop: Path, monkeypatch: pytest.MonkeyPatch, cls: type[errors.EpocheError]
) -> None:
    def give_up(*arguments: object, **flags: object) -> None:
        raise cls("it gave up", where="shape x:s", hint="Report it.")

    # Nothing a test could write makes pySHACL give up whatever its version.
    monkeypatch.setattr("kg.knowledge.Oracle", give_up)
    code = {errors.EpocheError: 1, errors.ShapesEngineError: 22}[cls]
    fails(shop, code, "kg", "inspect", "--domain", "mayors", said=r"up \(shape x:s\)\. Report")
