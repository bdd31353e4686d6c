"""Checks that results, and the cards they answer, are as the run left them.

Compared are the rows with the hash and the counts in their manifest, the card file with the hashes
in the manifests of run and cards, and each card with its own proof and with all other cards. Who
forges all of these together is found only by proving the labels again: ``epoche verify``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cards.card import CardSetHash, hash_card_set
from cards.card_blocks import CardBlock, iter_card_blocks
from cards.card_integrity import UNVERIFIED_CARDS, find_changed_cards, lacks_card_hashes
from cards.card_origin import read_card_origin
from cards.joiner import iter_joined_cards
from eval.abstention.integrity.row_comparison import ReadCards, RowComparison, list_card_problems
from eval.abstention.manifest import (
    PREDICTIONS_SYSTEM,
    RunManifest,
    find_card_file,
    read_manifest,
)
from eval.harness.verification import changed_files
from eval.harness.verification.changed_files import (
    ACCEPT_HINT,
    CHANGED_ROWS,
    UNVERIFIED_ROWS,
    describe_accepted,
    describe_recorded,
    make_changed_error,
    try_to_verify,
    warn_unverified,
)
from kg.base.errors import ChangedRunError
from kg.base.files import sha256_file
from kg.base.plain_text import join_first
from kg.base.provenance import manifest_path

CHANGED_CARDS: Final = "cards:changed"
"""What signatures say if cards contradict themselves or their run, and were accepted."""
GIVEN_PREDICTIONS: Final = "predictions:given"
"""What signatures say of answers that Epoché was given, and did not see a system give."""
UNCHECKED_CARDS: Final = "cards:unchecked"
"""What signatures say of runs whose card file is not there."""
_ACCEPTED_CARDS: Final = "Accepted with --allow-changed before the cards were asked"
_UNVERIFIED: Final = "Nothing shows whether cards of {} were changed: no hash of them is recorded"
_MAX_NAMED_FILES: Final = 1


@dataclass(frozen=True, kw_only=True)
class ReadFile:
    """A result file that was read.

    Attributes:
        path: the file.
        card_set: the card set that its rows name; empty if they name none.
        counts: its number of rows by prediction; None if they were not counted.
        systems: the systems that its rows name; None if they were not listed.
    """

    path: Path
    card_set: str = ""
    counts: Mapping[str, int] | None = None
    systems: Sequence[str] | None = None


@dataclass(frozen=True)
class Integrity:
    """What is known of the rows or cards that were read.

    Attributes:
        signature_details: what signatures must say.
        warnings: what must be said wherever scores are shown.
        cards_sha256: the hash of all cards that ``check_card_files`` read.
    """

    signature_details: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    cards_sha256: str = ""


class _Findings:
    """Raises the first problem, or collects all if they are accepted."""

    def __init__(self, *, allow_changed: bool) -> None:
        self._allow_changed = allow_changed
        self.details: dict[str, str] = {}
        self.warnings: list[str] = []

    def add(self, detail: str, problems: Iterable[ChangedRunError]) -> None:
        """Adds problems of one file; of several of the same kind, the first is described."""
        problems = iter(problems)
        first = next(problems, None)
        if first is None:
            return
        if not self._allow_changed:
            raise first
        self.details[detail.partition(":")[0]] = detail
        n_others = sum(1 for _ in problems)
        others = f", and {n_others:,} more" if n_others else ""
        self.warnings.append(f"{describe_accepted(first)}{others}.")

    def add_mark(self, detail: str, sentence: str, paths: Sequence[Path]) -> None:
        """Adds what is accepted of some files but must be said, with a place for their names."""
        if paths:
            self.details.setdefault(detail.partition(":")[0], detail)
            names = join_first([path.name for path in paths], _MAX_NAMED_FILES)
            # One sentence is enough of rows and cards of which nothing is known.
            if detail != UNVERIFIED_CARDS or UNVERIFIED_ROWS not in self.details.values():
                self.warnings.append(f"{sentence.format(names)} ({detail}).")

    def add_accepted_cards(self, changes: Sequence[str]) -> None:
        """Adds the changes of cards that were accepted before the cards were asked or joined."""
        if changes:
            self.details["cards"] = CHANGED_CARDS
            self.warnings += [f"{_ACCEPTED_CARDS}: {change}." for change in changes]

    def add_parts(self, manifests: Iterable[RunManifest]) -> None:
        """Adds the shards and limits of runs that did not ask all cards of their card file."""
        parts = [one for one in manifests if len(one.layout.asked_items) < one.card_count]
        for name in ("shard", "limit"):
            values = {str(getattr(one, name)) for one in parts if getattr(one, name) is not None}
            if values:
                self.details[name] = f"{name}:{','.join(sorted(values))}"

    def to_integrity(self) -> Integrity:
        """Returns what was found."""
        return Integrity(tuple(self.details.values()), tuple(dict.fromkeys(self.warnings)))


def check_integrity(
    files: Sequence[ReadFile],
    *,
    rows: ReadCards | None = None,
    with_cards: bool = True,
    named_cards: Sequence[Path] = (),
    unasked: Iterable[ChangedRunError] = (),
    allow_changed: bool = False,
) -> Integrity:
    """Refuses rows, and the cards that their manifests name, that are not as the run left them.

    Args:
        files: the result files.
        rows: the cards in the rows; None if they are compared with cards elsewhere.
        with_cards: whether the card files that the manifests name are checked; false where the
            user names others, which are checked by ``check_card_files``.
        named_cards: the card files that the user names; rows of runs are compared with them.
        unasked: answers to cards that their run was not to ask.
        allow_changed: accept them with a warning and a mark in the signature.

    Raises:
        ChangedRunError: rows or cards were changed, and ``allow_changed`` is false.
        RecordError: a manifest, or the card file of a run, is damaged.
    """
    findings = _Findings(allow_changed=allow_changed)
    manifests: dict[Path, RunManifest] = {}
    unverified: list[Path] = []
    for file in files:
        manifest_file = manifest_path(file.path)
        manifest = read_manifest(manifest_file) if manifest_file.is_file() else None
        if manifest is not None:
            manifests[file.path] = manifest
        if manifest is None or changed_files.lacks_hashes(manifest) or manifest.status == "running":
            unverified.append(file.path)
            status = "" if manifest is None else manifest.status
            warn_unverified(file.path, manifest_file, status=status, is_foreign=not file.card_set)
        else:
            findings.add(CHANGED_ROWS, _find_row_problems(file, manifest))
        if manifest is not None and (recorded := describe_recorded(manifest)):
            findings.details["rows"] = CHANGED_ROWS
            findings.warnings += recorded
        if manifest is not None:
            findings.add_accepted_cards(manifest.accepted_card_changes or ())
            if manifest.system == PREDICTIONS_SYSTEM:
                findings.details["predictions"] = GIVEN_PREDICTIONS
    findings.add(CHANGED_ROWS, unasked)
    sentence = "Nothing shows whether rows of {} were changed"
    findings.add_mark(UNVERIFIED_ROWS, sentence, unverified)
    graphs = {
        path: manifest.graph_sha256[:8]
        for path, manifest in manifests.items()
        if manifest.graph_sha256 and _is_of_other_graph(path, manifest)
    }
    sentence = "The systems of {} used another graph than the one that the cards were made from"
    findings.add_mark(f"graph:{','.join(sorted(set(graphs.values())))}", sentence, list(graphs))
    findings.add_parts(manifests.values())
    compared_rows = rows if len(manifests) == len(files) else None
    if with_cards and manifests:
        _check_named_cards(manifests, compared_rows, findings)
    blocks = (block for path in named_cards for block in iter_card_blocks(path))
    checker = RowComparison(compared_rows)
    findings.add(CHANGED_CARDS, checker.compare(blocks if manifests else ()))
    for path, manifest in manifests.items() if checker.n_cards else ():
        if (
            manifest.card_count != checker.n_cards
            and hash_card_set(iter_joined_cards(named_cards)) == manifest.cards_sha256
        ):
            findings.add(CHANGED_ROWS, [_make_count_error(path, manifest, checker.n_cards)])
    return findings.to_integrity()


def check_card_files(
    paths: Sequence[Path],
    on_block: Callable[[CardBlock], object] = lambda _block: None,
    *,
    allow_changed: bool = False,
) -> Integrity:
    """Refuses cards that changed after they were made, or contradict themselves or each other.

    A card does so if it is a copy of another, or has a label that its own proof contradicts.

    Args:
        paths: the files of one card set. A copy may be in another file.
        on_block: called with all cards, many at a time.
        allow_changed: accept them with a warning and a mark in the signature.

    Raises:
        ChangedRunError: there are some, and ``allow_changed`` is false.
        MissingFileError, RecordError: a file does not exist or is damaged.
    """
    findings = _Findings(allow_changed=allow_changed)
    hashes = {path: CardSetHash() for path in paths}
    # The cards of a single file are the whole set, and are hashed once.
    card_set = hashes[paths[0]] if len(hashes) == 1 else CardSetHash()

    def add_block(block: CardBlock) -> None:
        hashes[block.path].add(block.cards)
        if len(hashes) > 1:
            card_set.add(block.cards)
        on_block(block)

    findings.add(CHANGED_CARDS, list_card_problems(paths, add_block))
    changed = (find_changed_cards(path, hashes[path].hexdigest()) for path in paths)
    findings.add(CHANGED_CARDS, filter(None, changed))
    for path in paths:
        findings.add_accepted_cards(read_card_origin(path).accepted_changes)
    findings.add_mark(UNVERIFIED_CARDS, _UNVERIFIED, list(filter(lacks_card_hashes, paths)))
    return replace(findings.to_integrity(), cards_sha256=card_set.hexdigest())


def _check_named_cards(
    manifests: Mapping[Path, RunManifest], rows: ReadCards | None, findings: _Findings
) -> None:
    """Checks the card files that manifests name, and that all rows are about these cards."""
    unchanged: dict[str, Path] = {}
    unchecked: list[Path] = []
    unverified: list[Path] = []
    for path, manifest in manifests.items():
        card_file = find_card_file(manifest_path(path))
        if card_file is None:
            unchecked.append(path)
            rows = None
            continue
        if lacks_card_hashes(card_file):
            unverified.append(card_file)
        problem = _find_other_cards(path, manifest, card_file)
        if problem is None:
            unchanged.setdefault(manifest.cards_file_sha256, card_file)
        else:
            findings.add(CHANGED_CARDS, [problem])
            rows = None
    sentence = "Nothing shows whether the cards of {} were changed: their file was not found"
    findings.add_mark(UNCHECKED_CARDS, sentence, unchecked)
    findings.add_mark(UNVERIFIED_CARDS, _UNVERIFIED, list(dict.fromkeys(unverified)))
    checker = RowComparison(rows)
    # Each file alone: two of them have the same cards, which are no copies of each other.
    for file_hash, card_file in unchanged.items():
        n_before = checker.n_cards
        findings.add(CHANGED_CARDS, checker.find_problems(card_file))
        n_cards = checker.n_cards - n_before
        for path, manifest in manifests.items():
            if manifest.cards_file_sha256 == file_hash and manifest.card_count != n_cards:
                findings.add(CHANGED_ROWS, [_make_count_error(path, manifest, n_cards)])
    if unchanged:
        findings.add(CHANGED_ROWS, checker.find_foreign_cards(list(manifests)))


def _find_row_problems(file: ReadFile, manifest: RunManifest) -> Iterator[ChangedRunError]:
    where = str(manifest_path(file.path))
    if sha256_file(file.path) != manifest.rows_sha256:
        from eval.abstention.card_verifier import verify_results

        verification = try_to_verify(lambda: verify_results(file.path))
        yield make_changed_error([file.path], verification, manifest=manifest)
        return
    for pred, count in (file.counts or {}).items():
        if (recorded := manifest.counts.get(pred, 0)) != count:
            yield ChangedRunError(
                f"counts.{pred} in the manifest is {recorded}, and {file.path.name} has "
                f"{count} such rows",
                where=where,
                hint=ACCEPT_HINT,
            )
    for name in file.systems or ():
        if name not in manifest.systems:
            yield ChangedRunError(
                f"{file.path.name} has rows of {name!r}, and its run is of "
                f"{join_first(manifest.systems, _MAX_NAMED_FILES)}",
                where=where,
                hint=ACCEPT_HINT,
            )
    n_rows, n_expected = sum((file.counts or {}).values()), manifest.rows_expected
    is_short = file.counts is not None and manifest.status == "complete" and n_rows < n_expected
    if n_rows > n_expected or is_short:
        run = "its run is complete with" if is_short else "its run has"
        yield ChangedRunError(
            f"{file.path.name} has {n_rows} rows, and {run} {n_expected}",
            where=where,
            hint=ACCEPT_HINT,
        )
    if file.card_set and file.card_set != manifest.cards_sha256[:12]:
        yield ChangedRunError(
            f"the rows are of card set {file.card_set}, and their manifest is of "
            f"{manifest.cards_sha256[:12]}",
            where=where,
            hint=ACCEPT_HINT,
        )


def _make_count_error(path: Path, manifest: RunManifest, n_cards: int) -> ChangedRunError:
    return ChangedRunError(
        f"the run of {path.name} is of {manifest.card_count:,} cards, and its card file has "
        f"{n_cards:,}",
        where=str(manifest_path(path)),
        hint=ACCEPT_HINT,
    )


def _is_of_other_graph(path: Path, manifest: RunManifest) -> bool:
    """Returns whether a run used another graph than its cards were made from, said or not."""
    if manifest.other_graph:
        return True
    card_file = find_card_file(manifest_path(path))
    graph = None if card_file is None else read_card_origin(card_file).graph_sha256
    return graph is not None and graph != manifest.graph_sha256


def _find_other_cards(path: Path, manifest: RunManifest, card_file: Path) -> ChangedRunError | None:
    """Finds out that a card file is not the one that a run asked, by the hashes of manifests."""
    file_sha256 = sha256_file(card_file)
    if file_sha256 != manifest.cards_file_sha256:
        return ChangedRunError(
            f"{card_file.name} is not the card file that {path.name} answers: it changed after "
            "the run",
            where=str(card_file),
            hint="Name the cards of the run with --cards, or run again; --allow-changed accepts "
            "them, and every signature then says so.",
        )
    if manifest.accepted_card_changes:
        return None
    return find_changed_cards(card_file, manifest.cards_sha256, file_sha256)
