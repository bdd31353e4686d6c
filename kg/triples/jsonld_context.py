"""Inserts JSON-LD contexts that lie beside the data into a document; nothing is downloaded.

A context is referred to by a relative path or a URL. It is read from that path inside the folder
of the data, or from a file beside the data that has the last part of the path or URL as its name,
with or without ``.jsonld`` or ``.json``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from kg.base.errors import GraphSyntaxError, GraphTooLargeError
from kg.base.plain_text import clean_text
from kg.triples.stream_guards import LimitedStream, read_json_with_depth_limit

MAX_FILE_BYTES = 5_000_000
"""Maximum size of a context file."""
MAX_INSERTED_BYTES = 200_000_000
"""Maximum size of all inserted contexts; one that is referred to several times counts as often."""
MAX_NESTED_CONTEXTS = 8
"""Maximum number of contexts that refer to each other in a row."""
EXTENSIONS = ("", ".jsonld", ".json")

# A reference is a string, or a string in a list; any other context can be left to the parser.
_REFERENCE = re.compile(rb'"@context"\s*:\s*["\[]|"@import"')


def insert_local_contexts(data: bytes, path: Path) -> bytes:
    """Returns a JSON-LD document in which local contexts replace the references to them.

    Args:
        data: the document; it is returned unchanged if it has no references.
        path: its file.

    Raises:
        GraphSyntaxError: a context is not beside the file, is not JSON, or refers to itself.
        GraphTooLargeError: a context, or all together, are too large.
    """
    if not _REFERENCE.search(data):
        return data
    try:
        document = json.loads(data)
    except ValueError:
        return data  # The parser's message says where.
    contexts = _LocalContexts(path)
    pending = [document]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
        elif isinstance(node, dict) and node.get("@type") != "@json":
            if "@context" in node:
                node["@context"] = contexts.resolve(node["@context"])
            pending += [value for key, value in node.items() if key != "@context"]
    return json.dumps(document).encode()


class _LocalContexts:
    """Reads the contexts beside one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts: dict[str, bytes] = {}
        self._parts_by_file: dict[Path, list[str]] = {}
        self._inserted_bytes = 0

    def resolve(self, context: Any, depth: int = 0) -> Any:
        """Returns a context in which the files' content replaces the references to them."""
        if isinstance(context, str):
            return self._load(context, depth)
        if isinstance(context, list):
            resolved: list[Any] = []
            for part in context:
                value = self.resolve(part, depth)
                resolved += value if isinstance(value, list) else [value]
            return resolved
        if not isinstance(context, dict):
            return context
        result: dict[str, Any] = {}
        if isinstance(context.get("@import"), str):
            imported = self._load(context["@import"], depth)
            if not isinstance(imported, dict):
                raise self._make_error("an imported @context is not a JSON object", "Correct it.")
            result.update(imported)
        for term, definition in context.items():
            if isinstance(definition, dict) and "@context" in definition:
                scoped = self.resolve(definition["@context"], depth + 1)
                definition = {**definition, "@context": scoped}
            if term != "@import":
                result[term] = definition
        return result

    def _load(self, reference: str, depth: int) -> Any:
        """Returns the content of a context file, without references."""
        name = clean_text(reference, 200)
        if depth > MAX_NESTED_CONTEXTS:
            raise self._make_error(
                f"the @context {name} refers to itself, or to too many others in a row",
                "Remove the reference.",
            )
        text = self._texts.get(reference)
        if text is None:
            file = self._find_file(reference)
            with file.open("rb") as stream:
                guarded = LimitedStream(stream, file, MAX_FILE_BYTES)
                text = self._texts[reference] = read_json_with_depth_limit(guarded, file)
        self._inserted_bytes += len(text)
        if self._inserted_bytes > MAX_INSERTED_BYTES:
            raise GraphTooLargeError(
                f"its @contexts have more than {MAX_INSERTED_BYTES} bytes in all",
                where=str(self._path),
                hint="Refer to the @context once, at the top of the file.",
            )
        try:
            content = json.loads(text)
        except ValueError as error:
            raise self._make_error(
                f"the @context {name} is not JSON: {error}", "Correct the file beside the data."
            ) from error
        if not isinstance(content, dict) or "@context" not in content:
            raise self._make_error(
                f"the file of the @context {name} has no @context", "Correct that file."
            )
        return self.resolve(content["@context"], depth + 1)

    def _find_file(self, reference: str) -> Path:
        address = urlsplit(reference)
        folder = self._path.resolve().parent
        parts = [unquote(p) for p in (address.netloc + address.path).split("/") if p]
        # The whole address as folders, then ever less of it, at last the name alone.
        for place in ("/".join(parts[start:]) for start in range(len(parts))):
            for extension in EXTENSIONS:
                file = (folder / (place + extension)).resolve()
                # A hostile file must not make the program read files elsewhere.
                if folder not in file.parents or file == self._path.resolve():
                    continue
                if file.is_file():
                    self._require_only_reference(file, parts)
                    return file
        last_part = parts[-1] if parts else "context"
        raise self._make_error(
            f"the @context {clean_text(reference, 200)} is not beside the file, and nothing is "
            "downloaded",
            f"Save it there as {clean_text(last_part, 100)!r}, with or without "
            ".jsonld, or copy it into the file.",
        )

    def _require_only_reference(self, file: Path, parts: list[str]) -> None:
        """Raises an error if the @context of another address has been read from a file."""
        others = self._parts_by_file.setdefault(file, parts)
        n = min(len(others), len(parts))
        if others[-n:] != parts[-n:]:
            addresses = [clean_text("/".join(address), 200) for address in (others, parts)]
            raise self._make_error(
                f"the @contexts {' and '.join(addresses)} would both be read from {file.name}",
                f"Save each in folders like its address: {addresses[1]}.",
            )

    def _make_error(self, what: str, hint: str) -> GraphSyntaxError:
        return GraphSyntaxError(what, where=str(self._path), hint=hint)
