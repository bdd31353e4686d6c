"""Resolves ``provider/model`` to the address of a server and a key.

Keys come only from the environment or ``.env``, never from flags, because flags end up in shell
histories, process lists and manifests. Addresses may also come from a configuration file.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

from eval.model.environment import Variables
from kg.base.errors import ModelAccessError
from kg.base.plain_text import to_one_line

MAX_MODEL_NAME_LENGTH = 300
"""Maximum number of characters of a model's name."""


RECORDED = "recorded"
"""The provider that answers from recorded replies (``eval.model.recorded_replies``)."""
RECORDED_ADDRESS = "http://recorded.invalid/v1"
"""Stands for its address in keys and manifests; no machine has it."""
RECORD_URL_VARIABLE = "EPOCHE_RECORD_URL"
"""Names the server that is recorded."""


class Provider(NamedTuple):
    """A kind of server, and the variables with its address and key.

    Attributes:
        url_variable: name of the variable with the base URL.
        default_url: the base URL if the variable is not set; empty if it must be set.
        key_variable: name of the variable with the key.
        key_needed: whether servers of this kind require a key.
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


def find_recorded_model(name: str) -> str:
    """Returns the recorded model in the name of a model or system, or an empty text."""
    return f":{name}".partition(f":{RECORDED}/")[2]


@dataclass(frozen=True)
class Endpoint:
    """One model on one server.

    Attributes:
        name: ``provider/model`` as the user wrote it.
        provider: the first part of ``name``.
        model: the rest of ``name``, which is the model's name on the server.
        base_url: address of the API, without credentials and final slash.
        key: the key, or empty; not shown in ``repr``.
        server_url: address of the server, if it is not ``base_url``: of a model being recorded.
    """

    name: str
    provider: str
    model: str
    base_url: str
    key: str = field(default="", repr=False)
    server_url: str = ""

    @property
    def request_url(self) -> str:
        """Where requests are sent."""
        return self.server_url or self.base_url

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, so that no proxy must be used."""
        return _is_loopback_host(urlsplit(self.request_url).hostname or "")


def find_endpoint(name: str | None, variables: Variables, address: str | None = None) -> Endpoint:
    """Returns the endpoint of a model.

    Args:
        name: ``provider/model``; by default ``EPOCHE_MODEL``.
        variables: the environment and ``.env``.
        address: address from a configuration file, which takes precedence over ``variables``.

    Raises:
        ModelAccessError: no model is named, the provider is unknown, its address or key is not
            set, or the address is not a plain ``http(s)://host/path``.
    """
    name = (name or variables.get("EPOCHE_MODEL") or "").strip()
    providers = (*PROVIDERS, RECORDED)
    provider_names = ", ".join(providers)
    if not name:
        raise ModelAccessError(
            "no model is named",
            where="--model",
            hint="Name one as provider/model, e.g. --model ollama/llama3.2, or set EPOCHE_MODEL.",
        )
    provider, slash, model = name.partition("/")
    if provider not in providers or not slash or not model.strip():
        problem = "has no provider" if not slash else "has no model name"
        if slash and provider not in providers:
            problem = f"names the unknown provider {provider!r}"
        raise ModelAccessError(
            f"model {name!r} {problem}",
            where="--model",
            hint=f"Write provider/model; the providers are {provider_names}.",
        )
    if len(model) > MAX_MODEL_NAME_LENGTH or to_one_line(model) != model:
        raise ModelAccessError(
            f"the model's name must be one printable line of at most {MAX_MODEL_NAME_LENGTH} "
            "characters",
            where="--model",
            hint="Was something else copied into --model or EPOCHE_MODEL?",
        )
    if provider == RECORDED:
        # That server has only the model being recorded; any other is replayed meanwhile.
        is_being_recorded = variables.get_exported("EPOCHE_MODEL") == name
        server_url = (is_being_recorded and variables.get_exported(RECORD_URL_VARIABLE)) or ""
        return Endpoint(name, provider, model, RECORDED_ADDRESS, server_url=server_url)
    server = PROVIDERS[provider]
    key = variables.get(server.key_variable) or ""
    if not key.isascii() or not key.isprintable():
        raise ModelAccessError(
            "the key contains characters that are not printable ASCII",
            where=server.key_variable,
            hint="Was something else copied with it?",
        )
    if server.key_needed and not key:
        raise ModelAccessError(
            f"provider {provider} needs a key",
            where=server.key_variable,
            hint=f"Set {server.key_variable} in the environment or in .env; never as a flag.",
        )
    if address is not None:
        return _build_configured_endpoint(name, provider, model, address, variables)
    url = variables.get(server.url_variable) or server.default_url
    if not url:
        raise ModelAccessError(
            f"provider {provider} needs an address",
            where=server.url_variable,
            hint=f"For example {server.url_variable}=http://127.0.0.1:8000/v1.",
        )
    url_parts = _parse_address(url, server.url_variable)
    if (
        key
        and variables.is_from_file(server.url_variable)
        and not variables.is_from_file(server.key_variable)
        and not _is_loopback_host(url_parts.hostname or "")
    ):
        # A downloaded folder may contain a .env that would send the user's key to any server.
        raise ModelAccessError(
            f".env names the server {url_parts.hostname!r}, but the key comes from the environment",
            where=server.url_variable,
            hint=f"Set {server.url_variable} in the environment too, if it may get that key.",
        )
    return Endpoint(name, provider, model, urlunsplit(url_parts), key)


def _build_configured_endpoint(
    name: str, provider: str, model: str, address: str, variables: Variables
) -> Endpoint:
    """Returns the endpoint at an address that a configuration file names.

    Such a file may come from anywhere. Therefore a key is sent only to an address on this machine,
    or to one that the environment names too.

    Raises:
        ModelAccessError: the address is malformed, or would get a key without being trusted.
    """
    server = PROVIDERS[provider]
    url_parts = _parse_address(address, "base_url")
    key = variables.get(server.key_variable) or ""
    trusted_url = variables.get(server.url_variable) or server.default_url
    # An address in .env is trusted only with a key that is in .env too.
    is_trusted = variables.is_from_file(server.key_variable) or not variables.is_from_file(
        server.url_variable
    )
    is_trusted_url = (
        is_trusted
        and bool(trusted_url)
        and _parse_address(trusted_url, server.url_variable) == url_parts
    )
    if key and not is_trusted_url and not _is_loopback_host(url_parts.hostname or ""):
        raise ModelAccessError(
            f"the configuration names the server {url_parts.hostname!r}, "
            "but the key comes from the environment",
            where="base_url",
            hint=f"Set {server.url_variable} to it in the environment, if it may get that key.",
        )
    return Endpoint(name, provider, model, urlunsplit(url_parts), key)


def _parse_address(url: str, variable: str) -> SplitResult:
    """Parses a base URL, completes it and returns its parts.

    Accepts the forms in the servers' documentation: ``OLLAMA_HOST`` may be a bare ``host:port``; a
    URL without a path gets ``/v1``, where these servers have their API; ``0.0.0.0`` (listen on all
    interfaces) becomes 127.0.0.1.

    Args:
        url: the address as written.
        variable: name of the variable or setting that it comes from, for error messages.
    """
    text = url if "://" in url else f"http://{url}"

    def make_error(problem: str) -> ModelAccessError:
        # The address is not quoted, since it may contain a password.
        return ModelAccessError(
            f"the server's address {problem}",
            where=variable,
            hint="Write http://host:port/v1; keys have their own variable.",
        )

    try:
        url_parts = urlsplit(text)
        port = url_parts.port
    except ValueError as error:
        raise make_error("is not a URL") from error
    if url_parts.username is not None or url_parts.password is not None:
        raise make_error("contains credentials")
    if url_parts.scheme not in {"http", "https"}:
        raise make_error("is neither http nor https")
    if url_parts.query or url_parts.fragment:
        raise make_error("has a query or fragment")
    host = url_parts.hostname or ""
    if not host or to_one_line(text) != text or " " in text:
        raise make_error("is not a URL")
    if host == "0.0.0.0":  # noqa: S104 - the address is replaced, nothing is bound to it
        host = "127.0.0.1"
    if variable == "OLLAMA_HOST" and port is None and url_parts.scheme == "http":
        port = 11434
    bracketed = f"[{host}]" if ":" in host else host  # IPv6
    netloc = bracketed if port is None else f"{bracketed}:{port}"
    return SplitResult(url_parts.scheme, netloc, url_parts.path.rstrip("/") or "/v1", "", "")


def _is_loopback_host(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
