"""Result files as arrays: which card, which label, which system answered what.

Reading goes line by line and keeps a few bytes a row. Everything that would make numbers
incomparable is refused by name here, so that what computes them may trust its input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cards.kinds import FAITHFULNESS_KINDS, NEAR_MISS_PREFIX
from eval.manifest import read_manifest
from eval.metrics.outcomes import CONTROLS, GOLD_CODE, LABEL_CODE, PRED_CODE, Codes, read_pred
from eval.metrics.record import Source
from kg.base.errors import CardSetMismatchError, DuplicateIdError, RecordError
from kg.base.files import iter_decoded_lines, require_file, sha256_bytes
from kg.base.provenance import manifest_path
from kg.claims import GOLD_OF_LABEL, LABELS

_MISSING = 255


class _Row(msgspec.Struct):
    """The fields of a result line that metrics need; rows from elsewhere lack the later ones."""

    id: str
    pred: Any
    gold: str | None = None
    label: str | None = None
    system: str | None = ""
    kind: str | None = ""
    cluster: str | None = ""
    difficulty: str | None = None
    cards: str | None = ""


@dataclass(frozen=True)
class Observations:
    """The answers of some systems to one card set, cards sorted by id.

    Attributes:
        cards: identity of the card set (see ``MetricsReport.cards``).
        ids: card ids, length n.
        labels: label codes, shape (n,): what policy ``licensed`` goes by.
        golds: label codes of the gold answers, shape (n,): what policy ``published`` goes by.
        kinds: length n; empty where unknown.
        difficulties: length n; empty where unknown.
        clusters: cluster numbers 0 … n_clusters-1 in the order of their names, shape (n,).
        preds: prediction codes by system, shape (n,) each.
        oracles: systems whose manifests declare them exempt.
        sources: the files read.
        notes: what a reader of the numbers must know.
        unanswered: by system, how many of the cards that any system answered it has no answer to;
            those cards are left out. Systems that answered all are not named.
        n_left_out: cards left out for that reason.
    """

    cards: str
    ids: tuple[str, ...]
    labels: Codes
    golds: Codes
    kinds: tuple[str, ...]
    difficulties: tuple[str, ...]
    clusters: NDArray[np.int64]
    preds: dict[str, Codes]
    oracles: frozenset[str] = frozenset()
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    unanswered: Mapping[str, int] = field(default_factory=dict)
    n_left_out: int = 0

    @property
    def n_clusters(self) -> int:
        """Number of clusters over all cards."""
        return int(self.clusters.max()) + 1 if self.clusters.size else 0

    @property
    def contenders(self) -> tuple[str, ...]:
        """The systems that were read, without controls that were run for real."""
        return tuple(name for name in self.preds if name not in CONTROLS)

    @property
    def headline(self) -> NDArray[np.bool_]:
        """Cards that enter the headline, shape (n,).

        All but context faithfulness and near-misses. Near-misses alone (a file of nothing else)
        are their own headline.
        """
        ordinary = np.array([kind not in FAITHFULNESS_KINDS for kind in self.kinds], dtype=np.bool_)
        context = ordinary & ~self.near_misses
        return context if context.any() else ordinary

    @property
    def near_misses(self) -> NDArray[np.bool_]:
        """Which cards are near-misses, shape (n,)."""
        return np.array([kind.startswith(NEAR_MISS_PREFIX) for kind in self.kinds], dtype=np.bool_)


@dataclass
class _Reader:
    """Cards and answers as they come, in the order of the files."""

    index: dict[str, int] = field(default_factory=dict)
    labels: bytearray = field(default_factory=bytearray)
    golds: bytearray = field(default_factory=bytearray)
    kinds: list[str] = field(default_factory=list)
    difficulties: list[str] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    preds: dict[str, bytearray] = field(default_factory=dict)
    first_in: dict[str, Path] = field(default_factory=dict)
    cards: str = ""
    cards_from: Path | None = None
    unnamed_rows: int = 0

    def read(self, path: Path, *, rename: str | None = None) -> Source:
        """Takes in one file; ``rename`` appends to its system names."""
        decoder = msgspec.json.Decoder(_Row)
        rows = 0
        seen: dict[str, None] = {}
        for number, row in iter_decoded_lines(path, "result", decoder.decode):
            rows += 1
            name = (row.system or path.stem) + (rename or "")
            seen.setdefault(name)
            self._same_cards(row, path, number)
            card = self.index.get(row.id)
            if card is None:
                card = self._new_card(row, path, number)
            else:
                self._same_card(card, row, path, number)
            self._answer(name, card, row, path, number)
        if not rows:
            raise RecordError("no results", where=str(path), hint="Run a system over the cards.")
        for name in seen:
            self.first_in.setdefault(name, path)
        return Source(path=str(path), rows=rows, systems=tuple(sorted(seen)))

    def _same_cards(self, row: _Row, path: Path, number: int) -> None:
        if not row.cards:
            self.unnamed_rows += 1
            return
        if row.cards == self.cards:
            return
        if self.cards:
            raise CardSetMismatchError(
                f"results of card set {row.cards}, but {self.cards_from} has {self.cards}",
                where=f"{path}:{number}",
                hint="Give only results of one card file.",
            )
        self.cards, self.cards_from = row.cards, path

    def _new_card(self, row: _Row, path: Path, number: int) -> int:
        card = self.index[row.id] = len(self.index)
        label, gold = _codes(row, path, number)
        self.labels.append(label)
        self.golds.append(gold)
        self.kinds.append(row.kind or "")
        self.difficulties.append(row.difficulty or "")
        # A card without a cluster is one of its own; NUL keeps ids and cluster names apart.
        self.clusters.append(row.cluster or f"\0{row.id}")
        return card

    def _same_card(self, card: int, row: _Row, path: Path, number: int) -> None:
        label, gold = _codes(row, path, number)
        if (label, gold) != (self.labels[card], self.golds[card]):
            was = LABELS[self.labels[card]]
            raise CardSetMismatchError(
                f"card {row.id!r} is {LABELS[label]} with gold {row.gold}, and {was} earlier",
                where=f"{path}:{number}",
                hint="These results belong to different card sets; give only one set.",
            )
        # A file from elsewhere may have come first, without what ours knows of the card.
        if row.kind and not self.kinds[card]:
            self.kinds[card] = row.kind
        if row.difficulty and not self.difficulties[card]:
            self.difficulties[card] = row.difficulty
        if row.cluster and self.clusters[card].startswith("\0"):
            self.clusters[card] = row.cluster

    def _answer(self, name: str, card: int, row: _Row, path: Path, number: int) -> None:
        if row.cards and not (isinstance(row.pred, str) and row.pred in PRED_CODE):
            raise RecordError(
                f"unknown prediction {row.pred!r}",
                where=f"{path}:{number}",
                hint=f"One of {', '.join(PRED_CODE)}.",
            )
        answers = self.preds.get(name)
        if answers is None:
            answers = self.preds[name] = bytearray()
        if card >= len(answers):
            answers.extend(bytes([_MISSING]) * (card + 1 - len(answers)))
        elif answers[card] != _MISSING:
            raise DuplicateIdError(
                f"system {name!r} answers card {row.id!r} twice",
                where=f"{path}:{number}",
                hint="Remove one of the files or lines; which answer counts is not ours to guess.",
            )
        answers[card] = read_pred(row.pred)


def read_observations(
    paths: Sequence[Path | str],
    *,
    common: bool = False,
    distinguish: bool = False,
    suffixes: Mapping[Path, str] | None = None,
) -> Observations:
    """Reads result files of one card set.

    Args:
        paths: one or more files, each with one system or several.
        common: keep only the cards that every system answered, with a note, instead of refusing.
        distinguish: where two files name the same system, add ``@`` and the file's stem to both
            (with its folders where stems are alike), instead of refusing the second answers.
        suffixes: what to add to the names of a file's systems, instead.

    Raises:
        MissingFileError: no such file.
        RecordError: a torn or unreadable line, an unknown label, gold or prediction.
        DuplicateIdError: a system answers a card twice.
        CardSetMismatchError: the files, or the systems within one, are not about the same cards.
    """
    files = [require_file(path, "result file") for path in paths]
    reader = _Reader()
    renames = dict(suffixes) if suffixes else _renames(files) if distinguish else {}
    sources = [reader.read(path, rename=renames.get(path)) for path in files]
    order = sorted(reader.index, key=reader.index.__getitem__)
    count = len(order)
    preds: dict[str, Codes] = {}
    for source in sources:
        for name in source.systems:
            raw = reader.preds[name]
            raw.extend(bytes([_MISSING]) * (count - len(raw)))
            preds[name] = np.frombuffer(bytes(raw), dtype=np.uint8).astype(np.int16).astype(np.int8)
    kept, notes = _shared_cards(order, preds, reader.first_in, common=common)
    sources, oracles, manifest_notes = _with_manifests(sources, files, renames)
    found = _arrange(reader, order, kept, preds, sources, oracles, [*notes, *manifest_notes])
    unanswered = {
        name: int(lacking) for name, codes in preds.items() if (lacking := (codes < 0).sum())
    }
    return replace(found, unanswered=unanswered, n_left_out=int((~kept).sum()))


def _codes(row: _Row, path: Path, number: int) -> tuple[int, int]:
    """Codes of the row's label and of its gold, each standing in for the other if absent."""
    label = None if row.label is None else LABEL_CODE.get(row.label, -1)
    gold = None if row.gold is None else GOLD_CODE.get(row.gold, -1)
    if label is None:
        label = gold
    if gold is None:
        gold = label
    if label is None or gold is None:
        raise RecordError("neither label nor gold", where=f"{path}:{number}")
    if label < 0 or gold < 0:
        what, allowed = (
            (f"unknown label {row.label!r}", LABEL_CODE)
            if label < 0
            else (f"unknown gold {row.gold!r}", GOLD_CODE)
        )
        raise RecordError(what, where=f"{path}:{number}", hint=f"One of {', '.join(allowed)}.")
    return label, gold


def _shared_cards(
    order: Sequence[str], preds: dict[str, Codes], first_in: dict[str, Path], *, common: bool
) -> tuple[NDArray[np.bool_], list[str]]:
    """Which cards every system answered; refuses systems that lack some unless ``common``."""
    kept = np.ones(len(order), dtype=np.bool_)
    for name, codes in preds.items():
        lacking = codes < 0
        if lacking.any() and not common:
            example = order[int(np.argmax(lacking))]
            raise CardSetMismatchError(
                f"system {name!r} has no answer to {int(lacking.sum())} of {len(order)} cards, "
                f"the first {example!r}",
                where=str(first_in[name]),
                hint="Finish its run, give results of one card set only, or use --common.",
            )
        kept &= ~lacking
    if kept.all():
        return kept, []
    if not kept.any():
        raise CardSetMismatchError(
            "no card was answered by every system",
            where=", ".join(sorted({str(path) for path in first_in.values()})),
            hint="Give results of one card set.",
        )
    return kept, [
        f"Only the {int(kept.sum())} cards that every system answered are counted; "
        f"{int((~kept).sum())} are left out."
    ]


def _arrange(
    reader: _Reader,
    order: Sequence[str],
    kept: NDArray[np.bool_],
    preds: dict[str, Codes],
    sources: Sequence[Source],
    oracles: Iterable[str],
    notes: list[str],
) -> Observations:
    """Sorts cards by id and clusters by name, so that the order of rows cannot matter."""
    by_id = sorted(np.flatnonzero(kept).tolist(), key=order.__getitem__)
    chosen = np.array(by_id, dtype=np.int64)
    ids = tuple(order[card] for card in by_id)
    names = [reader.clusters[card] for card in by_id]
    number_of = {name: number for number, name in enumerate(sorted(set(names)))}
    labels = np.frombuffer(bytes(reader.labels), dtype=np.int8)[chosen]
    golds = np.frombuffer(bytes(reader.golds), dtype=np.int8)[chosen]
    disagree = np.flatnonzero(labels != golds)
    if disagree.size:
        notes.append(
            f"Label and gold disagree on {disagree.size} cards (the first is "
            f"{ids[disagree[0]]!r}): policy licensed goes by the label, published by the gold."
        )
    if all(name.startswith("\0") for name in names):
        notes.append("The results name no clusters: each card is resampled on its own.")
    if reader.cards and reader.unnamed_rows:
        notes.append(
            f"{reader.unnamed_rows} rows name no card set; they were matched to card set "
            f"{reader.cards} by their ids, labels and gold answers."
        )
    return Observations(
        cards=reader.cards or _fingerprint(ids, labels, golds),
        ids=ids,
        labels=labels,
        golds=golds,
        kinds=tuple(reader.kinds[card] for card in by_id),
        difficulties=tuple(reader.difficulties[card] for card in by_id),
        clusters=np.array([number_of[name] for name in names], dtype=np.int64),
        preds={name: codes[chosen] for name, codes in preds.items()},
        oracles=frozenset(oracles),
        sources=tuple(sources),
        notes=tuple(notes),
    )


def _fingerprint(ids: Sequence[str], labels: Codes, golds: Codes) -> str:
    """Identity of a card set whose files carry no hash: its ids with labels and gold answers."""
    rows = [
        [card, LABELS[label], GOLD_OF_LABEL[LABELS[gold]]]
        for card, label, gold in zip(ids, labels.tolist(), golds.tolist(), strict=True)
    ]
    return f"ids-{sha256_bytes(msgspec.json.encode(rows))[:12]}"


def _renames(files: Sequence[Path]) -> dict[Path, str]:
    """What to add to system names per file, where two files hold a system of the same name."""
    decoder = msgspec.json.Decoder(_Row)
    found: dict[str, set[Path]] = {}
    for path in files:
        for _, row in iter_decoded_lines(path, "result", decoder.decode):
            found.setdefault(row.system or path.stem, set()).add(path)
    shared = {path for paths in found.values() if len(paths) > 1 for path in paths}
    places = {path: [*path.absolute().parent.parts, path.stem] for path in files if path in shared}
    for depth in range(1, max(map(len, places.values()), default=0) + 1):
        names = {path: "/".join(parts[-depth:]) for path, parts in places.items()}
        if len(set(names.values())) == len(names):
            return {path: f"@{name}" for path, name in names.items()}
    return {}


def _with_manifests(
    sources: Sequence[Source], files: Sequence[Path], renames: dict[Path, str]
) -> tuple[list[Source], list[str], list[str]]:
    """Sources with the manifests beside them, declared oracles, and notes on unfinished runs."""
    out: list[Source] = []
    oracles: list[str] = []
    notes: list[str] = []
    for source, path in zip(sources, files, strict=True):
        beside = manifest_path(path)
        if not beside.is_file():
            out.append(source)
            continue
        manifest = read_manifest(beside)
        suffix = renames.get(path, "")
        exempt = [name + suffix for name in manifest.oracles]
        oracles += exempt
        notes += [
            f"{name} is a declared oracle: it was handed the claims, not only the cards."
            for name in exempt
        ]
        if manifest.status != "complete":
            notes.append(f"The run of {', '.join(source.systems)} is not complete.")
        out.append(msgspec.structs.replace(source, manifest=msgspec.to_builtins(manifest)))
    return out, oracles, notes
