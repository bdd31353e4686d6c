"""Tests that commands refuse torn, foreign and mixed-up card, result and metrics files.

docs/reference/exit-codes.md lists the exit codes.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import behaviours
from servers.scripted_server import ScriptedServer

sys.path.insert(0, str(Path(__file__).parent))
from stage_calls import check_error_line, check_failure, run_epoche

from kg.base import errors

GARBAGE = bytes(range(256)) * 40
# The card and result files of the workspace have twelve lines.
TORN_LINE = r"last line is cut off \(bad\.jsonl:12\)\. .*again"
REPORT_COMMAND = ("report", "--metrics", "metrics.json", "--out", "new.html", "--results")


def list_commands_reading_cards(file: str) -> dict[str, tuple[object, ...]]:
    return {
        "eval": ("eval", "--cards", file, "--system", "always-NO", "--out", "new.jsonl"),
        "audit": ("audit", file),
        "join": ("join", file, "--out", "new.jsonl"),
        "metrics": ("metrics", "--results", "kg.jsonl", "--cards", file, "--out", "new.json"),
        "compare": ("compare", "kg.jsonl", "controls.jsonl", "--cards", file, "--out", "new.json"),
        "report": (*REPORT_COMMAND, "kg.jsonl", "--cards", file),
    }


def list_commands_reading_results(file: str) -> dict[str, tuple[object, ...]]:
    return {
        "metrics": ("metrics", "--results", file, "--out", "new.json"),
        "compare": ("compare", file, "controls.jsonl", "--out", "new.json"),
        "report": (*REPORT_COMMAND, file, "--cards", "cards.jsonl"),
    }


def repeat_first_line(text: str) -> str:
    return text + text.splitlines(keepends=True)[0]


CARD_FILES: dict[str, tuple[Callable[[str], str | bytes], int, str]] = {
    "torn last line": (
        lambda text: text[:-40],
        12,
        TORN_LINE,
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
    "duplicate ids": (repeat_first_line, 13, r"card id '\w+' occurs twice \(bad\.jsonl\)"),
    "no cards": (lambda text: "\n", 12, "no cards"),
    "not an object": (lambda text: "[1]\n", 12, r"bad\.jsonl:1\)\. See"),
    "deep": (lambda text: "[" * 99_999 + "\n", 12, "nested too deeply"),
    "10 MB line": (lambda text: b'{"id":"' + b"x" * 10**7 + b'"}\n', 12, r"bad\.jsonl:1\)\. See"),
    "endless line": (lambda text: b" " * (17 * 1024**2), 12, "longer than 16777216 bytes"),
    "garbage": (lambda text: GARBAGE, 12, "not JSON"),
    "prose": (lambda text: "# Cards", 12, r"not JSON: .*bad\.jsonl:1\)\. Each .*the right file"),
}
"""Test case → change of a valid card file, expected exit code, pattern of the message."""


@pytest.mark.parametrize("case", CARD_FILES)
def test_invalid_card_file_is_reported(workspace: Path, case: str) -> None:
    change, code, message = CARD_FILES[case]
    damaged = change((workspace / "cards.jsonl").read_text("utf-8"))
    (workspace / "bad.jsonl").write_bytes(damaged.encode() if isinstance(damaged, str) else damaged)
    stages = list_commands_reading_cards("bad.jsonl")
    # Large files are slow to read, so two commands are enough for them.
    for stage in stages if len(damaged) < 10**6 else ("eval", "audit"):
        check_failure(workspace, code, *stages[stage], message=message)


RESULT_FILES: dict[str, tuple[Callable[[str], str | bytes], int, str]] = {
    "torn last line": (
        lambda text: text[:-40],
        12,
        TORN_LINE,
    ),
    "unknown label": (
        lambda text: text.replace('"label":"E"', '"label":"X"', 1),
        12,
        r"'X'.*\(bad\.jsonl:\d+\)\. \w",
    ),
    "answered twice": (repeat_first_line, 13, r"answers card '\w+' twice \(bad\.jsonl:13\)\. \w"),
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
"""Test case → change of a valid result file, expected exit code, pattern of the message."""


@pytest.mark.parametrize("case", RESULT_FILES)
def test_invalid_result_file_is_reported(workspace: Path, case: str) -> None:
    change, code, message = RESULT_FILES[case]
    damaged = change((workspace / "kg.jsonl").read_text("utf-8"))
    (workspace / "bad.jsonl").write_bytes(damaged.encode() if isinstance(damaged, str) else damaged)
    for arguments in list_commands_reading_results("bad.jsonl").values():
        check_failure(workspace, code, *arguments, message=message)


def test_missing_files_are_reported(workspace: Path) -> None:
    for arguments in list_commands_reading_cards("gone.jsonl").values():
        check_failure(
            workspace, 3, *arguments, message=r"card file does not exist \(gone\.jsonl\)\. Check"
        )
    for arguments in list_commands_reading_results("gone.jsonl").values():
        check_failure(
            workspace, 3, *arguments, message=r"result file does not exist \(gone\.jsonl\)\. Check"
        )
    result_commands = list_commands_reading_results(".")
    for name in ("compare", "metrics", "report"):  # They accept a folder with result files.
        del result_commands[name]
    for arguments in (*list_commands_reading_cards(".").values(), *result_commands.values()):
        check_failure(workspace, 3, *arguments, message="is a folder, not a file")
    check_failure(
        workspace,
        3,
        *list_commands_reading_cards("n" * 300)["audit"],
        message="cannot be reached.*too long",
    )
    report = ("report", "--out", "new.html", "--metrics")
    check_failure(
        workspace,
        3,
        *report,
        "gone.json",
        "--results",
        "kg.jsonl",
        message=r"gone\.json\)\. Compute",
    )
    (workspace / "alone.jsonl").write_bytes((workspace / "kg.jsonl").read_bytes())
    check_failure(
        workspace, 3, *REPORT_COMMAND, "alone.jsonl", message="Pass the card file with --cards"
    )


@pytest.mark.parametrize("content", [GARBAGE, b"", b"[]", b'{"a":' + b"[" * 99_999, b"{}"])
def test_invalid_metrics_file_is_reported(workspace: Path, content: bytes) -> None:
    (workspace / "bad.json").write_bytes(content)
    report = ("report", "--results", "kg.jsonl", "--out", "new.html", "--metrics", "bad.json")
    check_failure(workspace, 12, *report, message=r"bad\.json\)\. (Make|Compute)")


def test_results_of_another_card_set_are_refused(workspace: Path) -> None:
    stages = list_commands_reading_cards("other.jsonl")
    for stage in ("metrics", "compare", "report"):
        check_failure(workspace, 14, *stages[stage], message=r"other\.jsonl|--cards")
    eval_kg = ("eval", "--system", "kg", "--domain", "mayors", "--out", "kg.jsonl", "--cards")
    line = check_failure(workspace, 14, *eval_kg, "other.jsonl")
    assert "cards.jsonl" in line
    assert "--overwrite" in line
    eval_rag = ("eval", "--system", "rag", "--domain", "mayors", "--out", "kg.jsonl", "--cards")
    check_failure(workspace, 14, *eval_rag, "cards.jsonl", message="another system")
    check_failure(
        workspace, 14, "compare", "kg.jsonl", "--out", "new.json", message="at least two systems"
    )
    assert run_epoche(*eval_kg, "cards.jsonl").code == 0, "a run with the same cards can be resumed"


def test_changed_rows_are_refused(workspace: Path) -> None:
    rows = (workspace / "kg.jsonl").read_text("utf-8").splitlines(keepends=True)
    manifest = (workspace / "kg.manifest.json").read_bytes()
    (workspace / "bad.manifest.json").write_bytes(manifest)
    # A whole row less, which no other check notices.
    (workspace / "bad.jsonl").write_text("".join(rows[:-1]), "utf-8")
    message = r"bad\.jsonl changed after the run.*--allow-changed"
    for stage in ("metrics", "compare"):
        command = list_commands_reading_results("bad.jsonl")[stage]
        check_failure(workspace, 40, *command, message=message)
    eval_kg = ("eval", "--system", "kg", "--domain", "mayors", "--cards", "cards.jsonl", "--out")
    check_failure(workspace, 40, *eval_kg, "bad.jsonl", message="after the last session")


def test_foreign_result_file_is_not_overwritten(workspace: Path) -> None:
    eval_command = ("eval", "--cards", "cards.jsonl", "--system", "always-NO", "--out", "x.jsonl")
    (workspace / "x.jsonl").write_text("my diary\n")
    check_failure(workspace, 12, *eval_command, message=r"x\.manifest\.json is missing")
    (workspace / "x.manifest.json").write_bytes(GARBAGE)
    check_failure(workspace, 12, *eval_command, message=r"not a run manifest.*x\.manifest\.json")
    (workspace / "x.manifest.json").write_bytes((workspace / "kg.manifest.json").read_bytes())
    check_failure(workspace, 14, *eval_command, message="--overwrite")


@pytest.mark.parametrize("content", [GARBAGE, b"", b"[]", b'{"domain":5}', b"[" * 99_999])
def test_invalid_card_manifest_is_reported(workspace: Path, content: bytes) -> None:
    (workspace / "cards.manifest.json").write_bytes(content)
    eval_command = ("eval", "--cards", "cards.jsonl", "--system", "kg", "--domain", "mayors")
    message = r"not a card manifest.*cards\.manifest\.json"
    check_failure(workspace, 12, *eval_command, "--out", "new.jsonl", message=message)


def test_unknown_provider_and_failed_call_are_reported(
    workspace: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    eval_command = (
        "eval",
        "--cards",
        "cards.jsonl",
        "--system",
        "raw",
        "--out",
        "new.jsonl",
        "--model",
    )
    check_failure(workspace, 23, *eval_command, "nobody/x", message="nobody.*openai")
    monkeypatch.setenv("EPOCHE_BASE_URL", scripted_server.base_url)
    monkeypatch.setenv("EPOCHE_API_KEY", scripted_server.api_key)
    scripted_server.behave([behaviours.http_error(400, "no such thing as a stream")])
    guard = ("guard", "--ask", "Well?", "--model", f"custom/{scripted_server.model}")
    check_failure(workspace, 24, *guard, "--domain", "mayors", message="no such thing as a stream")


@pytest.mark.extra("dense")
def test_invalid_model_weights_are_reported(workspace: Path) -> None:
    (workspace / "weights").mkdir()
    eval_command = ("eval", "--cards", "cards.jsonl", "--system", "nli", "--out", "new.jsonl")
    message = "contains no model weights"
    check_failure(workspace, 25, *eval_command, "--set", "model=weights", message=message)


def test_guard_reports_withheld_text(workspace: Path) -> None:
    (workspace / "said.txt").write_text("Vienna had John Tory as its mayor on 1 January 2020.")
    result = run_epoche("guard", "said.txt", "--domain", "mayors", "--fail")
    assert "[withheld" in result.out
    check_error_line(result, 29)


def test_run_limits_and_incomplete_shards_are_reported(workspace: Path) -> None:
    (workspace / "costly.py").write_text(
        "from epoche import Answer\n"
        "from eval.abstention.result import Usage\n"
        "class Costly:\n"
        "    name = 'costly'\n"
        "    def params(self): return {}\n"
        "    def answer(self, card): return Answer(pred='NO', usage=Usage(1, 1, 0.5))\n"
        "class Down(Costly):\n"
        "    def answer(self, card): raise ConnectionError('refused')\n"
    )
    eval_command = ("eval", "--cards", "cards.jsonl", "--system")
    costly_command = (*eval_command, "costly:Costly", "--out", "costly.jsonl", "--max-cost", "1")
    line = check_error_line(run_epoche(*costly_command), 26)
    assert re.search(r"1\.0000 USD are spent.*higher --max-cost", line), line
    failing_command = (
        *eval_command,
        "costly:Down",
        "--out",
        "down.jsonl",
        "--max-consecutive-errors",
        "2",
    )
    line = check_error_line(run_epoche(*failing_command), 27)
    assert re.search("2 questions in a row ended in ERROR.*--retry-errors", line), line
    # Two answers for 0.5 USD each reach --max-cost; two errors reach --max-consecutive-errors.
    assert Path("costly.jsonl").read_bytes().count(b"\n") == 2
    assert Path("down.jsonl").read_bytes().count(b"\n") == 2
    shard_command = (*eval_command, "always-NO", "--out", "s.jsonl", "--shard", "1/2")
    assert run_epoche(*shard_command).code == 0
    check_failure(workspace, 28, "merge", "s.jsonl", "--out", "m.jsonl", message="missing: 2/2")


def test_unknown_systems_and_settings_are_reported(workspace: Path) -> None:
    eval_command = ("eval", "--cards", "cards.jsonl", "--out", "new.jsonl", "--system")
    check_failure(workspace, 16, *eval_command, "kgg", message="Did you mean kg?")
    check_failure(workspace, 16, *eval_command, "no.such:System", message="cannot be imported")
    check_failure(
        workspace,
        16,
        "compare",
        "kg.jsonl",
        "controls.jsonl",
        "--baseline",
        "x",
        message="Use one of kg",
    )
    check_failure(
        workspace,
        19,
        *eval_command,
        "rag",
        "--domain",
        "mayors",
        "--set",
        "nix=1",
        message="It has: ",
    )
    line = check_failure(
        workspace, 19, *eval_command, "rag", "--set", "api_key=hush", message="environment"
    )
    assert "hush" not in line


def test_missing_extra_is_reported(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EPOCHE_EMBEDDER", raising=False)
    eval_command = ("eval", "--cards", "cards.jsonl", "--out", "new.jsonl", "--system", "rag")
    dense_options = ("--domain", "mayors", "--set", "retriever=dense")
    for module, model_options, extra in (
        ("safetensors", (), "minilm"),
        ("sentence_transformers", ("--set", "embedder=some/model"), "dense"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        message = rf"pip install 'epoche\[{extra}\]'"
        check_failure(workspace, 18, *eval_command, *dense_options, *model_options, message=message)


def test_audit_reports_cards_with_label_leaks(workspace: Path) -> None:
    cards = [
        json.loads(line) for line in (workspace / "cards.jsonl").read_text("utf-8").splitlines()
    ]
    with (workspace / "leaky.jsonl").open("w", encoding="utf-8") as handle:
        for number in range(120):
            card = cards[number % len(cards)]
            word = {"E": "surely", "C": "never", "U": "perhaps"}[card["label"]]
            leaky_card = {**card, "id": f"{number}", "cluster": f"c{number}"}
            leaky_card |= {"question": f"{word} {card['question']}", "facts": [f"{number} {word}"]}
            handle.write(json.dumps(leaky_card) + "\n")
    for flag in (("--max-leak", 0.1), ("--fail",)):
        check_failure(
            workspace,
            17,
            "audit",
            "leaky.jsonl",
            *flag,
            message=r"predicted from the surface.*leaky\.jsonl",
        )


def test_failed_gate_is_reported(workspace: Path) -> None:
    gate = ("gate", "kg.jsonl", "--metric", "LA<=0", "--resamples", 100)
    check_failure(workspace, 100, *gate, message="1 of 1 checks failed")


def iter_expected_codes(tree: ast.Module) -> Iterator[object]:
    """Yields the exit codes that a test module expects, as literals or in its tables of cases.

    A code is the second argument of ``check_failure`` or ``check_error_line``. If it is a name, the
    name was assigned from a table, as in ``change, code, message = CARD_FILES[case]``.
    """
    tables = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for function in tree.body:
        table_values: dict[str, list[ast.expr]] = defaultdict(list)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
                (target,), table = node.targets, node.value.value
                table = tables.get(table.id) if isinstance(table, ast.Name) else table
                for row in table.values if isinstance(table, ast.Dict) else ():
                    names = target.elts if isinstance(target, ast.Tuple) else [target]
                    items = row.elts if isinstance(row, ast.Tuple) else [row]
                    for name, item in zip(names, items, strict=True):
                        if isinstance(name, ast.Name):
                            table_values[name.id].append(item)
        for node in ast.walk(function):
            match node:
                case ast.Call(
                    func=ast.Name("check_failure" | "check_error_line"), args=[_, code, *_]
                ):
                    code_nodes = table_values[code.id] if isinstance(code, ast.Name) else [code]
                    yield from (item.value for item in code_nodes if isinstance(item, ast.Constant))


def test_changed_results_are_found(workspace: Path) -> None:
    text = (workspace / "kg.jsonl").read_text()
    (workspace / "kg.jsonl").write_text(text.replace('"pass":true', '"pass":false', 1))
    check_failure(workspace, 39, "verify", "kg.jsonl", message="verif|differ")


def test_every_error_class_is_covered_by_a_test() -> None:
    """Every error class must be raised by some test through the command line."""
    names = ("bad_input", "bad_records", "bad_text", "interruptions")
    folder = Path(__file__).parent
    covered_codes = {
        code
        for name in names
        for code in iter_expected_codes(ast.parse((folder / f"test_{name}.py").read_text("utf-8")))
    }
    names_by_code = {
        value.exit_code: name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.EpocheError)
    }
    assert {name for code, name in names_by_code.items() if code not in covered_codes} == set()


@pytest.mark.parametrize("error_class", [errors.EpocheError, errors.ShapesEngineError])
def test_failing_engine_is_reported(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, error_class: type[errors.EpocheError]
) -> None:
    def raise_error(*arguments: object, **flags: object) -> None:
        raise error_class("it gave up", where="shape x:s", hint="Report it.")

    # No input is known to make every version of pySHACL give up, so the failure is injected.
    monkeypatch.setattr("kg.knowledge.Oracle", raise_error)
    code = {errors.EpocheError: 1, errors.ShapesEngineError: 22}[error_class]
    check_failure(
        workspace, code, "kg", "inspect", "--domain", "mayors", message=r"up \(shape x:s\)\. Report"
    )
