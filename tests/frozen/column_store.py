"""Writes columns of values to a text file, reads them back, and describes differences.

A *token* is the text of one value. "Frozen" values are those in the text file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from frozen.output_files import FIGURES, KEYS, SENTENCE_NUMBERS, Cell, Columns

MAX_HEAD = 600  # characters of a column that stay readable; its other values are digested
BLOCK_SIZE = 24  # values under one digest
# Columns that are compared as sets, so all their values must stay readable.
SET_COLUMNS = {KEYS, SENTENCE_NUMBERS}

Outputs = dict[str, Columns]


@dataclass
class Column:
    """A frozen column: its first values are readable, the others are digested in blocks.

    Attributes:
        head: the first values.
        count: the number of all values.
        digests: the digest of each block of values after the head.
    """

    head: list[str]
    count: int
    digests: list[str] = field(default_factory=list)


def compress_column(key: str, tokens: list[str]) -> Column:
    """Returns the frozen form of a column."""
    head_length, head_count = 0, 0
    while head_count < len(tokens) and (key in SET_COLUMNS or head_length < MAX_HEAD):
        # A repeated value is written once, so only its first occurrence adds to the length.
        if not head_count or tokens[head_count] != tokens[head_count - 1]:
            head_length += len(tokens[head_count]) + 1
        head_count += 1
    return Column(tokens[:head_count], len(tokens), digest_blocks(tokens[head_count:]))


def digest_blocks(tokens: list[str]) -> list[str]:
    """Returns one short digest for every ``BLOCK_SIZE`` values."""
    blocks = (tokens[start : start + BLOCK_SIZE] for start in range(0, len(tokens), BLOCK_SIZE))
    texts = ("\t".join(map(round_token, block)) for block in blocks)
    return [hashlib.sha256(text.encode()).hexdigest()[:6] for text in texts]


def round_token(token: str) -> str:
    """Returns a number with eight digits, since digests are compared without a tolerance."""
    value = parse_float(token)
    return token if value is None else f"{value:.8g}"


def parse_float(token: str) -> float | None:
    """Returns the value of a token that is a number with decimals or an exponent, else ``None``."""
    match = re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", token)
    return float(token) if match and (match[1] or match[2]) else None


def equal_tokens(frozen: str, current: str) -> bool:
    """Returns whether two values are the same, up to rounding errors.

    Most outputs are rounded to twelve digits when they are written. The tolerance is for the
    others: another BLAS or processor may sum in another order.
    """
    if frozen == current:
        return True
    frozen_value, current_value = parse_float(frozen), parse_float(current)
    if frozen_value is None or current_value is None:
        return False
    return math.isclose(frozen_value, current_value, rel_tol=1e-9, abs_tol=1e-12)


def write_frozen(path: Path, outputs: Outputs) -> None:
    """Writes the frozen form of a job's outputs.

    A line ``= NAME`` begins a file. Every other line is a column: its key and its values, with tabs
    between them. ``VALUE×N`` is a value N times. ``~COUNT DIGEST…`` is the number of all values and
    the digests of those after the readable ones. ``@NAME`` means that the column is the same as in
    the file NAME above.
    """
    lines = []
    file_by_column: dict[tuple[str, tuple[str, ...]], str] = {}
    for name, columns in outputs.items():
        lines.append(f"= {name}")
        for key, cells in columns.items():
            tokens = tuple(cell.token for cell in cells)
            first_file = file_by_column.setdefault((key, tokens), name)
            if first_file != name and len("\t".join(tokens)) > len(first_file) + 1:
                lines.append(f"{key}\t@{first_file}")
                continue
            column = compress_column(key, list(tokens))
            fields = [key, *pack_repeats(column.head)]
            if column.digests:
                fields.append(f"~{column.count} {' '.join(column.digests)}")
            lines.append("\t".join(fields))
    path.write_text("\n".join(lines) + "\n", "utf-8")


def pack_repeats(tokens: Iterable[str]) -> Iterator[str]:
    """Writes runs of the same value once."""
    for token, run in groupby(tokens):
        repeat_count = len(list(run))
        yield f"{token}×{repeat_count}" if repeat_count > 1 else token


def unpack_repeats(fields: Iterable[str]) -> Iterator[str]:
    """Reverses ``pack_repeats``."""
    for text in fields:
        # Strings end with a quotation mark, so "×" before digits at the end is not part of one.
        if match := re.fullmatch(r"(.*)×(\d+)", text):
            yield from [match[1]] * int(match[2])
        else:
            yield text


def read_frozen(path: Path) -> dict[str, dict[str, Column]]:
    """Reads what ``write_frozen`` wrote: columns by file and key."""
    frozen: dict[str, dict[str, Column]] = {}
    columns: dict[str, Column] = {}
    for line in path.read_text("utf-8").split("\n"):
        if line.startswith("= "):
            columns = frozen.setdefault(line[2:], {})
        elif line:
            key, *fields = line.split("\t")
            if fields[0].startswith("@"):
                columns[key] = frozen[fields[0][1:]][key]
                continue
            digests: list[str] = []
            count = None
            if fields[-1].startswith("~"):
                total, *digests = fields.pop()[1:].split(" ")
                count = int(total)
            head = list(unpack_repeats(fields))
            columns[key] = Column(head, len(head) if count is None else count, digests)
    return frozen


def rename_token(token: str, names: Mapping[str, str]) -> str:
    """Returns a frozen value with new key names, if it is the name of a key or a list of names."""
    value = json.loads(token) if token[:1] in {'"', "["} else token
    if isinstance(value, list):
        value = [names.get(part, part) for part in value]
    elif isinstance(value, str) and value in names:
        value = names[value]
    else:
        return token
    return json.dumps(value, ensure_ascii=False)


def rename_columns(frozen: dict[str, Column], names: Mapping[str, str]) -> dict[str, Column]:
    """Returns frozen columns under their new keys; columns with the same new key are merged."""
    renamed: dict[str, Column] = {}
    for key, column in frozen.items():
        # output_files puts "data:" before the keys of data inside a page, and "{}" after the key of
        # a table.
        key_name = key.removeprefix("data:").removesuffix("{}")
        new_key = key.replace(key_name, names.get(key_name, key_name))
        # Lists of keys are renamed here. Other values that are the name of a key stay as they are:
        # compare_file compares them with the current values under both the new and the old name.
        head = [rename_token(token, names) for token in column.head] if key == KEYS else column.head
        if existing_column := renamed.get(new_key):
            # The order of the merged values is unknown, so compare_columns ignores it.
            head = [*existing_column.head, *head]
            column = Column(head, existing_column.count + column.count, ["merged"])
            renamed[new_key] = column
        else:
            renamed[new_key] = Column(head, column.count, column.digests)
    return renamed


def compare_outputs(
    frozen: dict[str, dict[str, Column]], outputs: Outputs, names: Mapping[str, str]
) -> Iterator[str]:
    """Yields one line for every column that differs, with the place of its first difference.

    Args:
        frozen: the result of ``read_frozen``.
        outputs: what a job writes now.
        names: new names of renamed keys and files.
    """
    expected = {}
    for old_name, columns in frozen.items():
        # ``names`` has either the whole path of a renamed file or only its last part.
        *folders, file_name = old_name.split("/")
        new_name = "/".join([*folders, names.get(file_name, file_name)])
        expected[names.get(old_name) or new_name] = columns
    for name in [*expected, *(name for name in outputs if name not in expected)]:
        if name not in outputs:
            yield f"{name}: the file is gone"
        elif name not in expected:
            yield f"{name}: the file is new"
        else:
            yield from compare_file(
                name, rename_columns(expected[name], names), outputs[name], names
            )


def compare_file(
    name: str, frozen: dict[str, Column], current: Columns, names: Mapping[str, str]
) -> Iterator[str]:
    """Yields one line for every column of one file that differs."""
    old_names = {new: old for old, new in names.items()}
    for key in [*frozen, *(key for key in current if key not in frozen)]:
        if key not in current:
            column = frozen[key]
            yield f"{name}: key {key!r} is gone ({column.count} values, {column.head[:3]} …)"
        elif key not in frozen:
            token, position = current[key][0]
            yield f"{name}: key {key!r} is new ({len(current[key])} values, {token} at {position})"
        elif key == KEYS:
            yield from compare_key_lists(name, frozen[key], current[key])
        elif key == SENTENCE_NUMBERS:
            # A reworded sentence may state a number in another place of the same page.
            stated = {cell.token for cell in [*current[key], *current.get(FIGURES, [])]}
            if missing := [token for token in frozen[key].head if token not in stated]:
                yield f"{name}: {key} has lost {', '.join(missing[:5])} ({len(missing)} in all)"
        elif difference := compare_columns(frozen[key], current[key]):
            # A renamed key may also be a value, as in a CSV column of metrics. The frozen value may
            # be hidden in a digest, so the current value is compared under its old name.
            restored_cells = [
                Cell(rename_token(cell.token, old_names), cell.position) for cell in current[key]
            ]
            if not names or compare_columns(frozen[key], restored_cells):
                yield f"{name}: {key} {difference}"


def compare_key_lists(name: str, frozen: Column, current: list[Cell]) -> Iterator[str]:
    """Yields a line that describes which objects have other keys now.

    Each value of the two columns is the list of keys of an object, as JSON.
    """
    frozen_lists = set(frozen.head)
    position_by_list = {cell.token: cell.position for cell in current}
    removed_lists = [key_list for key_list in frozen.head if key_list not in position_by_list]
    added_lists = [
        (key_list, position)
        for key_list, position in position_by_list.items()
        if key_list not in frozen_lists
    ]
    if removed_lists or added_lists:
        old_keys = {key for key_list in removed_lists for key in json.loads(key_list)}
        new_keys = {key for key_list, _ in added_lists for key in json.loads(key_list)}
        first_position = added_lists[0][1] if added_lists else "?"
        yield (
            f"{name}: objects have other keys, first at {first_position!r}: "
            f"gone {sorted(old_keys - new_keys)}, new {sorted(new_keys - old_keys)}"
            f" ({len(removed_lists)} lists of keys gone, {len(added_lists)} new)"
        )


def compare_columns(frozen: Column, current: list[Cell]) -> str:
    """Describes the first difference of a column; returns an empty string if there is none."""
    total = f"of {frozen.count}"
    if frozen.count != len(current):
        total += f", now of {len(current)}"
    if frozen.digests == ["merged"]:
        missing_tokens = Counter(frozen.head) - Counter(cell.token for cell in current)
        if frozen.count == len(current) and not missing_tokens:
            return ""
        return f"{total} (keys that now share a name): not found are {list(missing_tokens)[:3]}"
    for index, token in enumerate(frozen.head):
        if index == len(current):
            return (
                f"ends after {len(current)} values instead of {frozen.count}; "
                f"the next frozen value is {token}"
            )
        if not equal_tokens(token, current[index].token):
            cell = current[index]
            return f"no. {index + 1} {total}, at {cell.position}: frozen {token}, now {cell.token}"
    start = len(frozen.head)
    current_tail = [cell.token for cell in current[start:]]
    for block, digest in enumerate(digest_blocks(current_tail)):
        if block >= len(frozen.digests) or digest != frozen.digests[block]:
            first_index = start + block * BLOCK_SIZE
            examples = ", ".join(
                f"{cell.position}: {cell.token}" for cell in current[first_index : first_index + 3]
            )
            last_number = min(first_index + BLOCK_SIZE, max(frozen.count, len(current)))
            return (
                f"among no. {first_index + 1} to {last_number} {total} (frozen as a digest; "
                "to see the values, run test_frozen_outputs.py --keep at the commit that froze "
                f"them), now {examples} …"
            )
    if frozen.count == len(current):
        return ""
    return f"has {len(current)} values instead of {frozen.count}"
