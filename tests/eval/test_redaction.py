"""Tests that secrets are recognised by name and redacted in texts, and nothing else is changed."""

from __future__ import annotations

import pytest

from eval.model.redaction import (
    SECRET_PLACEHOLDER,
    hide_secret_values,
    hide_secrets,
    is_secret_name,
)


@pytest.mark.parametrize(
    "name",
    ["key", "api_key", "API-KEY", "apiKey", "OPENAI_API_KEY", "hf_token", "HFToken", "clientSecret",
     "db.password", "passwd", "Authorization", "bearer"],
)  # fmt: skip
def test_secret_names_are_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokenizer", "top_k", "monkey", "keyword", "secretary", "model", ""]
)
def test_ordinary_names_are_not_secrets(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "expected"),  # None: the text stays unchanged
    [
        ("bad key swordfish!", f"bad key {SECRET_PLACEHOLDER}!"),
        ("sk-abc123def456 refused", f"{SECRET_PLACEHOLDER} refused"),
        ("token hf_ABCDEFGHIJ", f"token {SECRET_PLACEHOLDER}"),
        ("Authorization: Bearer abc.def", f"Authorization: Bearer {SECRET_PLACEHOLDER}"),
        ("http://h/?api_key=abcd1234&x=1", f"http://h/?api_key={SECRET_PLACEHOLDER}&x=1"),
        (
            '{"password": "p4ssw0rd", "user": "me"}',
            f'{{"password": "{SECRET_PLACEHOLDER}", "user": "me"}}',
        ),
        ("at https://me:pw1234@host/v1", f"at https://{SECRET_PLACEHOLDER}@host/v1"),
        ("max_tokens=100 is too many; see http://host:80/a", None),
        ("risk-averse disk-operations failed", None),
        ("short: abc", None),
    ],
)
def test_secrets_in_text_are_redacted(text: str, expected: str | None) -> None:
    # The value of TOKEN is too short to be a secret, and PATH is not the name of a secret.
    environment = {"MY_API_KEY": "swordfish", "TOKEN": "abc", "PATH": "failed"}
    assert hide_secrets(text, environment) == (text if expected is None else expected)


def test_nested_secret_is_redacted_completely() -> None:
    environment = {"A_KEY": "abcdef", "B_KEY": "xxabcdefyy"}
    assert (
        hide_secrets("xxabcdefyy abcdef", environment)
        == f"{SECRET_PLACEHOLDER} {SECRET_PLACEHOLDER}"
    )


def test_secrets_at_any_depth_are_redacted() -> None:
    redacted = hide_secret_values({"a": [{"token": "t", "n": 1}], "key": {"k": "v"}, "secret": 3})
    assert redacted == {
        "a": [{"token": SECRET_PLACEHOLDER, "n": 1}],
        "key": {"k": "v"},
        "secret": 3,
    }
