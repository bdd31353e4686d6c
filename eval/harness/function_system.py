"""Makes a system of one function that answers."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from kg.base.files import sha256_bytes

_MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class FunctionSystem:
    """A system that is one function.

    Args:
        function: answers; it gets what a system may see of an item, and the settings as keyword
            arguments.
        source: the module and function, for the manifest.
        settings: the ``--set`` pairs.

    Attributes:
        name: name of the function.
        answer: the function with its settings.
    """

    def __init__(
        self, function: Callable[..., Any], source: str, settings: Mapping[str, str]
    ) -> None:
        # An object whose ``__call__`` is a coroutine function is not itself recognised as one.
        call: Any = function if inspect.isroutine(function) else getattr(function, "__call__")  # noqa: B004,B009 - bound
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self.answer: Callable[..., Any] = functools.partial(call, **settings) if settings else call
        self._params = {"function": source, "code": _hash_code(function), **settings}

    def params(self) -> dict[str, Any]:
        """Returns the name of the function, a hash of its code, and its settings.

        A run is not resumed with a function that was changed.
        """
        return self._params


def _hash_code(function: Callable[..., Any]) -> str:
    """Returns a hash of a function's source; empty if Python does not know it."""
    try:
        source = inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        source = "" if code is None else f"{code.co_code!r} {code.co_names} {code.co_consts}"
    return sha256_bytes(_MEMORY_ADDRESS.sub("", source).encode())[:12] if source else ""
