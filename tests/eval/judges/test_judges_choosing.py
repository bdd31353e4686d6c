"""Who judges: never by default the model that answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.judges.choosing import SAME, VARIABLE, Chosen, choose_judges
from kg.base.errors import ModelAccessError, SettingError

ANSWERER = "ollama/qwen2.5:7b"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (VARIABLE, "EPOCHE_MODEL", "OLLAMA_HOST", "VLLM_BASE_URL", "EPOCHE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_nobody_named_is_refused_with_what_to_do() -> None:
    with pytest.raises(SettingError) as caught:
        choose_judges([], ANSWERER)
    line = caught.value.one_line()
    assert "--judge-model same" in line
    assert VARIABLE in line
    assert caught.value.exit_code == 19


def test_another_model_judges() -> None:
    assert choose_judges(["ollama/llama3.3"], ANSWERER) == Chosen(("ollama/llama3.3",), False)


def test_several_may_be_named_in_either_way() -> None:
    both = Chosen(("ollama/a", "vllm/b"), False)
    assert choose_judges(["ollama/a", "vllm/b"], ANSWERER) == both
    assert choose_judges(["ollama/a, vllm/b,"], ANSWERER) == both


def test_the_answering_model_judges_only_if_that_is_said() -> None:
    assert choose_judges([SAME], ANSWERER) == Chosen((ANSWERER,), True)
    assert choose_judges([SAME, "vllm/b"], ANSWERER) == Chosen((ANSWERER, "vllm/b"), True)
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges([ANSWERER], ANSWERER)
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges(["vllm/b", ANSWERER], ANSWERER)


def test_another_name_for_the_same_model_on_the_same_server_is_no_other_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", "http://127.0.0.1:11434/v1")
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges(["custom/qwen2.5:7b"], ANSWERER)
    assert choose_judges(["custom/other"], ANSWERER).same is False
    monkeypatch.setenv("EPOCHE_BASE_URL", "http://127.0.0.1:9/v1")
    assert choose_judges(["custom/qwen2.5:7b"], ANSWERER).same is False


def test_the_environment_and_the_file_name_judges_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(f"{VARIABLE}=vllm/from-file\n")
    assert choose_judges([], ANSWERER).models == ("vllm/from-file",)
    monkeypatch.setenv(VARIABLE, "vllm/a,vllm/b")
    assert choose_judges([], ANSWERER).models == ("vllm/a", "vllm/b")
    assert choose_judges(["vllm/flag"], ANSWERER).models == ("vllm/flag",)
    monkeypatch.setenv(VARIABLE, ANSWERER)
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges([], ANSWERER)


def test_the_answerer_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", ANSWERER)
    assert choose_judges([SAME], None).models == (ANSWERER,)
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges([ANSWERER], None)


def test_judges_of_answers_that_nobody_owns_are_only_named() -> None:
    assert choose_judges(["vllm/b"], None) == Chosen(("vllm/b",), False)
    with pytest.raises(ModelAccessError, match="no model is named"):
        choose_judges([SAME], None)


def test_one_judge_twice_is_no_panel() -> None:
    for named in (["vllm/b", "vllm/b"], ["vllm/b,vllm/b"], [SAME, SAME]):
        with pytest.raises(SettingError, match="named twice"):
            choose_judges(named, ANSWERER)


def test_a_name_that_is_none_is_refused() -> None:
    for name in ("llama3", "nowhere/model", "ollama/"):
        with pytest.raises(ModelAccessError):
            choose_judges([name], ANSWERER)


@given(st.lists(st.sampled_from(["", " ", ",", " , ", ",,"]), max_size=4))
def test_commas_alone_name_nobody(named: list[str]) -> None:
    with pytest.raises(SettingError, match="no model is named as judge"):
        choose_judges(named, ANSWERER)
