"""Inserts JSON-LD contexts that lie beside the data into a document; nothing is downloaded.

A context is referred to by a relative path or a URL. It is read from that path inside the folder
of the file that refers to it, or from folders beside the data like its address, or like the end of
it: ``w3id.org/crate/1.1/context``, ``1.1/context`` or ``context``, each with or without ``.jsonld``
or ``.json``.
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
MAX_FOLDERS = 10
"""Maximum number of folders of an address that are searched, from its end."""
MAX_NESTED_CONTEXTS = 8
"""Maximum number of contexts that refer to each other in a row."""
EXTENSIONS = ("", ".jsonld", ".json")

Addresses = dict[Path, tuple[str, ...]]
"""File → the parts of the longest address that it has been read for."""

# A reference is a string, or a string in a list; any other context can be left to the parser.
_REFERENCE = re.compile(rb'"@context"\s*:\s*["\[]|"@import"')


def insert_local_contexts(data: bytes, path: Path, addresses: Addresses | None = None) -> bytes:
    """Returns a JSON-LD document in which local contexts replace the references to them.

    Args:
        data: the document; it is returned unchanged if it has no references.
        path: its file.
        addresses: what contexts were read for so far, for other files that are read with this one.

    Raises:
        GraphSyntaxError: a context is not beside the file, is not JSON, or refers to itself; or two
            addresses would be read from one file.
        GraphTooLargeError: a context, or all together, are too large.
    """
    if not _REFERENCE.search(data):
        return data
    try:
        document = json.loads(data)
    except ValueError:
        return data  # The parser's message says where.
    contexts = _LocalContexts(path, {} if addresses is None else addresses)
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

    def __init__(self, path: Path, addresses: Addresses) -> None:
        self._path = path
        self._folder = path.resolve().parent
        self._addresses = addresses
        self._texts: dict[Path, bytes] = {}
        self._inserted_bytes = 0

    def resolve(self, context: Any, depth: int = 0, folder: Path | None = None) -> Any:
        """Returns a context in which the files' content replaces the references to them.

        Args:
            context: the context.
            depth: how many contexts refer to each other so far.
            folder: folder of the file that has it; None for that of the data.
        """
        if isinstance(context, str):
            return self._load(context, depth, folder)
        if isinstance(context, list):
            resolved: list[Any] = []
            for part in context:
                value = self.resolve(part, depth, folder)
                resolved += value if isinstance(value, list) else [value]
            return resolved
        if not isinstance(context, dict):
            return context
        result: dict[str, Any] = {}
        if isinstance(context.get("@import"), str):
            imported = self._load(context["@import"], depth, folder)
            if not isinstance(imported, dict):
                raise self._make_error("an imported @context is not a JSON object", "Correct it.")
            result.update(imported)
        for term, definition in context.items():
            if isinstance(definition, dict) and "@context" in definition:
                scoped = self.resolve(definition["@context"], depth + 1, folder)
                definition = {**definition, "@context": scoped}
            if term != "@import":
                result[term] = definition
        return result

    def _load(self, reference: str, depth: int, folder: Path | None) -> Any:
        """Returns the content of a context file, without references."""
        name = clean_text(reference, 200)
        if depth > MAX_NESTED_CONTEXTS:
            raise self._make_error(
                f"the @context {name} refers to itself, or to too many others in a row",
                "Remove the reference.",
            )
        file = self._find_file(reference, folder or self._folder)
        text = self._texts.get(file)
        if text is None:
            with file.open("rb") as stream:
                guarded = LimitedStream(stream, file, MAX_FILE_BYTES)
                text = self._texts[file] = read_json_with_depth_limit(guarded, file)
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
        return self.resolve(content["@context"], depth + 1, file.parent)

    def _find_file(self, reference: str, folder: Path) -> Path:
        address = urlsplit(reference)
        path = unquote(address.path)
        if not address.scheme and (file := self._find_in(folder, path)):
            return file
        parts = tuple(p for p in f"{address.netloc.lower()}{path}".split("/") if p)[-MAX_FOLDERS:]
        for start in range(len(parts)):
            file = self._find_in(self._folder, "/".join(parts[start:]))
            if file is not None:
                if address.scheme:
                    self._require_only_address(file, parts, address.query)
                return file
        last_part = parts[-1] if parts else "context"
        raise self._make_error(
            f"the @context {clean_text(reference, 200)} is not beside the file, and nothing is "
            "downloaded",
            f"Save it there as {clean_text(last_part, 100)!r}, with or without "
            ".jsonld, or copy it into the file.",
        )

    def _find_in(self, folder: Path, place: str) -> Path | None:
        """Finds a context file below a folder; None if there is none."""
        for extension in EXTENSIONS:
            try:
                file = (folder / (place + extension)).resolve()
                # A hostile file must not make the program read files elsewhere.
                is_inside = self._folder in file.parents and file != self._path.resolve()
                if is_inside and file.is_file():
                    return file
            except (OSError, ValueError):
                continue  # a name that is too long, or has a null character
        return None

    def _require_only_address(self, file: Path, parts: tuple[str, ...], query: str) -> None:
        """Raises an error if a file would be read for two addresses."""
        last_part = parts[-1].removesuffix(".jsonld").removesuffix(".json")
        new = (*parts[:-1], f"{last_part}?{query}" if query else last_part)
        known = self._addresses.get(file, new)
        n = min(len(known), len(new))
        if known[-n:] != new[-n:]:
            first, second = (clean_text("/".join(address), 200) for address in (known, new))
            raise self._make_error(
                f"the @contexts {first} and {second} would both be read from {file.name}",
                f"Save each in folders like its address, beside the data: {'/'.join(parts)}.",
            )
        self._addresses[file] = max(known, new, key=len)

    def _make_error(self, what: str, hint: str) -> GraphSyntaxError:
        return GraphSyntaxError(what, where=str(self._path), hint=hint)
