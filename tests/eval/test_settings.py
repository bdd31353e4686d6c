"""``--set``: read by type, refused by name."""

from __future__ import annotations

import pytest

from eval.settings import Settings, parse_settings
from kg.base.errors import SettingError


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    assert parse_settings(["a=b=c", " k = v "]) == {"a": "b=c", "k": "v"}


@pytest.mark.parametrize("pairs", [["a"], ["=b"], ["a=1", "a=2"], [""]])
def test_malformed_pairs(pairs: list[str]) -> None:
    with pytest.raises(SettingError):
        parse_settings(pairs)


@pytest.mark.parametrize("pair", ["api_key=hush", "hfToken=hush", "api_key hush", "password"])
def test_secrets_are_refused_without_being_shown(pair: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_settings([pair])
    assert "hush" not in str(caught.value) or "=" not in pair


def test_each_reader_and_its_refusals() -> None:
    settings = Settings({"top_k": "3", "mode": "b", "cut": "0.5", "path": "x"}, "s")
    assert settings.whole("top_k", 5, least=1) == 3
    assert settings.choice("mode", ("a", "b")) == "b"
    assert settings.fraction("cut", 0.9) == 0.5
    assert settings.text("path", "") == "x"
    assert settings.text("other", "default") == "default"
    settings.refuse_others()
    bad = Settings({"top_k": "0", "mode": "c", "cut": "nan", "size": "x", "half": "½"}, "s")
    for read in (
        lambda: bad.whole("top_k", 5, least=1),
        lambda: bad.choice("mode", ("a", "b")),
        lambda: bad.fraction("cut", 0.9),
        lambda: bad.fraction("half", 0.9),
        lambda: bad.whole("size", 5, least=1),
    ):
        with pytest.raises(SettingError, match="must be"):
            read()


def test_unknown_settings_are_named_with_the_nearest_first() -> None:
    settings = Settings({"topk": "3"}, "rag")
    settings.text("retriever", "bm25")
    for _ in range(2):  # Some settings are read twice, and still are one.
        settings.whole("top_k", 5, least=1)
    with pytest.raises(SettingError, match=r"has no setting 'topk'.*It has: top_k, retriever\."):
        settings.refuse_others()


def test_flags_numbers_and_what_may_be_left_out() -> None:
    settings = Settings({"on": "yes", "off": "no", "heat": "1.5", "seed": "7"}, "s")
    assert (settings.flag("on"), settings.flag("off"), settings.flag("unsaid")) == (
        True,
        False,
        False,
    )
    assert settings.number("heat", 0.0, least=0.0, most=2.0) == 1.5
    assert settings.number("cold", 0.25, least=0.0, most=2.0) == 0.25
    assert settings.optional_whole("seed") == 7
    assert settings.optional_whole("unseeded") is None
    settings.refuse_others()
    bad = Settings({"on": "true", "heat": "inf", "cold": "-1", "seed": "-2"}, "s")
    for read in (
        lambda: bad.flag("on"),
        lambda: bad.number("heat", 0.0, least=0.0, most=2.0),
        lambda: bad.number("cold", 0.0, least=0.0, most=2.0),
        lambda: bad.optional_whole("seed"),
    ):
        with pytest.raises(SettingError, match="must be"):
            read()
