"""Secrets: recognised by name, blotted out of texts, and nothing else touched."""

from __future__ import annotations

import pytest

from eval.redaction import HIDDEN, hide_secret_values, hide_secrets, is_secret_name


@pytest.mark.parametrize(
    "name",
    ["key", "api_key", "API-KEY", "apiKey", "OPENAI_API_KEY", "hf_token", "HFToken", "clientSecret",
     "db.password", "passwd", "Authorization", "bearer"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokenizer", "top_k", "monkey", "keyword", "secretary", "model", ""]
)
def test_names_of_ordinary_settings(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bad key swordfish!", f"bad key {HIDDEN}!"),
        ("sk-abc123def456 refused", f"{HIDDEN} refused"),
        ("token hf_ABCDEFGHIJ", f"token {HIDDEN}"),
        ("Authorization: Bearer abc.def", f"Authorization: Bearer {HIDDEN}"),
        ("http://h/?api_key=abcd1234&x=1", f"http://h/?api_key={HIDDEN}&x=1"),
        ('{"password": "p4ssw0rd", "user": "me"}', f'{{"password": "{HIDDEN}", "user": "me"}}'),
        ("at https://me:pw1234@host/v1", f"at https://{HIDDEN}@host/v1"),
        ("max_tokens=100 is too many; see http://host:80/a", None),
        ("risk-averse disk-operations failed", None),
        ("short: abc", None),
    ],
)
def test_texts(text: str, shown: str | None) -> None:
    environment = {"MY_API_KEY": "swordfish", "TOKEN": "abc", "PATH": "failed"}
    assert hide_secrets(text, environment) == (text if shown is None else shown)


def test_a_secret_inside_a_secret_is_hidden_whole() -> None:
    environment = {"A_KEY": "abcdef", "B_KEY": "xxabcdefyy"}
    assert hide_secrets("xxabcdefyy abcdef", environment) == f"{HIDDEN} {HIDDEN}"


def test_values_at_any_depth() -> None:
    hidden = hide_secret_values({"a": [{"token": "t", "n": 1}], "key": {"k": "v"}, "secret": 3})
    assert hidden == {"a": [{"token": HIDDEN, "n": 1}], "key": {"k": "v"}, "secret": 3}
