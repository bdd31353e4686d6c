"""Result files as arrays: which card, which label, which system answered what.

Reading (``reading.py``) keeps a few bytes a row. Everything that would make numbers incomparable
is refused by name there and here, so that what computes them may trust its input.
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
from eval.manifest import RunManifest, read_manifest
from eval.metrics.outcomes import CONTROLS, Codes, Floats
from eval.metrics.reading import ResultReader, row_decoder
from eval.metrics.record import Source
from kg.base.errors import CardSetMismatchError
from kg.base.files import iter_decoded_lines, require_file, sha256_bytes
from kg.base.provenance import manifest_path
from kg.claims import GOLD_OF_LABEL, LABELS
from kg.words.plain_text import listing, plain


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
        preds: prediction codes by system, shape (n,) each; (n, repeats) of a system that answered
            each card several times.
        oracles: systems whose manifests declare them exempt.
        sources: the files read.
        notes: what a reader of the numbers must know.
        unanswered: by system, how many of the cards that any system answered it has no answer to;
            those cards are left out. Systems that answered all are not named.
        n_left_out: cards left out for that reason.
        confidences: by system, the stated probabilities that the predictions are right, in the
            shapes of ``preds``; nan where none is given. Systems that give none at all are not
            named.
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
    confidences: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def n_clusters(self) -> int:
        """Number of clusters over all cards."""
        return int(self.clusters.max()) + 1 if self.clusters.size else 0

    def repeats(self, system: str) -> int:
        """Replies of a system to each card."""
        preds = self.preds[system]
        return 1 if preds.ndim == 1 else preds.shape[1]

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
        DuplicateIdError: a system answers a card twice in one repeat.
        CardSetMismatchError: the files, the systems within one, or the repeats of one system are
            not about the same cards.
    """
    files = [require_file(path, "result file") for path in paths]
    reader = ResultReader()
    renames = dict(suffixes) if suffixes else _renames(files) if distinguish else {}
    sources = [reader.read(path, rename=renames.get(path, "")) for path in files]
    preds = {
        name: np.stack([reader.preds(name, r) for r in reader.repeats(name)], axis=1)
        for source in sources
        for name in source.systems
    }
    kept, notes = _shared_cards(list(reader.index), preds, reader, common=common)
    sources, oracles, manifest_notes = _with_manifests(sources, files, renames)
    found = _arrange(reader, kept, preds, sources, oracles, [*notes, *manifest_notes])
    unanswered = {
        name: lacking
        for name, codes in preds.items()
        if (lacking := int((codes < 0).any(axis=1).sum()))
    }
    return replace(found, unanswered=unanswered, n_left_out=int((~kept).sum()))


def _shared_cards(
    order: Sequence[str], preds: dict[str, Codes], reader: ResultReader, *, common: bool
) -> tuple[NDArray[np.bool_], list[str]]:
    """Which cards every system answered, in every repeat; refuses gaps unless ``common``."""
    kept = np.ones(len(order), dtype=np.bool_)
    for name, codes in preds.items():
        lacking = codes < 0
        if lacking.any() and not common:
            column = int(np.argmax(lacking.any(axis=0)))
            example = order[int(np.argmax(lacking[:, column]))]
            repeats = reader.repeats(name)
            which = f" in repeat {repeats[column]}" if len(repeats) > 1 else ""
            raise CardSetMismatchError(
                f"system {name!r} has no answer to {int(lacking[:, column].sum())} of "
                f"{len(order)} cards{which}, the first {example!r}",
                where=str(reader.first_in[name]),
                hint="Finish its run, give results of one card set only, or use --common.",
            )
        kept &= ~lacking.any(axis=1)
    if kept.all():
        return kept, []
    if not kept.any():
        raise CardSetMismatchError(
            "no card was answered by every system",
            where=", ".join(sorted({str(path) for path in reader.first_in.values()})),
            hint="Give results of one card set.",
        )
    return kept, [
        f"Only the {int(kept.sum())} cards that every system answered are counted; "
        f"{int((~kept).sum())} are left out."
    ]


def _arrange(
    reader: ResultReader,
    kept: NDArray[np.bool_],
    preds: dict[str, Codes],
    sources: Sequence[Source],
    oracles: Iterable[str],
    notes: list[str],
) -> Observations:
    """Sorts cards by id and clusters by name, so that the order of rows cannot matter."""
    order = list(reader.index)
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
    if reader.odd_confidences:
        notes.append(
            f"{reader.odd_confidences} confidences are no number from 0 to 1: taken as not given."
        )
    return Observations(
        cards=reader.cards or _fingerprint(ids, labels, golds),
        ids=ids,
        labels=labels,
        golds=golds,
        kinds=tuple(reader.kinds[card] for card in by_id),
        difficulties=tuple(reader.difficulties[card] for card in by_id),
        clusters=np.array([number_of[name] for name in names], dtype=np.int64),
        preds={name: _flat(codes[chosen]) for name, codes in preds.items()},
        oracles=frozenset(oracles),
        sources=tuple(sources),
        notes=tuple(notes),
        confidences={
            name: _flat(np.stack([reader.confidences(name, r)[chosen] for r in repeats], axis=1))
            for name in preds
            if reader.gives_confidence(name, repeats := reader.repeats(name))
        },
    )


def _flat(columns: NDArray[Any]) -> NDArray[Any]:
    """A single repeat's column without its second axis."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _fingerprint(ids: Sequence[str], labels: Codes, golds: Codes) -> str:
    """Identity of a card set whose files carry no hash: its ids with labels and gold answers."""
    rows = [
        [card, LABELS[label], GOLD_OF_LABEL[LABELS[gold]]]
        for card, label, gold in zip(ids, labels.tolist(), golds.tolist(), strict=True)
    ]
    return f"ids-{sha256_bytes(msgspec.json.encode(rows))[:12]}"


def _renames(files: Sequence[Path]) -> dict[Path, str]:
    """What to add to system names per file, where two files hold a system of the same name."""
    decoder = row_decoder()
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
    """Sources with the manifests beside them, declared oracles, and notes on the runs."""
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
        notes += _measured(manifest, suffix)
        if manifest.status != "complete":
            notes.append(f"The run of {', '.join(source.systems)} is not complete.")
        out.append(msgspec.structs.replace(source, manifest=msgspec.to_builtins(manifest)))
    return out, oracles, notes


def _measured(manifest: RunManifest, suffix: str) -> list[str]:
    """What systems declare that their answers measure, and nothing more: ``measures`` of params."""
    alone = len(manifest.systems) == 1
    every = {manifest.systems[0]: manifest.params} if alone else manifest.params
    declared: dict[str, list[str]] = {}
    for name in manifest.systems:
        params = every.get(name)
        told = params.get("measures") if isinstance(params, dict) else None
        if isinstance(told, str):
            declared.setdefault(plain(told), []).append(name + suffix)
    return [f"{listing(names)} measure {told}." for told, names in declared.items()]
