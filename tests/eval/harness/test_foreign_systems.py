"""Tests that every benchmark runs anybody's systems, and what becomes of their faults."""

from __future__ import annotations

import gc
import importlib
import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from foreign_cases import CASES, N_ITEMS, Case, read_lines
from reachable_objects import find_reachable_objects
from stage_calls import check_error_line, command_line, run_process

from eval.harness.folder_run import FolderRun
from eval.harness.function_system import FunctionSystem
from eval.harness.reply import REPLIES
from eval.harness.systems import system_registry
from eval.harness.systems.system import is_async
from eval.harness.systems.system_options import SystemOptions
from eval.harness.systems.system_registry import SystemRegistry
from kg.base.errors import SettingError, SystemNotFoundError

MODULE = """
import asyncio
ANSWER = {answer!r}
seen = []

class Mine:
    "A system of a stranger."
    name = "mine"
    closed = 0
    def params(self): return {{"version": 1, "api_key": "sk-abcdefgh12345678"}}
    def answer(self, view):
        seen.append(view)
        return ANSWER

class Slow(Mine):
    name = "slow"
    async def answer(self, view):
        await asyncio.sleep(0)
        return ANSWER
    async def aclose(self): Mine.closed += 1

class Wants(Mine):
    def __init__(self, options): self.name = "wants-" + options.settings["colour"]

class Rubbish(Mine):
    name = "rubbish"
    def answer(self, view): return {{1, 2}}

class Raises(Mine):
    name = "raises"
    def answer(self, view): raise ValueError("token=sk-abcdefgh12345678 is refused")

class Leaves(Mine):
    name = "leaves"
    def answer(self, view): raise SystemExit(0)

class Cancels(Mine):
    name = "cancels"
    async def answer(self, view): raise asyncio.CancelledError

class NoParams:
    name = "none"
    def answer(self, view): return ANSWER

class NoAnswer:
    name = "none"
    def params(self): return {{}}

class Hostile(Mine):
    @property
    def name(self): raise RuntimeError("no name for you")

class BadParams(Mine):
    name = "bad"
    def params(self): raise RuntimeError("no params for you")

class Keyed(Mine):
    def __init__(self, *, x="0"): self.x = x

def make(options): return Mine()
def make_plain(): return Mine()
def fails(options): raise ZeroDivisionError("secret=sk-abcdefgh12345678")
def plain(view): return ANSWER
async def later(view): return ANSWER
def coloured(view, colour="red"):
    if colour != "blue": raise ValueError(colour)
    return ANSWER
def none(): pass
number = 3
"""


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A benchmark; its files are in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    found: Case = CASES[request.param]
    found.prepare()
    return found


@pytest.fixture
def module(case: Case, tmp_path: Path) -> str:
    """The name of a stranger's module in the current folder."""
    name = f"stranger_{abs(hash(str(tmp_path)))}"
    Path(f"{name}.py").write_text(MODULE.format(answer=case.answer))
    return name


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("{}:Mine", "mine"),
        ("{}:Slow", "slow"),
        ("{}:make", "mine"),
        ("callable:{}:plain", "plain"),
        ("callable:{}:later", "later"),
    ],
)
def test_each_way_of_naming_a_system_works(case: Case, module: str, spec: str, name: str) -> None:
    done = case.run_system("--system", spec.format(module))
    assert done.code == 0, done.err
    assert case.read_statuses(name) == ["ok"] * N_ITEMS
    assert importlib.import_module(module).Mine.closed == int(name == "slow")
    again = case.run_system("--system", spec.format(module))
    assert again.code == 0, again.err


def test_settings_reach_systems_and_are_recorded(case: Case, module: str) -> None:
    done = case.run_system("--system", f"{module}:Wants", "--set", "colour=blue")
    assert done.code == 0, done.err
    assert case.read_statuses("wants-blue") == ["ok"] * N_ITEMS
    other = case.run_system("--system", f"{module}:Wants", "--set", "colour=red")
    assert check_error_line(other, 14)
    secret = case.run_system("--system", f"{module}:Wants", "--set", "api_key=x")
    assert check_error_line(secret, 19)


@pytest.mark.parametrize(
    ("name", "taken"), [("Mine", "Mine()"), ("make_plain", "make_plain()"), ("Keyed", "Keyed(*, x")]
)
def test_settings_are_refused_by_what_takes_none(
    case: Case, module: str, name: str, taken: str
) -> None:
    line = check_error_line(case.run_system("--system", f"{module}:{name}", "--set", "x=1"), 19)
    assert "--set x" in line
    assert f"made by {taken}" in line
    assert "options.settings" in line
    done = case.run_system("--system", f"{module}:{name}")
    assert done.code == 0, done.err


def test_settings_are_keyword_arguments_of_functions(case: Case, module: str) -> None:
    done = case.run_system("--system", f"callable:{module}:coloured", "--set", "colour=blue")
    assert done.code == 0, done.err
    assert case.read_statuses("coloured") == ["ok"] * N_ITEMS
    unknown = case.run_system("--system", f"callable:{module}:coloured", "--set", "size=1")
    assert "size" in check_error_line(unknown, 16)


def test_entry_points_are_found_by_name(
    case: Case, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sys.path.append(str(Path.cwd()))
    points = [
        EntryPoint("stranger", f"{module}:Mine", system_registry.ENTRY_POINT_GROUP),
        EntryPoint("broken", "no_such_package:X", system_registry.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(system_registry, "list_entry_points", lambda: points)
    done = case.run_system("--system", "stranger")
    assert done.code == 0, done.err
    assert case.read_statuses("mine") == ["ok"] * N_ITEMS
    broken = case.run_system("--system", "broken", "--overwrite")
    assert "no_such_package" in check_error_line(broken, 16)
    unknown = case.run_system("--system", "strangr", "--overwrite")
    assert "Did you mean stranger?" in check_error_line(unknown, 16)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{}:NoParams", r"lacks params\(\)"),
        ("{}:NoAnswer", r"lacks answer\("),
        ("{}:none", r"lacks answer\(.*name, params\(\)"),
        ("{}:Hostile", "RuntimeError: no name for you"),
        ("{}:BadParams", "RuntimeError: no params for you"),
        ("{}:fails", r"ZeroDivisionError: secret=\[hidden\]"),
        ("{}:number", "no class or function 'number'"),
        ("callable:{}", "no function is named"),
        ("callable:{}:none", "takes 0|too many"),
        ("no_such_module_anywhere:X", "cannot be imported"),
    ],
)
def test_what_cannot_be_made_is_named_in_one_line(
    case: Case, module: str, spec: str, message: str
) -> None:
    failed = case.run_system("--system", spec.format(module))
    line = check_error_line(failed, 16)
    assert re.search(message, line), line
    assert "sk-abcdefgh" not in line


def test_faults_of_a_module_are_named_in_one_line(case: Case, module: str) -> None:
    Path(f"{module}x.py").write_text("1 / 0\n")
    line = check_error_line(case.run_system("--system", f"{module}x:Any"), 16)
    assert f"ZeroDivisionError: division by zero [{module}x.py:1]" in line
    assert "--debug" in line
    Path(f"{module}y.py").write_text("def broken(:\n")
    line = check_error_line(case.run_system("--system", f"{module}y:Any"), 16)
    assert "SyntaxError" in line


@pytest.mark.parametrize(
    ("name", "status"),
    [("Rubbish", "invalid"), ("Raises", "error"), ("Leaves", "error"), ("Cancels", "error")],
)
def test_faults_while_answering_are_no_abstentions(
    case: Case, module: str, name: str, status: str
) -> None:
    done = case.run_system("--system", f"{module}:{name}")
    # Of retrieval, too, whose baseline answers: no system may fail unnoticed beside others.
    assert done.code == (27 if status == "error" else 0), done.err
    if status == "error":
        assert "rows" in check_error_line(done, 27)
    assert case.read_statuses(name.lower()) == [status] * N_ITEMS
    problems = case.read_problems(name.lower())
    assert "sk-abcdefgh" not in problems
    if name == "Raises":
        assert "ValueError: token=[hidden]" in problems


def test_views_do_not_lead_to_the_gold(
    case: Case, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    items: list[Any] = []
    start = FolderRun.__init__

    def start_and_keep_items(run: Any, flags: Any, description: Any, *journals: Any) -> None:
        items.extend(description.items)
        start(run, flags, description, *journals)

    monkeypatch.setattr(FolderRun, "__init__", start_and_keep_items)
    done = case.run_system("--system", f"{module}:Mine")
    assert done.code == 0, done.err
    seen: list[Any] = importlib.import_module(module).seen
    assert len(seen) == N_ITEMS
    assert items or case.out.suffix, "cards are not run in a folder"
    item_texts = {id(text): text for item in items for text in find_texts(item)}
    for view in seen:
        for part in find_reachable_objects(view):
            assert not isinstance(part, case.item_type)
            assert not (isinstance(part, str) and "hidden" in part)
        # A text that the item shares would lead back to it through gc.get_referrers.
        assert not item_texts.keys() & {id(text) for text in find_texts(view)}


def find_texts(start: object) -> list[str]:
    """Returns the texts that an object refers to, without short ones, which Python may share."""
    found: dict[int, object] = {id(start): start}
    queue = [start]
    while queue:
        for part in gc.get_referents(queue.pop()):
            if isinstance(part, str | tuple | list | dict) and id(part) not in found:
                found[id(part)] = part
                queue.append(part)
    return [part for part in found.values() if isinstance(part, str) and len(part) > 12]


def test_a_system_cannot_change_what_others_see(case: Case, module: str) -> None:
    if case is not CASES["extraction"]:
        pytest.skip("other views are immutable")
    Path(f"{module}z.py").write_text(
        "def vandal(view):\n    view.schema.clear()\n    return {}\n"
        "def honest(view):\n    return {'city': str(sorted(view.schema))}\n"
    )
    specs = [f"callable:{module}z:{name}" for name in ("vandal", "honest")]
    done = case.run_system("--system", specs[0], "--system", specs[1])
    assert done.code == 0, done.err
    assert case.read_problems("honest").count("['properties', 'type']") == N_ITEMS


def test_tracebacks_are_printed_with_debug_only(tmp_path: Path) -> None:
    (tmp_path / "broken_module.py").write_text("raise KeyError('secret=sk-abcdefgh12345678')\n")
    command = ("synthlink", "run", "--system", "broken_module:X", "--out", "out")
    plain = run_process(command_line(*command), tmp_path)
    check_error_line(plain, 16)
    debug = run_process(command_line("--debug", *command), tmp_path)
    assert debug.code == 16
    assert "Traceback" in debug.err
    assert 'broken_module.py", line 1' in debug.err
    assert "sk-abcdefgh" not in plain.err + debug.err


def test_tracebacks_of_answers_are_printed_with_debug(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def bad(view):\n    raise KeyError('lost')\n")
    command = ("synthlink", "run", "--system", "callable:bad:bad", "--out", "out", "--limit", 2)
    debug = run_process(command_line("--debug", *command, "--no-score"), tmp_path)
    assert debug.code == 27
    assert debug.err.count("KeyError: 'lost'") == 2


def test_built_in_systems_come_before_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_built_in(options: SystemOptions) -> object:
        """Built in."""
        if options.settings:
            raise SettingError("no settings")
        return FunctionSystem(lambda view: view, "here", {})

    point = EntryPoint("own", "no_such_package:X", system_registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(system_registry, "list_entry_points", lambda: [point])
    registry = SystemRegistry(load_built_in=lambda _name: {"own": make_built_in})
    assert registry.list_names() == {"own": "Built in."}
    assert len(registry.make_systems("own", SystemOptions())) == 1
    with pytest.raises(SettingError):
        registry.make_systems("own", SystemOptions(settings={"a": "b"}))


def test_one_system_is_needed_where_a_run_has_one() -> None:
    def make_two() -> list[object]:
        functions: list[Callable[[Any], Any]] = [_say_first, _say_second]
        return [FunctionSystem(function, "here", {}) for function in functions]

    registry = SystemRegistry(load_built_in=lambda _name: {"two": make_two})
    with pytest.raises(SystemNotFoundError, match="makes 2 systems, and a run has one"):
        registry.make_system("two", SystemOptions())


def _say_first(_view: object) -> str:
    return "first"


def _say_second(_view: object) -> str:
    return "second"


def test_objects_with_an_async_call_are_asynchronous() -> None:
    class Caller:
        async def __call__(self, view: object) -> object:
            return view

    assert is_async(FunctionSystem(Caller(), "here", {}))
    assert is_async(FunctionSystem(Caller(), "here", {"a": "b"}))
    assert not is_async(FunctionSystem(_say_first, "here", {}))


def test_the_message_of_many_errors_names_the_field_that_explains_them(
    case: Case, module: str
) -> None:
    done = case.run_system("--system", f"{module}:Raises", "--max-consecutive-errors", 2)
    line = check_error_line(done, 27)
    path = case.out if case.out.suffix else case.out / REPLIES
    assert str(path) in line
    (field,) = re.findall("See `(.*?)` in the rows that failed", line)
    assert all("is refused" in str(row[field]) for row in read_lines(path))
