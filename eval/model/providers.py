"""Where a model is reached: ``provider/model`` becomes an address and a key.

Addresses and keys come from the environment (or ``.env``) only, never from flags, because flags
end up in shell histories, process lists and manifests.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

from eval.model.environment import Variables
from kg.base.errors import ModelAccessError
from kg.words.plain_text import one_line

MAX_MODEL_NAME = 300
"""Characters a model's name may have."""


class Provider(NamedTuple):
    """A kind of server, and the variables that say where it is.

    Attributes:
        url_variable: names the variable that holds the base URL.
        default_url: the base URL when that is not set; empty when it must be set.
        key_variable: names the variable that holds the key.
        key_needed: whether a server of this kind never answers without one.
    """

    url_variable: str
    default_url: str
    key_variable: str
    key_needed: bool


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("OPENAI_BASE_URL", "https://api.openai.com/v1", "OPENAI_API_KEY", True),
    "openrouter": Provider(
        "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", True
    ),
    "ollama": Provider("OLLAMA_HOST", "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY", False),
    "vllm": Provider("VLLM_BASE_URL", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", False),
    "llamacpp": Provider(
        "LLAMACPP_BASE_URL", "http://127.0.0.1:8080/v1", "LLAMACPP_API_KEY", False
    ),
    "custom": Provider("EPOCHE_BASE_URL", "", "EPOCHE_API_KEY", False),
}


@dataclass(frozen=True)
class Endpoint:
    """One model on one server.

    Attributes:
        name: ``provider/model`` as the user wrote it.
        provider: its first part.
        model: the rest, which the server is asked for.
        base_url: address of the API, without credentials and final slash.
        key: the key, or empty; kept out of ``repr``.
    """

    name: str
    provider: str
    model: str
    base_url: str
    key: str = field(default="", repr=False)

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, where no proxy belongs in between."""
        return _is_loopback(urlsplit(self.base_url).hostname or "")


def find_endpoint(name: str | None, variables: Variables, address: str | None = None) -> Endpoint:
    """Where the model ``name`` (by default ``EPOCHE_MODEL``) is reached.

    Args:
        name: ``provider/model``.
        variables: the environment and ``.env``.
        address: where, by a configuration file; it goes before what ``variables`` say.

    Raises:
        ModelAccessError: no model is named, the provider is unknown, its address or key is not
            set, or the address is no plain ``http(s)://host/path``.
    """
    name = (name or variables.get("EPOCHE_MODEL") or "").strip()
    known = ", ".join(PROVIDERS)
    if not name:
        raise ModelAccessError(
            "no model is named",
            where="--model",
            hint="Name one as provider/model, e.g. --model ollama/llama3.2, or set EPOCHE_MODEL.",
        )
    provider, slash, model = name.partition("/")
    if provider not in PROVIDERS or not slash or not model.strip():
        problem = "has no provider" if not slash else "has no model name"
        if slash and provider not in PROVIDERS:
            problem = f"names the unknown provider {provider!r}"
        raise ModelAccessError(
            f"model {name!r} {problem}",
            where="--model",
            hint=f"Write provider/model; the providers are {known}.",
        )
    if len(model) > MAX_MODEL_NAME or one_line(model) != model:
        raise ModelAccessError(
            f"the model's name is no printable line of at most {MAX_MODEL_NAME} characters",
            where="--model",
            hint="Was something else copied into --model or EPOCHE_MODEL?",
        )
    server = PROVIDERS[provider]
    key = variables.get(server.key_variable) or ""
    if not key.isascii() or not key.isprintable():
        raise ModelAccessError(
            "the key holds letters that no key has",
            where=server.key_variable,
            hint="Was it copied with something around it?",
        )
    if server.key_needed and not key:
        raise ModelAccessError(
            f"provider {provider} needs a key",
            where=server.key_variable,
            hint=f"Set {server.key_variable} in the environment or in .env; never as a flag.",
        )
    if address is not None:
        return _at_address(name, provider, model, address, variables)
    written = variables.get(server.url_variable) or server.default_url
    if not written:
        raise ModelAccessError(
            f"provider {provider} needs an address",
            where=server.url_variable,
            hint=f"For example {server.url_variable}=http://127.0.0.1:8000/v1.",
        )
    parts = _checked_address(written, server.url_variable)
    if (
        key
        and variables.is_from_file(server.url_variable)
        and not variables.is_from_file(server.key_variable)
        and not _is_loopback(parts.hostname or "")
    ):
        # A folder from elsewhere may hold a .env that would send the user's own key anywhere.
        raise ModelAccessError(
            f".env names the server {parts.hostname!r}, but the key comes from the environment",
            where=server.url_variable,
            hint=f"Set {server.url_variable} in the environment too, if it is to get that key.",
        )
    return Endpoint(name, provider, model, urlunsplit(parts), key)


def _at_address(
    name: str, provider: str, model: str, address: str, variables: Variables
) -> Endpoint:
    """The endpoint at an address that a configuration file names.

    Such a file may come from anywhere: a key goes to its address on this machine only, or where
    the environment names the same address.

    Raises:
        ModelAccessError: it is no address, or is elsewhere and would get a key.
    """
    server = PROVIDERS[provider]
    parts = _checked_address(address, "base_url")
    key = variables.get(server.key_variable) or ""
    told = variables.get(server.url_variable) or server.default_url
    # An address in .env vouches for a key that stands there too, and for no other.
    trusted = variables.is_from_file(server.key_variable) or not variables.is_from_file(
        server.url_variable
    )
    same = trusted and bool(told) and _checked_address(told, server.url_variable) == parts
    if key and not same and not _is_loopback(parts.hostname or ""):
        raise ModelAccessError(
            f"the configuration names the server {parts.hostname!r}, "
            "but the key comes from the environment",
            where="base_url",
            hint=f"Set {server.url_variable} to it in the environment, if it is to get that key.",
        )
    return Endpoint(name, provider, model, urlunsplit(parts), key)


def _checked_address(written: str, variable: str) -> SplitResult:
    """The parts of a base URL, completed as servers' own documents write it.

    ``OLLAMA_HOST`` may be a bare ``host:port``; a URL without a path gets ``/v1``, where all
    servers of this kind have their API; ``0.0.0.0`` (listen anywhere) is reached at 127.0.0.1.
    """
    text = written if "://" in written else f"http://{written}"

    def refuse(problem: str) -> ModelAccessError:
        # The address itself is not quoted: it may hold a password.
        return ModelAccessError(
            f"the server's address {problem}",
            where=variable,
            hint="Write http://host:port/v1; keys go into their own variable.",
        )

    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise refuse("is no URL") from error
    if parts.username is not None or parts.password is not None:
        raise refuse("holds credentials")
    if parts.scheme not in {"http", "https"}:
        raise refuse("is neither http nor https")
    if parts.query or parts.fragment:
        raise refuse("has a query or fragment")
    host = parts.hostname or ""
    if not host or one_line(text) != text or " " in text:
        raise refuse("is no URL")
    if host == "0.0.0.0":  # noqa: S104 - the address is replaced, nothing is bound to it
        host = "127.0.0.1"
    if variable == "OLLAMA_HOST" and port is None and parts.scheme == "http":
        port = 11434
    shown = f"[{host}]" if ":" in host else host
    place = shown if port is None else f"{shown}:{port}"
    return SplitResult(parts.scheme, place, parts.path.rstrip("/") or "/v1", "", "")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
