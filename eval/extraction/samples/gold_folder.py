"""Finds gold, schemas and texts in a folder of files, for scoring predictions made elsewhere.

Four layouts are recognised by what the files contain:

* **rows**: JSON lines, arrays, Parquet or Excel whose rows have a gold value (or ``gt_path``, the
  path of a file with it, as in omni-extract-bench);
* **cases**: JSON files with schema and gold together (ExtractBench's ``*.test.json``);
* **documents**: one JSON file per gold document, with a schema of the same stem, or the only schema
  in the same folder or one above it (DocuBench, extract-bench);
* the folder with the gold of such a layout alone: schemas are then sought in the folders beside it.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from eval.extraction.samples.column_names import has_gold_column
from eval.extraction.samples.documents import (
    TEXT_ENDINGS,
    Document,
    list_files,
    list_files_beside,
    read_document,
    strip_markers,
)
from eval.extraction.samples.gold_columns import complete_rows, read_text
from eval.extraction.samples.gold_records import (
    describe_places,
    fits_schema,
    is_array_row,
    is_gold_row,
    list_declared_keys,
    list_gold_rows,
    list_item_keys,
    read_case,
)
from eval.extraction.samples.row_files import ENDINGS, Row, iter_file_rows
from eval.extraction.schemas.schema_wrappers import (
    ANNOTATIONS,
    CHECKING_KEYWORDS,
    is_schema,
    unwrap_schema,
)
from kg.base.errors import MissingFileError, RecordError
from kg.base.plain_text import clean_text, join_list

GOLD_NAMES: Final = frozenset(
    {"gold", "golden", "labels", "label", "ground_truth", "groundtruth", "gt", "expected"}
    | {"annotations", "references", "reference", "answers"}
)
"""Names that tell the folder with gold from others with documents of the same stems."""

_SETTINGS_NAMES: Final = ("dataset_infos.json", "dataset_info.json", "state.json", "config.json")
"""Files beside the rows of a data set that say something about it."""
_DOCUMENTS = (".json",)
_MAX_NOTES = 10


def read_gold_folder(
    folder: Path, schema: Any, predictions: Collection[Path], notes: list[str]
) -> Iterator[tuple[str, Iterator[Row]]]:
    """Yields the files of a folder with their rows, in the columns of ``sample_from_row``.

    Args:
        folder: the folder.
        schema: schema of all samples that have none of their own; ``None`` if there is none.
        predictions: files and folders that are predictions, and so not gold.
        notes: takes a note on each document that lies with the gold and is left out.

    Raises:
        MissingFileError: there is no gold.
        RecordError: several folders could be the gold.
    """
    # Gold may be scored against itself.
    paths = {path.resolve() for path in predictions}
    excluded = {path for path in paths if not folder.resolve().is_relative_to(path)}
    files = [file for file in list_files(folder) if not _is_inside(file, excluded)]
    row_files, unmistakable = _find_row_files(files, schema)
    if not row_files:
        documents = [read_document(file) for file in files if file.suffix.lower() in _DOCUMENTS]
        keys = list_declared_keys(schema)
        rows = ((document.path, read_case(document.value, keys)) for document in documents)
        cases = [Document(path, row) for path, row in rows if row is not None]
        for document, name in _name_documents(cases, folder):
            row = {**document.value, "id": document.value.get("id") or name}
            yield name, complete_rows(iter([Row(1, row)]), folder, schema, names_gold=True)
        if cases:
            return
        others = [
            document
            for document in documents
            if document.path not in unmistakable
            and document.path.name.lower() not in _SETTINGS_NAMES
        ]
        if len(_find_schemas(others, schema)) < len(others) or not unmistakable:
            notes += _describe_rows(unmistakable, folder)
            yield from _read_pairs(folder, files, documents, schema, excluded, notes)
            return
    fields = list_declared_keys(schema)
    for file in row_files or unmistakable:
        yield file.name, complete_rows(iter_file_rows(file, fields), folder, schema)


def _describe_rows(files: list[Path], folder: Path) -> Iterator[str]:
    """Yields a note on files with rows that are left out for gold in documents."""
    others = (file for file in files if file.suffix.lower() not in _DOCUMENTS)
    left_out = [file.relative_to(folder).as_posix() for file in others]
    if left_out:
        names = clean_text(join_list(left_out[:_MAX_NOTES]), 200)
        yield f"{names} beside documents with gold is left out; --gold FILE reads its rows"


def _is_inside(file: Path, excluded: Collection[Path]) -> bool:
    if not excluded:
        return False
    path = file.resolve()
    return any(path == other or path.is_relative_to(other) for other in excluded)


def _find_row_files(files: list[Path], schema: Any) -> tuple[list[Path], list[Path]]:
    """Returns the files with rows that have gold, of the least depth at which there are any.

    First those with a schema or a text, then those with nothing but a column of gold.

    Args:
        files: the files.
        schema: the common schema; may be ``None``.
    """
    fields = list_declared_keys(schema)
    found: dict[int, list[Path]] = defaultdict(list)
    unmistakable: dict[int, list[Path]] = defaultdict(list)
    for file in files:
        name = file.name.lower()
        if not name.endswith(ENDINGS):
            continue
        if name.endswith(_DOCUMENTS) and not _starts_with_bracket(file):
            continue
        try:
            first = next(iter_file_rows(file, fields), None)
        except RecordError:
            continue  # damaged as a whole; it is no reason to refuse the others
        if first is None or first.values is None:
            continue
        is_complete = is_gold_row(first.values, has_schema=schema is not None)
        if name.endswith(_DOCUMENTS) and not is_array_row(
            first.values, _list_item_keys(files, schema), is_complete=is_complete
        ):
            continue
        if is_complete:
            found[len(file.parts)].append(file)
        elif has_gold_column(first.values, named=True):
            unmistakable[len(file.parts)].append(file)
    complete, others = (one[min(one)] if one else [] for one in (found, unmistakable))
    return complete, others


def _list_item_keys(files: list[Path], schema: Any) -> frozenset[str]:
    """Returns the keys that the common schema, or one in the folder, has for elements."""
    if schema is not None:
        return list_item_keys(schema)
    objects = (file for file in files if file.suffix.lower() in _DOCUMENTS)
    found = [read_document(file) for file in objects if not _starts_with_bracket(file)]
    schemas = (unwrap_schema(document.value)[0] for document in found)
    return frozenset(key for one in schemas if is_schema(one) for key in list_item_keys(one))


def _starts_with_bracket(file: Path) -> bool:
    with file.open("rb") as handle:
        return handle.read(4096).removeprefix(BOM_UTF8).lstrip().startswith(b"[")


def _find_texts(files: list[Path]) -> dict[str, Path]:
    """Returns the text files by stem; stems of several files are left out."""
    texts = [file for file in files if file.suffix.lower() in TEXT_ENDINGS]
    counts = Counter(map(strip_markers, texts))
    return {name: file for file in texts if counts[name := strip_markers(file)] == 1}


def _name_documents(documents: list[Document], folder: Path) -> Iterator[tuple[Document, str]]:
    """Yields documents with distinct names: stems without markers, whole stems, or paths."""
    # A document that is named like a schema is none, and its name is its own.
    short = [
        document.path.stem
        if document.path.stem.lower().endswith("schema")
        else strip_markers(document.path)
        for document in documents
    ]
    whole = [document.path.stem for document in documents]
    paths = [document.path.relative_to(folder).with_suffix("").as_posix() for document in documents]
    for names in (short, whole, paths):
        if len(set(names)) == len(names):
            yield from zip(documents, names, strict=True)
            return
    yield from zip(documents, paths, strict=True)


def _read_pairs(
    folder: Path,
    files: list[Path],
    documents: list[Document],
    schema: Any,
    excluded: set[Path],
    notes: list[str],
) -> Iterator[tuple[str, Iterator[Row]]]:
    """Yields one row per gold document, with its schema and text."""
    beside: list[Path] = []
    schemas = _find_schemas(documents, schema)
    is_found = schema is not None or any(list_declared_keys(one.value) for one in schemas)
    if not is_found and folder.resolve().parent != folder.resolve():
        beside = [file for file in list_files_beside(folder) if not _is_inside(file, excluded)]
        found = [read_document(file) for file in beside if file.suffix.lower() in _DOCUMENTS]
        schemas = _find_schemas([*documents, *found], None)
    schema_paths = {document.path for document in schemas}
    others = [document for document in documents if document.path not in schema_paths]
    finder = _SchemaFinder(schemas, schema)
    gold, base = _choose_gold(folder, others, finder)
    notes += _describe_left_out(documents, gold, schemas, finder)
    texts, places = _find_texts([*files, *beside]), Counter[str]()
    for document, name in _name_documents(gold, base):
        if document.problem:
            yield name, iter([Row(1, None, document.problem)])
            continue
        found_schema = finder.find_schema(document.path)
        declared = list_declared_keys(found_schema)
        is_only = bool(declared) or len(gold) == 1  # a schema has chosen the gold already
        gold_rows = list_gold_rows(document.value, name, declared, is_only=is_only)
        if gold_rows.place:
            places[gold_rows.place] += 1
        text_file = texts.get(strip_markers(document.path))
        text = {} if text_file is None else {"text": read_text(text_file)}
        rows = (Row(number, text | row) for number, row in enumerate(gold_rows.rows, start=1))
        yield name, complete_rows(rows, folder, found_schema, names_gold=True)
    notes += describe_places(places, len(gold))


def _find_schemas(documents: list[Document], common: Any) -> list[Document]:
    """Returns the schemas among documents.

    An extraction may have fields such as ``type`` and ``$ref``. So what has fields of another
    schema, and declares none, is no schema.

    Args:
        documents: the documents.
        common: the schema of documents without one of their own; may be ``None``.
    """
    found = [document for document in documents if is_schema(unwrap_schema(document.value)[0])]
    declared = [list_declared_keys(document.value) for document in found]
    known = {keys for keys in (*declared, list_declared_keys(common)) if keys}
    return [
        document
        for document, keys in zip(found, declared, strict=True)
        if keys or not any(_has_fields(document.value, other) for other in known)
    ]


def _has_fields(value: dict[str, Any], declared: frozenset[str]) -> bool:
    """Returns whether an object has a declared field that is not named like a keyword."""
    return any(
        key in declared and key not in CHECKING_KEYWORDS and key not in ANNOTATIONS for key in value
    )


def _describe_left_out(
    documents: list[Document], gold: list[Document], schemas: list[Document], finder: _SchemaFinder
) -> Iterator[str]:
    """Yields a note on each document in a folder with gold that is neither gold nor its schema."""
    folders = {document.path.parent for document in gold}
    taken = {document.path for document in gold}
    schema_paths = {document.path for document in schemas}
    used = {id(finder.find_schema(document.path)) for document in gold}
    left_out = [
        document
        for document in documents
        if document.path.parent in folders
        and document.path not in taken
        and id(document.value) not in used
        and not (document.path in schema_paths and list_declared_keys(document.value))
    ]
    for document in left_out[:_MAX_NOTES]:
        reason = "it is taken for a schema"
        if document.path not in schema_paths:
            reason = "it has no field of the schema"
        name = clean_text(document.path.name, 100)
        yield f"{name} in the folder with the gold is left out: {reason}"
    if len(left_out) > _MAX_NOTES:
        yield f"{len(left_out) - _MAX_NOTES:,} more documents are left out for the same reasons"


class _SchemaFinder:
    """Finds the schema of a document: of the same stem, else the only one in or above its folder.

    Args:
        schemas: the schema files.
        common: the schema of documents without one of their own; may be ``None``.
    """

    def __init__(self, schemas: list[Document], common: Any) -> None:
        self._common = common
        self._schemas = schemas
        counts = Counter(strip_markers(document.path) for document in schemas)
        self._by_stem = {
            name: document.value
            for document in schemas
            if counts[name := strip_markers(document.path)] == 1
        }
        self._by_folder: dict[Path, list[Any]] = defaultdict(list)
        for document in schemas:
            self._by_folder[document.path.parent].append(document.value)

    def find_schema(self, path: Path) -> Any:
        """Returns the schema of a document, or ``None``."""
        if self._common is not None:
            return self._common
        found = self._by_stem.get(strip_markers(path))
        if found is not None:
            return found
        for parent in path.parents:
            if parent in self._by_folder:
                values = self._by_folder[parent]
                return values[0] if len(values) == 1 else None
        # The only schema of all is meant for every document.
        return self._schemas[0].value if len(self._schemas) == 1 else None

    def fits_schema(self, document: Document, *, is_only: bool) -> bool:
        """Returns whether a document can be gold by its schema."""
        schema = self.find_schema(document.path)
        return schema is not None and fits_schema(document.value, schema, is_only=is_only)


def _choose_gold(
    folder: Path, documents: list[Document], finder: _SchemaFinder
) -> tuple[list[Document], Path]:
    """Returns the gold documents among others, such as predictions, and the folder they are in.

    Raises:
        MissingFileError: there is none.
        RecordError: several folders have documents that could be the gold.
    """
    named = [document for document in documents if ".gold" in document.path.name.lower()]
    documents = named or documents
    groups: dict[Path, list[Document]] = defaultdict(list)
    with_gold = {one.path.parent for one in documents if finder.fits_schema(one, is_only=False)}
    for document in documents:
        parent = document.path.parent
        if document.problem or finder.fits_schema(document, is_only=parent not in with_gold):
            groups[parent].append(document)
    if not groups:
        for document in documents:
            groups[document.path.parent].append(document)
    if not groups:
        raise MissingFileError(
            "the folder has no gold",
            where=str(folder),
            hint="Gold is one JSON file per document, with a schema of the same name in another "
            "folder; or rows with schema and expected_output.",
        )
    roots = {path: _find_gold_root(path, folder) for path in groups}
    preferred = {path: group for path, group in groups.items() if roots[path]}
    if preferred and not named:
        groups = preferred
    found = [document for group in groups.values() for document in group]
    if named or len(groups) == 1 or len({strip_markers(one.path) for one in found}) == len(found):
        return found, folder
    # Within one folder with gold, documents of the same name are others; below one, predictions.
    root = roots[next(iter(groups))]
    if root is not None and all(roots[path] == root for path in groups):
        names_at_root = {strip_markers(one.path) for one in groups.get(root, ())}
        return [
            document
            for path, group in groups.items()
            if path == root or names_at_root.isdisjoint(strip_markers(one.path) for one in group)
            for document in group
        ], root
    names = [path.relative_to(folder).as_posix() for path in groups]
    raise RecordError(
        f"the same documents are in several folders: {join_list(names[:8])}",
        where=str(folder),
        hint="Name the one with the gold: --gold FOLDER.",
    )


def _find_gold_root(path: Path, folder: Path) -> Path | None:
    """Returns the outermost folder on the way from ``folder`` that is named like one with gold."""
    parts = path.relative_to(folder).parts
    if folder.resolve().name.lower() in GOLD_NAMES:
        return folder
    at = next((at for at, part in enumerate(parts, start=1) if part.lower() in GOLD_NAMES), None)
    return None if at is None else folder.joinpath(*parts[:at])
