"""Reads result files into arrays: cards, their labels, and each system's answers.

``reader.py`` reads the rows, keeping a few bytes per row. It and this module reject everything
that would make values incomparable, so that the code computing metrics can trust its input.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from eval.abstention.integrity.row_comparison import ReadCards
from eval.abstention.integrity.run_notes import attach_manifests
from eval.abstention.metrics.card_columns import (
    CardColumns,
    compute_fingerprint,
    describe_absent_fields,
    find_headline_cards,
    find_near_misses,
    make_column,
    rank_clusters,
)
from eval.abstention.metrics.missing_rows import (
    add_missing_rows,
    find_unasked_answers,
    list_card_fields,
)
from eval.abstention.metrics.outcomes import CONTROLS, Codes, Floats
from eval.abstention.metrics.reader import ResultReader
from eval.abstention.metrics.record import Source
from eval.abstention.metrics.result_row import build_row_decoder
from eval.abstention.result import PREDS
from eval.abstention.row_statistics.columns import add_statistics
from eval.abstention.row_statistics.record import digest_rows, read_statistics
from eval.abstention.run_integrity import ReadFile, check_integrity
from eval.abstention.system_copies import ALIKE_SYSTEMS, describe_alike_systems
from kg.base.errors import CardSetMismatchError
from kg.base.files import iter_decoded_lines, require_file
from kg.base.provenance import manifest_path

Common = bool | Literal["asked", "paired"]
"""Whether cards that some system did not answer are left out; ``asked``: only if it is not known
that it was to be asked them, else they count as ERROR. With
``asked``, a file without a manifest may lack none; with ``paired`` it may, as the gate checks."""
SHARED_CARDS_NOTE = "Only the "
"""Beginning of the note on cards that were left out because a system did not answer them."""


@dataclass(frozen=True)
class Observations(CardColumns):
    """The answers of some systems to one card set, cards sorted by id.

    Attributes:
        card_set: identity of the card set (see ``MetricsReport.cards``).
        ids: card ids, length n; none after ``read_checked_results``.
        labels: label codes, shape (n,), used by policy ``licensed``.
        golds: label codes of the gold answers, shape (n,), used by policy ``published``.
        kinds: length n; empty where unknown.
        difficulties: length n; empty where unknown.
        full_labels: labels of the U cards before facts were set aside, length n; empty where
            unknown.
        clusters: cluster numbers 0 … n_clusters-1 in the order of their names, shape (n,).
        triplets: the number of each card's triplet, whose cards share their facts, shape (n,); -1
            where unknown.
        mined: mask of the cards that are contradictory only by rules found in the data, shape (n,).
        row_order: the indices of the cards in the order of their first rows; none if not known.
        preds: prediction codes by system, shape (n,) each; (n, repeats) for a system that answered
            each card several times.
        oracles: systems whose manifests declare them as oracles, which see more than the card.
        sources: the files read.
        suffixes: for each of these, what was appended to the names of its systems.
        own_names: by system, its name in its file, without the suffix.
        notes: facts that a reader of the metrics must know.
        unanswered: by system, the mask over all cards that were read of those that it did not
            answer and another did; they are left out. Systems that answered all cards are absent.
        n_left_out: number of cards left out for that reason.
        confidences: by system, the stated probabilities that the predictions are right, in the
            shapes of ``preds``; nan where none is given. Systems that state none are absent.
        n_mined_left_out: number of mined cards that were left out; None if they are counted.
        warnings: what must be said wherever scores are shown, by the cards' manifest.
        signature_details: what signatures say in addition.
    """

    card_set: str
    preds: dict[str, Codes]
    oracles: frozenset[str] = frozenset()
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    unanswered: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    n_left_out: int = 0
    confidences: Mapping[str, Floats] = field(default_factory=dict)
    suffixes: tuple[str, ...] = ()
    own_names: Mapping[str, str] = field(default_factory=dict)
    n_mined_left_out: int | None = None
    row_order: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    warnings: tuple[str, ...] = ()
    signature_details: tuple[str, ...] = ()

    @property
    def n_clusters(self) -> int:
        """Number of clusters of all cards."""
        return int(self.clusters.max()) + 1 if self.clusters.size else 0

    def count_repeats(self, system: str) -> int:
        """Returns the number of replies of a system to each card."""
        preds = self.preds[system]
        return 1 if preds.ndim == 1 else preds.shape[1]

    @property
    def systems_under_test(self) -> tuple[str, ...]:
        """The systems that were read, except controls."""
        return tuple(name for name in self.preds if self.own_names.get(name, name) not in CONTROLS)

    @cached_property
    def headline_mask(self) -> NDArray[np.bool_]:
        """Mask of the cards that enter the headline metrics, shape (n,)."""
        return find_headline_cards(self.kinds)

    @cached_property
    def near_miss_mask(self) -> NDArray[np.bool_]:
        """Mask of the cards that are near-misses, shape (n,)."""
        return find_near_misses(self.kinds)


def read_observations(
    paths: Sequence[Path | str],
    *,
    common: Common = False,
    distinguish_equal_names: bool = False,
    suffixes: Mapping[Path, str] | None = None,
    cards: Sequence[Path] = (),
    allow_changed: bool = False,
) -> Observations:
    """Reads result files of one card set.

    A card that a run was to ask and has no row of counts as ERROR, unless ``common`` is True.

    Args:
        paths: one or more files, each with one or more systems.
        common: keep only the cards that every system answered, or was to be asked, with a note,
            instead of raising.
        distinguish_equal_names: where two files contain the same system name, append ``@`` and the
            file's stem to the name in each, instead of raising. Equal stems are preceded by their
            folders.
        suffixes: by file, the suffix of its system names; replaces ``distinguish_equal_names``.
        cards: the card files that were asked, for cards without a row; by default the files that
            the manifests name.
        allow_changed: accept rows and cards that are not as their run left them, with a warning
            and a mark in the signature, instead of raising.

    Raises:
        MissingFileError: no such file, or no card file of a run that lacks rows.
        RecordError: an incomplete or invalid line, an unknown label, gold or prediction.
        DuplicateIdError: a system answers a card twice in one repeat.
        CardSetMismatchError: the files, the systems within one, or the repeats of one system do
            not cover the same cards.
        ChangedRunError: as ``check_integrity``.
    """
    files = [require_file(path, "result file") for path in paths]
    reader = ResultReader()
    renames = (
        dict(suffixes) if suffixes else _choose_suffixes(files) if distinguish_equal_names else {}
    )
    applied_suffixes = tuple(renames.get(path, "") for path in files)
    sources: list[Source] = []
    read_files: list[ReadFile] = []
    for path, suffix in zip(files, applied_suffixes, strict=True):
        before, n_unnamed_before = reader.count_answers(), reader.n_unnamed_rows
        statistics = read_statistics(path)
        systems = statistics and add_statistics(reader, statistics, path, suffix=suffix)
        if statistics and systems:
            digest = statistics.rows_digest
            source = Source(path=str(path), rows=statistics.n_rows, systems=systems)
        else:
            digest = digest_rows(path)
            source = reader.read_file(path, suffix=suffix)
        sources.append(msgspec.structs.replace(source, rows_digest=digest))
        names_cards = reader.n_unnamed_rows - n_unnamed_before < sources[-1].rows
        counts = zip(PREDS, reader.count_answers(), before, strict=True)
        read_files.append(
            ReadFile(
                path=path,
                card_set=reader.card_set if names_cards else "",
                counts={pred: now - earlier for pred, now, earlier in counts},
                systems=[name.removesuffix(suffix) for name in sources[-1].systems],
            )
        )
    integrity = check_integrity(
        read_files,
        rows=ReadCards(reader.index, partial(list_card_fields, reader)),
        with_cards=not cards,
        named_cards=cards,
        unasked=find_unasked_answers(reader, sources, cards),
        allow_changed=allow_changed,
    )
    missing_notes = [
        note
        for source, suffix in zip(sources, applied_suffixes, strict=True)
        if common is not True
        for note in add_missing_rows(reader, source, suffix, cards)
    ]
    preds = {
        name: np.stack([reader.get_preds(name, r) for r in reader.list_repeats(name)], axis=1)
        for name in (
            *(name for source in sources for name in source.systems),
            *reader.list_systems(),  # which have rows, or should have some
        )
    }
    may_lack = _list_asked_less(preds, sources, common)
    is_shared, notes = _select_shared_cards(preds, reader, may_lack)
    sources, oracles, manifest_notes = attach_manifests(sources, files, renames)
    observations = _build_observations(
        reader,
        is_shared,
        preds,
        sources,
        oracles,
        [*notes, *missing_notes, *manifest_notes],
    )
    manifests = [source.manifest for source in sources if source.manifest is not None]
    own_names = {
        name: name.removesuffix(suffix)
        for source, suffix in zip(sources, applied_suffixes, strict=True)
        for name in source.systems
    }
    own_files = {
        name: [file for file, source in zip(files, sources, strict=True) if name in source.systems]
        for name in own_names
    }
    tested = {name: preds[name] for name in own_names if own_names[name] not in CONTROLS}
    alike = list(describe_alike_systems(tested, own_names, own_files))
    is_missing: dict[str, NDArray[np.bool_]] = {
        name: np.any(codes < 0, axis=1) for name, codes in preds.items()
    }
    return replace(
        observations,
        unanswered={name: mask for name, mask in is_missing.items() if mask.any()},
        n_left_out=int((~is_shared).sum()),
        suffixes=applied_suffixes,
        own_names=own_names,
        warnings=(
            *integrity.warnings,
            *alike,
            *dict.fromkeys(w for manifest in manifests for w in manifest["card_warnings"]),
        ),
        signature_details=(*integrity.signature_details, *([ALIKE_SYSTEMS] if alike else [])),
    )


def _select_shared_cards(
    preds: dict[str, Codes],
    reader: ResultReader,
    may_lack: Container[str],
) -> tuple[NDArray[np.bool_], list[str]]:
    """Selects the cards that every system answered in every repeat.

    Raises:
        CardSetMismatchError: a system lacks some that is not among those that may.
    """
    card_ids = reader.index.strings
    is_shared = np.ones(len(card_ids), dtype=np.bool_)
    for name, codes in preds.items():
        is_missing = codes < 0
        if is_missing.any() and name not in may_lack:
            column = int(np.argmax(is_missing.any(axis=0)))
            example = card_ids[int(np.argmax(is_missing[:, column]))]
            repeats = reader.list_repeats(name)
            repeat_clause = f" in repeat {repeats[column]}" if len(repeats) > 1 else ""
            raise CardSetMismatchError(
                f"system {name!r} has no answer to {int(is_missing[:, column].sum())} of "
                f"{len(card_ids)} cards{repeat_clause}, the first {example!r}",
                where=str(reader.first_path[name]),
                hint="Finish its run, give results of one card set only, or use --common.",
            )
        is_shared &= ~is_missing.any(axis=1)
    if is_shared.all():
        return is_shared, []
    if not is_shared.any():
        raise CardSetMismatchError(
            "no card was answered by every system",
            where=", ".join(sorted({str(path) for path in reader.first_path.values()})),
            hint="Give results of one card set.",
        )
    return is_shared, [
        f"{SHARED_CARDS_NOTE}{int(is_shared.sum())} cards that every system answered are counted; "
        f"{int((~is_shared).sum())} are left out."
    ]


def _list_asked_less(
    preds: Iterable[str], sources: Sequence[Source], common: Common
) -> Container[str]:
    """Lists the systems that may lack cards, which are then left out.

    With ``asked`` these are the systems of runs: a card without a row is one that they were not to
    ask. Nothing says so of a file without a manifest, which may have been cut.
    """
    if common != "asked":
        return tuple(preds) if common else ()
    return {
        name
        for source in sources
        if manifest_path(Path(source.path)).is_file()
        for name in source.systems
    }


def _build_observations(
    reader: ResultReader,
    keep_mask: NDArray[np.bool_],
    preds: dict[str, Codes],
    sources: Sequence[Source],
    oracles: Iterable[str],
    notes: list[str],
) -> Observations:
    """Builds the observations, sorting cards by id and clusters by name.

    The sorting makes the metrics, resamples included, independent of the order of the rows.
    """
    has_triplets = len(reader.triplet_names) > 0
    card_ids = reader.release_ids()
    kept = card_ids.sort_indices().astype(np.int32)
    if not keep_mask.all():
        kept = kept[keep_mask[kept]]
    ids = card_ids.take(kept)
    del card_ids  # A million ids take 20 MB.
    clusters = np.frombuffer(reader.clusters, dtype=np.intc)[kept]
    traits = np.frombuffer(reader.traits, dtype=np.intc)[kept]
    labels = np.frombuffer(reader.labels, dtype=np.int8)[kept]
    golds = np.frombuffer(reader.golds, dtype=np.int8)[kept]
    disagreements = np.flatnonzero(labels != golds)
    if disagreements.size:
        notes.append(
            f"Label and gold disagree on {disagreements.size} cards (the first is "
            f"{ids[disagreements[0]]!r}): policy licensed uses the label, published the gold."
        )
    else:
        golds = labels  # A million need a megabyte less.
    if reader.card_set and reader.n_unnamed_rows:
        notes.append(
            f"{reader.n_unnamed_rows} rows name no card set; they were matched to card set "
            f"{reader.card_set} by their ids, labels and gold answers."
        )
    if reader.n_invalid_confidences:
        notes.append(
            f"{reader.n_invalid_confidences} confidences are not numbers from 0 to 1 and are "
            "ignored."
        )
    observations = Observations(
        card_set=reader.card_set,
        ids=ids,
        row_order=np.argsort(kept).astype(np.int32),
        labels=labels,
        golds=golds,
        kinds=make_column([t.kind for t in reader.distinct_traits], traits),
        difficulties=make_column([t.difficulty for t in reader.distinct_traits], traits),
        full_labels=make_column([t.full_label for t in reader.distinct_traits], traits),
        clusters=rank_clusters(clusters, reader.cluster_names.strings),
        # Without triplets, one number stands for all cards.
        triplets=np.frombuffer(reader.triplets, dtype=np.intc)[kept]
        if has_triplets
        else np.broadcast_to(np.int32(-1), len(ids)),
        mined=np.array([t.is_mined for t in reader.distinct_traits], dtype=np.bool_)[traits]
        if any(t.is_mined for t in reader.distinct_traits)
        else np.broadcast_to(np.False_, len(ids)),
        preds={name: _drop_repeat_axis(codes[kept]) for name, codes in preds.items()},
        oracles=frozenset(oracles),
        sources=tuple(sources),
        confidences={
            name: _drop_repeat_axis(
                np.stack([reader.get_confidences(name, r)[kept] for r in repeats], axis=1)
            )
            for name in preds
            if reader.has_confidence(name, repeats := reader.list_repeats(name))
        },
    )
    has_clusters = bool((clusters >= 0).any())
    return replace(
        observations,
        card_set=reader.card_set or compute_fingerprint(observations),
        notes=(*notes, *describe_absent_fields(observations, has_clusters=has_clusters)),
    )


def _drop_repeat_axis(columns: NDArray[Any]) -> NDArray[Any]:
    """Drops the repeat axis if there is only one repeat."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _choose_suffixes(files: Sequence[Path]) -> dict[Path, str]:
    """Chooses a suffix for the system names of each file that shares one with another file."""
    decoder = build_row_decoder()
    paths_by_system: dict[str, set[Path]] = {}
    for path in files:
        for _, row in iter_decoded_lines(path, "result", decoder.decode):
            paths_by_system.setdefault(row.system or path.stem, set()).add(path)
    ambiguous_paths = {
        path for paths in paths_by_system.values() if len(paths) > 1 for path in paths
    }
    parts_by_path = {
        path: [*path.absolute().parent.parts, path.stem]
        for path in files
        if path in ambiguous_paths
    }
    for depth in range(1, max(map(len, parts_by_path.values()), default=0) + 1):
        names = {path: "/".join(parts[-depth:]) for path, parts in parts_by_path.items()}
        if len(set(names.values())) == len(names):
            return {path: f"@{name}" for path, name in names.items()}
    return {}
