"""The statistics of a result file: what metrics need of its rows, in a tenth of their size.

``epoche eval --shard`` writes ``X.statistics.msgpack`` beside ``X.jsonl``, and ``epoche merge``
adds those of the shards. They are sums per card, from which every sum per cluster follows: systems
are compared card by card, and all-three needs the answers of each triplet. Commands that compute
metrics take them in place of the rows if nothing changed since; they give the same numbers.
"""

from __future__ import annotations

import re
from array import array
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.abstention.manifest import RunManifest, read_manifest
from eval.abstention.result import PREDS
from kg.base.errors import EpocheError
from kg.base.files import sha256_bytes, sha256_file
from kg.base.packed_strings import PackedStrings
from kg.base.provenance import manifest_path, package_version
from kg.claims import LABELS

FORMAT: Final = "epoche.statistics/1"
DIGEST_MODULUS: Final = 1 << 256
"""Digests of rows are sums modulo this, so that those of shards can be added."""
NO_NUMBER: Final = -1
"""Number of the triplet or cluster of a card that has none."""
_NO_ANSWER: Final = 255
"""Prediction code of a card without an answer."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CONTINUATION: Final = 0b10
"""The first two bits of a byte of UTF-8 that does not begin a character."""


class Strings(msgspec.Struct, frozen=True):
    """Strings as UTF-8 one after another, and where each of them ends, as ``<u8``."""

    content: bytes
    ends: bytes

    def __len__(self) -> int:
        return len(self.ends) // 8

    def unpack(self) -> PackedStrings:
        """Returns the strings."""
        return PackedStrings.from_bytes(self.content, np.frombuffer(self.ends, dtype="<u8"))


class Answers(msgspec.Struct, frozen=True):
    """The answers of one repeat of a system, by card: prediction codes, and confidences if any.

    Attributes:
        system, repeat: the system's name in the rows, and the number of the repeat.
        preds: prediction codes, a byte each; ``_NO_ANSWER`` where there is none.
        confidences: as ``<f8``, nan where there is none; empty if no reply has one.
    """

    system: str
    repeat: int
    preds: bytes
    confidences: bytes


class RowStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of the rows of one file, cards in the order of their first rows.

    Attributes:
        format, version: the format, and the version of Epoché that wrote them.
        rows_sha256: the file of rows.
        rows_digest: the digest of its rows in any order, which is a sum over them.
        card_set: the card set that the rows name.
        n_rows: number of rows.
        ids: ids of the cards.
        labels, golds: label codes, a byte each.
        traits: numbers in ``distinct_traits``, as ``<i4``.
        distinct_traits: kind, difficulty, full label, and whether only mined rules contradict.
        triplets, clusters: numbers in the names, as ``<i4``; -1 for none.
        triplet_names, cluster_names: names by number, in the order of their first cards.
        answers: the answers, by system and repeat in the order of their first rows.
    """

    format: str
    version: str
    rows_sha256: str
    rows_digest: str
    card_set: str
    n_rows: int
    ids: Strings
    labels: bytes
    golds: bytes
    traits: bytes
    distinct_traits: list[tuple[str, str, str, bool]]
    triplets: bytes
    triplet_names: Strings
    clusters: bytes
    cluster_names: Strings
    answers: list[Answers]


def digest_rows(path: Path) -> str:
    """Returns a digest of the rows of a file that does not depend on their order."""
    total = 0
    with path.open("rb") as handle:
        for line in handle:
            total += int.from_bytes(blake2b(line.rstrip(b"\r\n"), digest_size=32).digest())
    return f"{total % DIGEST_MODULUS:064x}"


def statistics_path(results: Path) -> Path:
    """Returns the path of the statistics of a result file."""
    return results.with_name(f"{results.stem}.statistics.msgpack")


class _Version(msgspec.Struct):
    version: str


def read_version(content: bytes) -> str | None:
    """Returns the version of Epoché that wrote statistics; None if they cannot be read."""
    try:
        return msgspec.msgpack.decode(content, type=_Version).version
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def read_statistics(results: Path) -> RowStatistics | None:
    """Reads the statistics of a result file.

    Returns:
        The statistics. None if there are none, or if manifest, rows or they themselves changed
        since they were written, or another version wrote them: the rows must then be read.
    """
    path = statistics_path(results)
    if not path.is_file() or not manifest_path(results).is_file():
        return None
    try:
        manifest = read_manifest(manifest_path(results))
        content = path.read_bytes()
        if sha256_bytes(content) != manifest.statistics_sha256:
            return None
        statistics = msgspec.msgpack.decode(content, type=RowStatistics)
    except (EpocheError, OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return statistics if _describes(statistics, results, manifest) else None


def _describes(statistics: RowStatistics, results: Path, manifest: RunManifest) -> bool:
    return (
        manifest.status == "complete"
        and (statistics.format, statistics.version) == (FORMAT, package_version())
        and statistics.card_set == manifest.cards_sha256[:12]
        and statistics.rows_sha256 == manifest.rows_sha256 == sha256_file(results)
        and _is_consistent(statistics)
    )


def _is_consistent(statistics: RowStatistics) -> bool:
    """Returns whether the statistics can be those of any rows.

    A hash that was forged with them tells nothing, and what is made of them assumes columns of one
    length, known codes, numbers that have a name, and cards and answers that occur once.
    """
    n = len(statistics.ids)
    columns = (
        (statistics.traits, 0, len(statistics.distinct_traits)),
        (statistics.triplets, NO_NUMBER, len(statistics.triplet_names)),
        (statistics.clusters, NO_NUMBER, len(statistics.cluster_names)),
    )
    answers = statistics.answers
    return (
        _DIGEST.fullmatch(statistics.rows_digest) is not None
        and all(map(_are_strings, (statistics.ids, statistics.triplet_names)))
        and _are_strings(statistics.cluster_names)
        and _are_distinct(statistics.ids)
        and all(_has_codes(column, n) for column in (statistics.labels, statistics.golds))
        and all(_has_numbers(column, n, low, limit) for column, low, limit in columns)
        and len({(one.system, one.repeat) for one in answers}) == len(answers)
        and all(_is_valid_answer(one, n) for one in answers)
        and sum(n - one.preds.count(_NO_ANSWER) for one in answers) == statistics.n_rows > 0
    )


def _are_strings(strings: Strings) -> bool:
    """Returns whether the ends ascend to that of the content, between characters of UTF-8."""
    if len(strings.ends) % 8:
        return False
    content = np.frombuffer(strings.content, dtype=np.uint8)
    ends = np.frombuffer(strings.ends, dtype="<u8")
    if not ends.size or ends[-1] != content.size:
        return not ends.size and not content.size
    if (ends[1:] < ends[:-1]).any():
        return False
    if (content[ends[ends < content.size]] >> 6 == _CONTINUATION).any():
        return False
    try:
        strings.content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _are_distinct(strings: Strings) -> bool:
    """Returns whether no string occurs twice; also false if two have the same hash by chance."""
    n = len(strings)
    hashes = np.fromiter(map(hash, strings.unpack().iter_encoded(range(n))), np.int64, n)
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()


def _has_codes(column: bytes, n: int) -> bool:
    """Returns whether a column has n codes of labels."""
    return len(column) == n and max(column, default=0) < len(LABELS)


def _has_numbers(column: bytes, n: int, low: int, limit: int) -> bool:
    """Returns whether a column has n numbers from ``low`` to below ``limit``."""
    if len(column) != 4 * n:
        return False
    numbers = to_numbers(column)
    return bool(((low <= numbers) & (numbers < limit)).all())


def _is_valid_answer(answers: Answers, n: int) -> bool:
    """Returns whether the codes are predictions, and the confidences probabilities."""
    if len(answers.preds) != n or len(answers.confidences) not in (0, 8 * n) or answers.repeat < 0:
        return False
    codes = np.frombuffer(answers.preds, dtype=np.uint8)
    confidences = np.frombuffer(answers.confidences, dtype="<f8")
    is_probability = np.isnan(confidences) | ((confidences >= 0) & (confidences <= 1))
    return bool(((codes < len(PREDS)) | (codes == _NO_ANSWER)).all() and is_probability.all())


def to_numbers(column: bytes) -> NDArray[np.int32]:
    """Returns the numbers in a column."""
    return np.frombuffer(column, dtype="<i4").astype(np.int32, copy=False)


def to_column(numbers: NDArray[Any] | array[int]) -> bytes:
    """Returns numbers as a column."""
    return np.asarray(numbers).astype("<i4").tobytes()
