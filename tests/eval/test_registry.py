"""Tests systems by name: built-in ones, those of other packages, and user classes."""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cards.card import CardView
from eval.abstention.system import SystemOptions
from eval.abstention.systems import registry
from eval.abstention.systems.registry import (
    make_systems,
    refuse_unused_model,
    register,
    system_names,
)
from eval.harness.systems import system_registry
from eval.harness.systems.system_registry import MAX_LISTED_TARGETS
from eval.model.options import ClientOptions
from eval.model.recorded_replies import SHIPPED, find_recordings
from kg.base.errors import EXIT_TERMINATED, SettingError, SystemNotFoundError

OPTIONS = SystemOptions()


@pytest.fixture
def user_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Writes a user's adapter module into the current folder and returns its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    name = f"adapter_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(
        """
class Plain:
    name = "plain"
    def params(self): return {}
    def answer(self, card): return "YES"

class Wants(Plain):
    def __init__(self, options): self.name = f"wants-{options.seed}"

class Creates(Plain):
    @classmethod
    def create(cls, options):
        made = cls(); made.name = "created"; return made

class Optional(Plain):
    def __init__(self, options=None): self.name = "without" if options is None else "with"

class Nameless(Plain):
    name = ""

class Async(Plain):
    async def answer(self, card): return "YES"

class Half:
    name = "half"
    def answer(self, card): return "YES"

def text(): return "YES"
def several(options): return [Plain(), Wants(options)]
def twins(): return [Plain(), Plain()]
def nothing(): return []
def breaks(): raise ZeroDivisionError("the user's own bug")
def leaves(): raise SystemExit(0)
def terminated(): raise SystemExit(143)
number = 3
"""
    )
    return name


def list_system_names(name: str) -> list[str]:
    return [system.name for system in make_systems(name, OPTIONS)]


def test_own_systems_are_listed_with_one_line_each() -> None:
    descriptions = system_names()
    for name in ("kg", "rag", "controls", "always-YES", "always-NO", "always-UNKNOWN", "random"):
        assert descriptions[name], name
        assert "\n" not in descriptions[name]


def test_systems_can_be_made_in_several_ways(user_module: str) -> None:
    assert list_system_names(f"{user_module}:Plain") == ["plain"]
    assert list_system_names(f"{user_module}:Wants") == ["wants-12345"]
    assert list_system_names(f"{user_module}:Creates") == ["created"]
    assert list_system_names(f"{user_module}:Optional") == ["with"]
    assert list_system_names(f"{user_module}:Async") == ["plain"]
    assert list_system_names(f"{user_module}:several") == ["plain", "wants-12345"]


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("Nameless", "name is not a text"),
        ("Half", "is not a system"),
        ("twins", "share a name"),
        ("nothing", "is not a system"),
        ("number", "It has: Plain, Wants"),
        ("Absent", "has no class or function 'Absent'"),
        ("", "has no class"),
    ],
)
def test_invalid_systems_are_refused(user_module: str, attribute: str, message: str) -> None:
    with pytest.raises(SystemNotFoundError, match=message):
        list_system_names(f"{user_module}:{attribute}")


@pytest.mark.parametrize("spec", ["http://127.0.0.1:1", "", "/dev/null", "my systems:x", "a-b:c"])
def test_what_names_no_module_is_an_unknown_system(spec: str) -> None:
    with pytest.raises(SystemNotFoundError, match=r"no system is called .*`epoche systems` lists"):
        make_systems(spec, OPTIONS)


def test_few_names_of_a_large_module_are_listed() -> None:
    with pytest.raises(SystemNotFoundError) as caught:
        make_systems("os:path", OPTIONS)
    listed = caught.value.hint.split(", ")
    assert len(listed) == MAX_LISTED_TARGETS
    assert re.search(r" and \d+ more\.", caught.value.hint)
    assert not [name for name in listed if name.startswith("_")]


def test_error_in_a_user_factory_is_named_with_its_cause(user_module: str) -> None:
    message = r"breaks cannot make the system: ZeroDivisionError: the user's own bug \[adapter_"
    with pytest.raises(SystemNotFoundError, match=message) as caught:
        list_system_names(f"{user_module}:breaks")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_factory_calling_exit_is_named(user_module: str) -> None:
    with pytest.raises(SystemNotFoundError, match=r"leaves calls sys\.exit\(0\)"):
        list_system_names(f"{user_module}:leaves")


def test_termination_ends_the_program_while_a_system_is_made(user_module: str) -> None:
    with pytest.raises(SystemExit) as caught:
        make_systems(f"{user_module}:terminated", OPTIONS)
    assert caught.value.code == EXIT_TERMINATED


def test_only_a_function_that_answers_is_hinted_at(user_module: str) -> None:
    for attribute, is_hinted in (("text", True), ("Half", False)):
        with pytest.raises(SystemNotFoundError) as caught:
            make_systems(f"{user_module}:{attribute}", OPTIONS)
        assert (f"--system callable:{user_module}:{attribute}" in caught.value.hint) == is_hinted


def test_unimportable_modules_are_reported(user_module: str) -> None:
    Path(f"{user_module}x.py").write_text("import a_library_nobody_has\n")
    with pytest.raises(SystemNotFoundError, match="a_library_nobody_has"):
        list_system_names(f"{user_module}x:Any")
    Path(f"{user_module}y.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(SystemNotFoundError, match=r"calls sys\.exit\(0\)"):
        list_system_names(f"{user_module}y:Any")
    for name in ("no.such.module:A", ":A", "a..b:C"):
        with pytest.raises(SystemNotFoundError, match="cannot be imported"):
            list_system_names(name)


def test_current_folder_is_last_on_the_path(user_module: str) -> None:
    list_system_names(f"{user_module}:Plain")
    assert sys.path[-1] == str(Path.cwd())


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(
        SystemNotFoundError, match=r"Did you mean rag_llm\? `epoche systems`"
    ) as error:
        list_system_names("rag_lm")
    assert "mypkg.mod:Class" in str(error.value)
    with pytest.raises(SystemNotFoundError) as error:
        list_system_names("nothing_like_it")
    assert "Did you mean" not in str(error.value)


def test_a_model_is_refused_where_none_is_asked() -> None:
    def refuse(name: str, **settings: str) -> None:
        options = SystemOptions(settings=settings, client=ClientOptions(model="recorded/x"))
        refuse_unused_model(options, {name: make_systems(name, OPTIONS)})

    for name in ("kg", "graph_rag", "rag", "controls", "always-NO", "random", "formats"):
        with pytest.raises(SettingError, match=rf"^{name} asks no model.*rag_llm, raw"):
            refuse(name)
    with pytest.raises(SettingError, match="callable:json:dumps asks no model"):
        refuse("callable:json:dumps")
    refuse_unused_model(OPTIONS, {"rag": make_systems("rag", OPTIONS)})


def test_every_system_that_asks_a_model_is_registered_as_one() -> None:
    """So that the error above names it."""
    model = f"recorded/{next(iter(find_recordings(SHIPPED))).name.rsplit('.', 3)[0]}"
    options = SystemOptions(client=ClientOptions(model=model))
    settings = {"formats": {"by": "model"}}
    for name in set(system_names()) - {"nli", "rag_dense"}:  # these need extras
        made = make_systems(name, replace(options, settings=settings.get(name, {})))
        asks_model = any(getattr(system, "client", None) is not None for system in made)
        assert asks_model == (name in registry._model_systems), name
        if asks_model:
            refuse_unused_model(options, {name: made})
            refuse_unused_model(options, {"rag": make_systems("rag", OPTIONS), name: made})


def test_one_name_belongs_to_one_factory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))

    def make_first(options: SystemOptions) -> Any:
        return None

    def make_second(options: SystemOptions) -> Any:
        return None

    register("taken")(make_first)
    register("taken")(make_first)
    with pytest.raises(ValueError, match="two systems"):
        register("taken")(make_second)


class ForeignSystem:
    """A system of another package.

    More on it.
    """

    name = "foreign"

    def params(self) -> dict[str, Any]:
        return {}

    def answer(self, card: CardView) -> str:
        return "NO"


def test_entry_points_of_other_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign_entry = EntryPoint(
        "foreign", "foreign_package:ForeignSystem", system_registry.ENTRY_POINT_GROUP
    )
    broken_entry = EntryPoint("broken", "no_such_package:X", system_registry.ENTRY_POINT_GROUP)
    monkeypatch.setitem(sys.modules, "foreign_package", sys.modules[__name__])
    monkeypatch.setattr(system_registry, "list_entry_points", lambda: [broken_entry, foreign_entry])
    descriptions = system_names()
    assert descriptions["foreign"] == "A system of another package."
    assert "cannot be imported" in descriptions["broken"]
    assert list_system_names("foreign") == ["foreign"]
    with pytest.raises(SystemNotFoundError, match="registered but cannot be imported"):
        list_system_names("broken")


def test_unknown_settings_are_refused_by_own_systems() -> None:
    for name in ("kg", "controls", "always-YES", "always-NO", "always-UNKNOWN", "random", "rag"):
        with pytest.raises(SettingError, match="no setting 'colour'"):
            make_systems(name, SystemOptions(settings={"colour": "red"}))


def test_list_is_printed_with_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    from eval.commands.list_systems import main

    main()
    printed = capsys.readouterr().out
    for name, line in system_names().items():
        assert f"{name} " in printed
        assert line in printed
    assert "docs/how-to/systems.md" in printed
