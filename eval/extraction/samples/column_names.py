"""Names the columns of rows and the keys of records, in whatever spelling others write them.

Case, "_", "-" and spaces do not count: "trueJsonOutput" and "True JSON Output" are
``true_json_output``. Rows are renamed where they are read, so that all else knows one spelling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from eval.extraction.matchers.schema_nodes import ALTERNATIVES, SchemaNode
from kg.base.strict_json import NotJsonError, parse_json

_GOLD_KEYS: Final = (
    *("expected_output", "gold_output", "ground_truth", "reference_output", "golden_output"),
    *("target_output", "correct_output", "true_json_output", "true_json"),
    *("expected_json", "gold_json", "ground_truth_json", "reference_json", "target_json"),
    *("gt_json", "expected_extraction", "gold_extraction", "expected_outputs"),
    *("reference_outputs", "gt_parse"),
)
_USUAL_KEYS: Final = ("item", "gold", "expected", "label", "json")
OFTEN_FIELD_KEYS: Final = (
    *("item", "label", "json", "labels", "target", "targets", "annotation", "annotations"),
    *("reference", "references", "outputs", "expected_result", "expected_fields"),
    *("expected_values", "expected_answer", "true_output", "expectations", "ideal"),
    *("gold_label", "gold_labels", "gold_standard"),
)
"""Names of the column with gold that are fields beside an id too, so that only columns may stand
beside them."""
FIELD_LIKE_KEYS: Final = (
    *_USUAL_KEYS,
    *("golden", "gt"),
    *(key for key in OFTEN_FIELD_KEYS if key not in _USUAL_KEYS),
)
"""Names of the column with gold that a field may have too; they need an id or a path beside
them."""
EXPECTED_KEYS: Final = (*_GOLD_KEYS, *FIELD_LIKE_KEYS)
"""Alternative names of the column with the expected output; see ``find_gold_key``."""
SURE_KEYS: Final = frozenset((*_GOLD_KEYS, *_USUAL_KEYS))
"""Those that may stand alone, and of which a text can be gold."""
_PARSE_COMPANIONS: Final = (
    *("meta", "valid_line", "roi", "repeating_symbol", "dontcare", "gt_parses"),
)
PARSE_KEY: Final = "gt_parse"
"""Key within the gold of Donut and CORD, beside what was seen on the page."""
SCHEMA_KEYS: Final = ("schema", "data_schema", "json_schema", "schema_definition")
"""Alternative names of the column with the schema; the first that a row has is read."""
ID_KEYS: Final = ("id", "doc_id", "document_id", "example_id", "sample_id", "test_id", "uid")
"""Alternative names of the column with the id; the first that is not empty is read."""
DOMAIN_KEYS: Final = ("domain", "topic", "category", "suite")
"""Alternative names of the column with the domain; the first that is not empty is read."""
DOCUMENT_PATH_KEYS: Final = (
    *("pdf", "doc_path", "file", "file_path", "path", "source_file_path", "file_name"),
    *("document_path", "pdf_path", "image_path", "image", "file_url", "pdf_url", "image_url"),
)
"""Columns with the path of the document that was read."""
GOLD_PATH_KEYS: Final = ("gt_path", "gold_path")
"""Columns with the path of the file that has the gold."""
RULE_KEYS: Final = ("_field_rules", "field_rules", "test_rules")
"""Columns with rules per field, whose evidence has quotes."""
COLUMNS: Final = frozenset(
    (*ID_KEYS, *DOCUMENT_PATH_KEYS, *DOMAIN_KEYS, *SCHEMA_KEYS, *EXPECTED_KEYS)
) | {"text", "language", "meta", "metadata"}
"""All columns of samples that a record may have beside its gold."""


def drop_separators(name: str) -> str:
    """Returns a name in lower case, without separators; "$schema" stays another than "schema"."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


_TEXT_KEYS: Final = frozenset(
    (*DOMAIN_KEYS, *DOCUMENT_PATH_KEYS, *GOLD_PATH_KEYS, "text", "language")
)
_NAMES: Final = (COLUMNS - {"metadata"}).union(GOLD_PATH_KEYS, RULE_KEYS)
_KNOWN: Final = {drop_separators(name): name for name in sorted(_NAMES)}


def rename_columns(row: dict[str, Any], fields: Collection[str] = ()) -> dict[str, Any]:
    """Returns a row with its known columns under the names that are read here.

    A column is renamed if its value is of the kind that is read, and no other has the name.

    Args:
        row: the row or record.
        fields: names that the schema declares: these columns stay as they are, and none gets such
            a name.
    """
    renamed: dict[str, Any] = {}
    for key, value in row.items():
        known = _KNOWN.get(drop_separators(key), key)
        if key in _NAMES or (key in fields and not _has_more(value, row, fields, known)):
            known = key
        is_taken = known in row or known in renamed or known in fields
        renamed[key if is_taken or not is_of_kind(known, value) else known] = value
    return renamed


def _has_more(value: Any, row: dict[str, Any], fields: Collection[str], known: str) -> bool:
    """Returns whether a column for gold has more fields than the row, so that it is no field."""
    if known not in EXPECTED_KEYS:
        return False
    return _count_keys(read_json_text(value), fields) > _count_keys(row, fields)


def list_rivals(row: Mapping[str, Any], key: str) -> list[str]:
    """Lists the columns that have the name of a column in another spelling."""
    name = drop_separators(key)
    return [other for other in row if other != key and drop_separators(other) == name]


def is_of_kind(name: str, value: Any) -> bool:
    """Returns whether a value can be that of a known column; true for any other name."""
    if name == "meta":
        return isinstance(read_json_text(value), dict)
    if name in ID_KEYS:
        return isinstance(value, str | int) and not isinstance(value, bool)
    if name in _TEXT_KEYS:
        return isinstance(value, str)
    if name in SCHEMA_KEYS:
        return isinstance(value, str | dict)
    return name not in EXPECTED_KEYS or value not in ("", None)


def find_names(columns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Lists the columns that have one of the names, in the order of these, in any spelling.

    Args:
        columns: the columns in their order; of several spellings of a name, the first is listed.
        names: the names.
    """
    known = dict.fromkeys(columns)
    spellings: dict[str, str] = {}
    for column in known:
        spellings.setdefault(drop_separators(column), column)
    found = (name if name in known else spellings.get(drop_separators(name)) for name in names)
    return list(dict.fromkeys(filter(None, found)))


def find_gold_key(
    row: Mapping[str, Any], root: SchemaNode | None = None, fields: Collection[str] = ()
) -> str | None:
    """Returns the column with the expected output: the first that fits the schema.

    Where none does, and without a schema, it is the first with an object or an array whose name
    says nothing else; then, unless the row has fields, the first with an object, the first with an
    array, and the first.

    Args:
        row: the row.
        root: schema node of the gold; ``None`` if there is no schema.
        fields: keys of rows that the schema declares and so are fields, unless the value has more
            of them than the row.
    """
    found = [key for key in EXPECTED_KEYS if key in row]
    if not found or (len(found) == 1 and found[0] not in fields):
        return found[0] if found else None
    n_own = _count_keys(row, fields)
    opened = {key: open_gold(row, key) for key in found}
    opened = {
        key: gold
        for key, gold in opened.items()
        if key not in fields or _count_keys(gold, fields) > n_own
    }
    first = next(iter(opened), None)
    if root is not None and root.types and not {"object", "array"}.intersection(root.types):
        return first
    fitting = next((key for key, gold in opened.items() if _fits(gold, root, fields)), None)
    named = [key for key, gold in opened.items() if key in _GOLD_KEYS and _is_container(gold)]
    if fitting is not None or n_own:
        return fitting or next(iter(named), None)
    objects = [key for key, gold in opened.items() if isinstance(gold, dict)]
    arrays = [key for key, gold in opened.items() if isinstance(gold, list)]
    return next(iter((*named, *objects, *arrays)), first)


def _fits(gold: Any, root: SchemaNode | None, fields: Collection[str]) -> bool:
    """Returns whether a value has the type of a schema and, if it is an object, a key of it."""
    types = () if root is None else root.types
    keys = fields if root is None else root.keys
    if isinstance(gold, list):
        return "array" in types
    if not isinstance(gold, dict) or (types and "object" not in types):
        return False
    if not keys:
        return "object" in types
    return not gold or ALTERNATIVES in gold or any(key in keys for key in gold)


def _count_keys(value: Any, fields: Collection[str]) -> int:
    return sum(key in fields for key in value) if isinstance(value, Mapping) else 0


def has_gold_column(row: Mapping[str, Any], *, named: bool = False) -> bool:
    """Returns whether a row has a column that can be gold, by its name or its value.

    Args:
        row: the row.
        named: whether both must be so: by its name it can be nothing else.
    """
    if named:
        return any(_is_container(row.get(key)) for key in _GOLD_KEYS)
    return any(
        key in row and (key in SURE_KEYS or _is_container(row[key])) for key in EXPECTED_KEYS
    )


def open_gold(record: Mapping[str, Any], key: str, fields: Collection[str] = ()) -> Any:
    """Returns the gold in a record: read from a text of JSON, and from under ``gt_parse``.

    Args:
        record: the record.
        key: the key of its gold.
        fields: the keys that the schema declares at the top.
    """
    value = read_json_text(record.get(key))
    if isinstance(value, dict) and PARSE_KEY not in fields and has_parse(value):
        return open_gold(value, PARSE_KEY, fields)
    return value


def has_parse(value: Mapping[str, Any]) -> bool:
    """Returns whether an object is gold of Donut or CORD, beside what was seen on the page."""
    is_parse = isinstance(value.get(PARSE_KEY), dict | list)
    return is_parse and value.keys() <= {PARSE_KEY, *_PARSE_COMPANIONS}


def drop_metadata(gold: Any, root: SchemaNode, *, has_schema: bool) -> tuple[Any, dict[str, None]]:
    """Leaves out the keys of gold that are about it and no fields: "__meta__", "$schema".

    Args:
        gold: the gold; also an array of one object, or several right values.
        root: schema node of the gold. A schema that declares no field allows any.
        has_schema: whether there is a schema; otherwise all such keys are left out.

    Returns:
        The gold, and the keys that were left out, in their order.
    """
    left_out: dict[str, None] = {}
    if isinstance(gold, list) and len(gold) == 1:
        node = root.get_element() if has_schema else root
        inner, left_out = drop_metadata(gold[0], node, has_schema=has_schema)
        return ([inner] if left_out else gold), left_out
    if not isinstance(gold, dict) or (has_schema and not root.keys):
        return gold, left_out
    found = [
        key
        for key in gold
        if key.startswith(("_", "$")) and key != ALTERNATIVES and not _is_meant(key, root)
    ]
    if found and len(found) < len(gold):
        left_out = dict.fromkeys(found)
        gold = {key: part for key, part in gold.items() if key not in left_out}
    alternatives = gold.get(ALTERNATIVES)
    if isinstance(alternatives, list):
        pairs = [drop_metadata(one, root, has_schema=has_schema) for one in alternatives]
        gold = {**gold, ALTERNATIVES: [one for one, _ in pairs]}
        left_out |= {key: None for _, keys in pairs for key in keys}
    return gold, left_out


def _is_meant(key: str, root: SchemaNode) -> bool:
    """Returns whether a schema means a key: it declares or requires it, or says what others are."""
    child = root.get_child(key)
    return child.declared or child.required


def read_json_text(value: Any) -> Any:
    """Reads an object or array that is given as a text of JSON; returns anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse_json(value)
    except NotJsonError:
        return value


def _is_container(value: Any) -> bool:
    return isinstance(read_json_text(value), dict | list)
