"""Tests the values of ``--set``: parsing, and refusal of unknown, malformed or secret settings."""

from __future__ import annotations

import pytest

from eval.harness.systems.settings import Settings, parse_settings
from kg.base.errors import SettingError


def test_pairs_are_split_at_the_first_equals_sign_only() -> None:
    assert parse_settings(["a=b=c", " k = v "]) == {"a": "b=c", "k": "v"}


@pytest.mark.parametrize("pairs", [["a"], ["=b"], ["a=1", "a=2"], [""]])
def test_malformed_pairs_are_refused(pairs: list[str]) -> None:
    with pytest.raises(SettingError):
        parse_settings(pairs)


@pytest.mark.parametrize(
    "pair", ["api_key=hush", "hfToken=hush", "api_key hush", "api_key:hush", "password"]
)
def test_secrets_are_refused_without_being_shown(pair: str) -> None:
    with pytest.raises(SettingError) as error:
        parse_settings([pair])
    assert "hush" not in str(error.value)


def test_each_setting_type_and_its_errors() -> None:
    settings = Settings({"top_k": "3", "mode": "b", "cut": "0.5", "path": "x"}, "s")
    assert settings.get_int("top_k", 5, minimum=1) == 3
    assert settings.get_choice("mode", ("a", "b")) == "b"
    assert settings.get_fraction("cut", 0.9) == 0.5
    assert settings.get_text("path", "") == "x"
    assert settings.get_text("other", "default") == "default"
    settings.refuse_unknown()
    invalid_settings = Settings(
        {"top_k": "0", "mode": "c", "cut": "nan", "size": "x", "half": "½"}, "s"
    )
    for get_setting in (
        lambda: invalid_settings.get_int("top_k", 5, minimum=1),
        lambda: invalid_settings.get_choice("mode", ("a", "b")),
        lambda: invalid_settings.get_fraction("cut", 0.9),
        lambda: invalid_settings.get_fraction("half", 0.9),
        lambda: invalid_settings.get_int("size", 5, minimum=1),
    ):
        with pytest.raises(SettingError, match="must be"):
            get_setting()


def test_unknown_settings_are_named_with_the_nearest_first() -> None:
    settings = Settings({"topk": "3"}, "rag")
    settings.get_text("retriever", "bm25")
    for _ in range(2):  # The message lists a setting once, even if it is read twice.
        settings.get_int("top_k", 5, minimum=1)
    with pytest.raises(SettingError, match=r"has no setting 'topk'.*It has: top_k, retriever\."):
        settings.refuse_unknown()


def test_flags_numbers_and_optional_settings() -> None:
    settings = Settings({"on": "yes", "off": "no", "heat": "1.5", "seed": "7"}, "s")
    assert (settings.get_flag("on"), settings.get_flag("off"), settings.get_flag("absent")) == (
        True,
        False,
        False,
    )
    assert settings.get_float("heat", 0.0, minimum=0.0, maximum=2.0) == 1.5
    assert settings.get_float("cold", 0.25, minimum=0.0, maximum=2.0) == 0.25
    assert settings.get_optional_int("seed") == 7
    assert settings.get_optional_int("unseeded") is None
    settings.refuse_unknown()
    invalid_settings = Settings({"on": "true", "heat": "inf", "cold": "-1", "seed": "-2"}, "s")
    for get_setting in (
        lambda: invalid_settings.get_flag("on"),
        lambda: invalid_settings.get_float("heat", 0.0, minimum=0.0, maximum=2.0),
        lambda: invalid_settings.get_float("cold", 0.0, minimum=0.0, maximum=2.0),
        lambda: invalid_settings.get_optional_int("seed"),
    ):
        with pytest.raises(SettingError, match="must be"):
            get_setting()
