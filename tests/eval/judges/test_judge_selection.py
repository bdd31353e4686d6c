"""Tests the selection of judge models, which must not include the answering model by default."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.judges.selection import JUDGE_MODEL_VARIABLE, SAME_MODEL, JudgeSelection, choose_judges
from kg.base.errors import ModelAccessError, SettingError

ANSWERER = "ollama/qwen2.5:7b"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        JUDGE_MODEL_VARIABLE,
        "EPOCHE_MODEL",
        "OLLAMA_HOST",
        "VLLM_BASE_URL",
        "EPOCHE_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_missing_judge_name_is_refused_with_advice() -> None:
    with pytest.raises(SettingError) as error_info:
        choose_judges([], ANSWERER)
    line = error_info.value.format_line()
    assert "--judge-model same" in line
    assert JUDGE_MODEL_VARIABLE in line
    assert error_info.value.exit_code == 19


def test_another_model_may_judge() -> None:
    assert choose_judges(["ollama/llama3.3"], ANSWERER) == JudgeSelection(
        ("ollama/llama3.3",), same=False
    )


def test_several_judges_are_separated_by_flags_or_commas() -> None:
    expected = JudgeSelection(("ollama/a", "vllm/b"), same=False)
    assert choose_judges(["ollama/a", "vllm/b"], ANSWERER) == expected
    assert choose_judges(["ollama/a, vllm/b,"], ANSWERER) == expected


def test_answering_model_judges_only_on_request() -> None:
    assert choose_judges([SAME_MODEL], ANSWERER) == JudgeSelection((ANSWERER,), same=True)
    assert choose_judges([SAME_MODEL, "vllm/b"], ANSWERER) == JudgeSelection(
        (ANSWERER, "vllm/b"), same=True
    )
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges([ANSWERER], ANSWERER)
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges(["vllm/b", ANSWERER], ANSWERER)


def test_alias_of_the_same_model_is_recognised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EPOCHE_BASE_URL", "http://127.0.0.1:11434/v1")
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges(["custom/qwen2.5:7b"], ANSWERER)
    assert choose_judges(["custom/other"], ANSWERER).same is False
    monkeypatch.setenv("EPOCHE_BASE_URL", "http://127.0.0.1:9/v1")
    assert choose_judges(["custom/qwen2.5:7b"], ANSWERER).same is False


def test_environment_and_dotenv_can_name_judges(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(f"{JUDGE_MODEL_VARIABLE}=vllm/from-file\n")
    assert choose_judges([], ANSWERER).models == ("vllm/from-file",)
    monkeypatch.setenv(JUDGE_MODEL_VARIABLE, "vllm/a,vllm/b")
    assert choose_judges([], ANSWERER).models == ("vllm/a", "vllm/b")
    assert choose_judges(["vllm/flag"], ANSWERER).models == ("vllm/flag",)
    monkeypatch.setenv(JUDGE_MODEL_VARIABLE, ANSWERER)
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges([], ANSWERER)


def test_answering_model_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHE_MODEL", ANSWERER)
    assert choose_judges([SAME_MODEL], None).models == (ANSWERER,)
    with pytest.raises(SettingError, match="is the model that answers"):
        choose_judges([ANSWERER], None)


def test_judges_without_an_answering_model_only_need_names() -> None:
    assert choose_judges(["vllm/b"], None) == JudgeSelection(("vllm/b",), same=False)
    with pytest.raises(ModelAccessError, match="no model is named"):
        choose_judges([SAME_MODEL], None)


def test_duplicate_judge_is_refused() -> None:
    for names in (["vllm/b", "vllm/b"], ["vllm/b,vllm/b"], [SAME_MODEL, SAME_MODEL]):
        with pytest.raises(SettingError, match="named twice"):
            choose_judges(names, ANSWERER)


def test_invalid_name_is_refused() -> None:
    for name in ("llama3", "nowhere/model", "ollama/"):
        with pytest.raises(ModelAccessError):
            choose_judges([name], ANSWERER)


@given(st.lists(st.sampled_from(["", " ", ",", " , ", ",,"]), max_size=4))
def test_list_of_only_commas_is_refused(names: list[str]) -> None:
    with pytest.raises(SettingError, match="no judge model is named"):
        choose_judges(names, ANSWERER)
