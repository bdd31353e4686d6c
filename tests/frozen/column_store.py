"""Writes columns of values to a text file, reads them back, and says what differs."""

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

from frozen.output_files import FIGURES, KEYS, SAID, Cell, Columns

MAX_HEAD = 600  # characters of a column that stay readable; the rest is digested
BLOCK = 24  # values under one digest
WHOLE = {KEYS, SAID}  # columns that are compared as sets, and so are kept readable throughout

Outputs = dict[str, Columns]


@dataclass
class Column:
    """A frozen column: its first values readable, the rest as one digest a block.

    Attributes:
        head: the first values.
        count: how many values there are in all.
        digests: of each block of the values after the head.
    """

    head: list[str]
    count: int
    digests: list[str] = field(default_factory=list)


def compress_column(key: str, tokens: list[str]) -> Column:
    """The frozen form of a column."""
    length, cut = 0, 0
    while cut < len(tokens) and (key in WHOLE or length < MAX_HEAD):
        # A repeated value is written once, so it takes no more room.
        if not cut or tokens[cut] != tokens[cut - 1]:
            length += len(tokens[cut]) + 1
        cut += 1
    return Column(tokens[:cut], len(tokens), digest_blocks(tokens[cut:]))


def digest_blocks(tokens: list[str]) -> list[str]:
    """One short digest for every ``BLOCK`` values."""
    blocks = (tokens[at : at + BLOCK] for at in range(0, len(tokens), BLOCK))
    texts = ("\t".join(map(round_token, block)) for block in blocks)
    return [hashlib.sha256(text.encode()).hexdigest()[:6] for text in texts]


def round_token(token: str) -> str:
    """A number with eight digits: digests know no tolerance."""
    value = parse_float(token)
    return token if value is None else f"{value:.8g}"


def parse_float(token: str) -> float | None:
    """The number that a token writes, if it is a number with decimals."""
    found = re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", token)
    return float(token) if found and (found[1] or found[2]) else None


def equal_tokens(frozen: str, now: str) -> bool:
    """Whether two values are the same.

    Most outputs are rounded to twelve digits when they are written. The tolerance is for those
    that are not: another BLAS or processor may sum in another order.
    """
    if frozen == now:
        return True
    first, second = parse_float(frozen), parse_float(now)
    if first is None or second is None:
        return False
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)


def write_frozen(path: Path, outputs: Outputs) -> None:
    """Writes the frozen form of a job's outputs.

    A line ``= NAME`` begins a file. Each other line is a column: its key and its values, with tabs
    between them. ``VALUE×N`` is a value N times, ``~COUNT DIGEST…`` stands for the values after the
    readable ones, and ``@NAME`` says that the column is the same as in a file above.
    """
    lines = []
    written: dict[tuple[str, tuple[str, ...]], str] = {}
    for name, columns in outputs.items():
        lines.append(f"= {name}")
        for key, cells in columns.items():
            tokens = tuple(cell.token for cell in cells)
            same_as = written.setdefault((key, tokens), name)
            if same_as != name and len("\t".join(tokens)) > len(same_as) + 1:
                lines.append(f"{key}\t@{same_as}")
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
        times = len(list(run))
        yield f"{token}×{times}" if times > 1 else token


def unpack_repeats(fields: Iterable[str]) -> Iterator[str]:
    """Undoes ``pack_repeats``."""
    for text in fields:
        # Strings end with a quotation mark, so a cross outside of one is ours.
        token, times = found.groups() if (found := re.fullmatch(r"(.*)×(\d+)", text)) else (text, 1)
        yield from [token] * int(times)


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
    """A frozen value with the new name of a key, if it is the name of a key or a list of them."""
    value = json.loads(token) if token[:1] in {'"', "["} else token
    if isinstance(value, list):
        value = [names.get(part, part) for part in value]
    elif isinstance(value, str) and value in names:
        value = names[value]
    else:
        return token
    return json.dumps(value, ensure_ascii=False)


def rename_columns(frozen: dict[str, Column], names: Mapping[str, str]) -> dict[str, Column]:
    """Frozen columns under their new keys. Columns that come to share a key are put together."""
    renamed: dict[str, Column] = {}
    for key, column in frozen.items():
        bare = key.removeprefix("data:").removesuffix("{}")
        new_key = key.replace(bare, names.get(bare, bare))
        # Lists of keys are renamed here; values that name a key are compared in both forms.
        head = [rename_token(token, names) for token in column.head] if key == KEYS else column.head
        if other := renamed.get(new_key):
            # Nobody knows how their values alternate: compare_columns takes them as a set.
            head = [*other.head, *head]
            column = Column(head, other.count + column.count, ["merged"])
            renamed[new_key] = column
        else:
            renamed[new_key] = Column(head, column.count, column.digests)
    return renamed


def compare_outputs(
    frozen: dict[str, dict[str, Column]], outputs: Outputs, names: Mapping[str, str]
) -> Iterator[str]:
    """Says of every column that differs where it first does: one line each.

    Args:
        frozen: what ``read_frozen`` gave.
        outputs: what a job writes now.
        names: new names of renamed keys and files.
    """
    # A renamed file is named by its path or by its last part alone.
    expected = {
        names.get(name) or "/".join([*name.split("/")[:-1], names.get(last, last)]): columns
        for name, columns in frozen.items()
        for last in [name.rsplit("/", 1)[-1]]
    }
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
    name: str, frozen: dict[str, Column], now: Columns, names: Mapping[str, str]
) -> Iterator[str]:
    """The same for one file."""
    old_names = {new: old for old, new in names.items()}
    for key in [*frozen, *(key for key in now if key not in frozen)]:
        if key not in now:
            column = frozen[key]
            yield f"{name}: key {key!r} is gone ({column.count} values, {column.head[:3]} …)"
        elif key not in frozen:
            token, where = now[key][0]
            yield f"{name}: key {key!r} is new ({len(now[key])} values, {token} at {where})"
        elif key == KEYS:
            yield from compare_shapes(name, frozen[key], now[key])
        elif key == SAID:
            # A reworded sentence may state a number in another place of the same page.
            stated = {cell.token for cell in [*now[key], *now.get(FIGURES, [])]}
            if missing := [token for token in frozen[key].head if token not in stated]:
                yield f"{name}: {key} has lost {', '.join(missing[:5])} ({len(missing)} in all)"
        elif difference := compare_columns(frozen[key], now[key]):
            # A renamed key may also stand as a value, as in a CSV column of metrics. The frozen
            # value may be but a digest, so the old name is put back into what is written now.
            back = [Cell(rename_token(cell.token, old_names), cell.where) for cell in now[key]]
            if not names or compare_columns(frozen[key], back):
                yield f"{name}: {key} {difference}"


def compare_shapes(name: str, frozen: Column, now: list[Cell]) -> Iterator[str]:
    """Says which objects have other keys now."""
    before, after = set(frozen.head), {cell.token: cell.where for cell in now}
    gone = [shape for shape in frozen.head if shape not in after]
    new = [(shape, where) for shape, where in after.items() if shape not in before]
    if gone or new:
        keys_before = {key for shape in gone for key in json.loads(shape)}
        keys_after = {key for shape, _ in new for key in json.loads(shape)}
        yield (
            f"{name}: objects have other keys, first at {new[0][1] if new else '?'!r}: "
            f"gone {sorted(keys_before - keys_after)}, new {sorted(keys_after - keys_before)}"
            f" ({len(gone)} lists of keys gone, {len(new)} new)"
        )


def compare_columns(frozen: Column, now: list[Cell]) -> str:
    """Says where a column first differs; empty when it does not."""
    total = f"of {frozen.count}" + (f", now of {len(now)}" if frozen.count != len(now) else "")
    if frozen.digests == ["merged"]:
        left = Counter(frozen.head) - Counter(cell.token for cell in now)
        if frozen.count == len(now) and not left:
            return ""
        return f"{total} (keys that now share a name): not found are {list(left)[:3]}"
    for index, token in enumerate(frozen.head):
        if index == len(now):
            return f"ends after {len(now)} values, frozen are {frozen.count}; next frozen {token}"
        if not equal_tokens(token, now[index].token):
            cell = now[index]
            return f"no. {index + 1} {total}, at {cell.where}: frozen {token}, now {cell.token}"
    start = len(frozen.head)
    rest = [cell.token for cell in now[start:]]
    for block, digest in enumerate(digest_blocks(rest)):
        if block >= len(frozen.digests) or digest != frozen.digests[block]:
            at = start + block * BLOCK
            some = ", ".join(f"{cell.where}: {cell.token}" for cell in now[at : at + 3])
            last = min(at + BLOCK, max(frozen.count, len(now)))
            return (
                f"among no. {at + 1} to {last} {total} (frozen as a digest; "
                f"--keep at the frozen commit shows the values), now {some} …"
            )
    return "" if frozen.count == len(now) else f"has {len(now)} values, frozen are {frozen.count}"
