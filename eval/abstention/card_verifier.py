"""Verifies results of cards: every row against its card, and every label against the graph.

A result row contains the system's reply and copies of its card's gold answer, label and metadata.
The copies, ``pass`` and the manifest's counts are computed again here; ``pred`` is read again from
``raw`` for systems whose ``raw`` is exactly what the model wrote, and the whole answer is computed
again for systems that ask no model.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Final, cast

import msgspec

from cards.card import Card
from cards.card_integrity import find_changed_cards
from cards.card_origin import CardOrigin, find_card_sources, read_card_origin
from cards.consistency import find_card_problems, find_other_clusters
from cards.generation.kinds import FAITHFULNESS_KINDS
from eval.abstention.answer_client import read_raw_again
from eval.abstention.card_file import CardFile
from eval.abstention.card_plan import OUTCOME_CODES
from eval.abstention.integrity.repeated_answers import (
    COMPUTED_FIELDS,
    REPEATABLE_SYSTEMS,
    RepeatedAnswers,
)
from eval.abstention.manifest import RunManifest, read_manifest, require_card_file
from eval.abstention.result import PREDS, RAW_CLOSED_BOOK, Result, result_from_json
from eval.harness.totals import CallMeter
from eval.harness.verification.changed_files import find_changed_line
from eval.harness.verification.record import ABSENT, Difference, DifferenceLog, Verification
from kg.base.errors import CardSetMismatchError, MissingFileError
from kg.base.files import require_file, sha256_file
from kg.base.plain_text import format_count, join_list
from kg.base.provenance import manifest_path
from kg.claims import Regime

SYSTEMS_WITH_RAW_REPLIES: Final = ("raw", RAW_CLOSED_BOOK, "rag_llm")
"""Values of ``--system`` whose ``raw`` alone decides ``pred``."""

_TOTALS: Final = ("prompt_tokens", "completion_tokens", "cost_usd")
"""Totals in the manifest that are sums over the rows."""


class ProofCheck(msgspec.Struct):
    """What proving the labels of a card file again gave.

    Attributes:
        problem: why they, or some of them, cannot be proved; empty if they were.
        n_unproved: number of labels that neither graph nor card proves or refutes.
        n_on_graph: number of labels proved over the graph.
        n_on_card: number of labels proved over the card's own facts and rules.
        disagreements: index of a card, its label, the label proved, and over what.
    """

    problem: str = ""
    n_unproved: int = 0
    n_on_graph: int = 0
    n_on_card: int = 0
    disagreements: list[tuple[int, str, str, str]] = []


class LabelProver:
    """Proves the labels of card files again; each file once, however many runs asked its cards."""

    def __init__(self) -> None:
        self._found: dict[Path, ProofCheck] = {}

    def prove_labels(self, cards: CardFile, log: DifferenceLog) -> None:
        """Adds a difference for every label that the oracle does not prove.

        Raises:
            EpocheError: graph or shapes are damaged.
        """
        key = cards.path.resolve()
        if key not in self._found:
            self._found[key] = _check_proofs(cards)
        found = self._found[key]
        if found.problem:
            log.skipped.append(f"labels: {found.problem}")
            log.unproved = found.problem
        if found.n_on_graph or not found.problem:
            log.checked["labels proved over the graph"] = found.n_on_graph
        if found.n_on_card or not found.problem:
            log.checked["labels proved over the card alone"] = found.n_on_card
        lines = cards.find_lines(item for item, *_ in found.disagreements)
        for line, (item, label, verdict, place) in zip(lines, found.disagreements, strict=True):
            log.add(
                cards.path,
                "label",
                expected=f"{verdict}, proved over {place}",
                found=label,
                line=line,
                row=f"card {cards[item].id!r}",
            )


def _check_proofs(cards: CardFile) -> ProofCheck:
    """Proves the label of each card over the graph, and over its own facts and rules.

    Faithfulness cards contradict the graph on purpose and are proved over the card only; so are all
    cards if the graph changed, which proves nothing any more.
    """
    from cards.own_proof import CardProver
    from kg.knowledge import KnowledgeBase

    origin: CardOrigin = read_card_origin(cards.path)
    domain, graph, shapes = find_card_sources(origin, cards.path)
    if not manifest_path(cards.path).is_file():
        return ProofCheck(f"there is no {manifest_path(cards.path).name}, which names the graph")
    if not (domain or graph):
        return ProofCheck("no manifest of the cards names a graph that is there")
    try:
        kb = KnowledgeBase.open(domain, graph, shapes, cast("Regime | None", origin.regime))
    except MissingFileError as error:  # for example, a shipped domain whose graph is not built
        return ProofCheck(error.what)
    if origin.shapes_sha256 not in (None, kb.shapes.sha256):
        return ProofCheck("the shapes changed after the cards were made")
    check, prover = ProofCheck(), CardProver(kb)
    is_same_graph = origin.graph_sha256 in (None, kb.graph.sha256)
    for item in range(len(cards)):
        card = cards[item]
        own = prover.find_label(card)
        verdicts = {} if own is None else {"the card": own}
        if is_same_graph and card.kind not in FAITHFULNESS_KINDS:
            verdicts = {"the graph": kb.oracle.license(card.claim).label, **verdicts}
        check.n_unproved += not verdicts
        check.n_on_graph += verdicts.get("the graph") == card.label
        check.n_on_card += own == card.label
        for place, verdict in verdicts.items():
            if verdict != card.label:
                check.disagreements.append((item, card.label, verdict, place))
                break
    if not is_same_graph:
        check.problem = "the graph changed after the cards were made"
    elif check.n_unproved:
        count = format_count(check.n_unproved, "card")
        check.problem = f"{count} of a kind that only its own triples prove, without triples"
    return check


def verify_cards(path: Path, prover: LabelProver | None = None) -> Verification:
    """Verifies a card file: hash, labels, proofs and copies.

    Args:
        path: the card file; its manifest is in the same folder.
        prover: proves the labels again; None to leave that out.

    Raises:
        MissingFileError: there is no such file.
        RecordError, DuplicateIdError: the cards or their manifest are damaged.
    """
    log = DifferenceLog()
    with CardFile(require_file(path, "card file")) as cards:
        origin = read_card_origin(path)
        if origin.cards_sha256 is None:
            log.skipped.append("the hash of the cards: they have no manifest that records it")
        for field, value in (
            ("cards_sha256", cards.sha256),
            ("cards_file_sha256", cards.file_sha256),
        ):
            if (recorded := getattr(origin, field)) not in (None, value):
                log.add(path, field, expected=recorded, found=value)
        _check_cards(cards, log, prover)
    return log.to_verification(path, "cards")


def _check_cards(cards: CardFile, log: DifferenceLog, prover: LabelProver | None) -> None:
    """Checks each card against itself, all others, and what the oracle proves."""
    log.checked["cards"] = len(cards)
    is_ours = read_card_origin(cards.path).graph_sha256 is not None
    clusters = find_other_clusters(cards.path) if is_ours else ()
    for problem in chain(find_card_problems([cards.path]), clusters):
        log.add(
            cards.path,
            problem.field,
            expected=problem.expected,
            found=problem.found,
            line=problem.line,
            row=f"card {problem.id!r}",
        )
    if prover is None:
        log.skipped.append("labels: not asked for")
    else:
        prover.prove_labels(cards, log)


def verify_results(
    path: Path,
    cards_file: Path | None = None,
    prover: LabelProver | None = None,
    check_statistics: Callable[[Path, RunManifest, DifferenceLog], object] | None = None,
) -> Verification:
    """Verifies a result file.

    Args:
        path: the result file; its manifest is in the same folder.
        cards_file: the cards; by default the file that the manifest names.
        prover: proves the labels of the cards again; None to leave them out.
        check_statistics: checks the statistics beside a result file with this manifest; None to
            leave that out.

    Raises:
        MissingFileError: the results, their manifest or the cards do not exist.
        RecordError, DuplicateIdError: the manifest or the cards are damaged.
        ChangedRunError: nothing differs but the cards' own manifest, which is of other cards.
    """
    require_file(path, "result file")
    manifest_file = manifest_path(path)
    manifest = read_manifest(manifest_file)
    log = DifferenceLog()
    with CardFile(require_card_file(manifest_file, cards_file)) as cards:
        for field, value in (
            ("cards_sha256", cards.sha256),
            ("cards_file_sha256", cards.file_sha256),
            ("card_count", len(cards)),
        ):
            if (recorded := getattr(manifest, field)) != value:
                log.add(cards.path, field, expected=recorded, found=value)
        answers = None
        if prover is not None and manifest.system in REPEATABLE_SYSTEMS:
            answers = RepeatedAnswers(manifest, cards.path)
        _RowVerifier(path, manifest, cards, log, answers).verify()
        # These are computed from the rows, so that they tell nothing if the rows differ.
        if check_statistics is not None and not log.n_differences:
            check_statistics(path, manifest, log)
        _check_cards(cards, log, prover)
        if answers is not None and answers.problem:
            log.skipped.append(f"answers: {answers.problem}")
        problem = find_changed_cards(cards.path, cards.sha256)
        if manifest.accepted_card_changes:
            accepted = join_list(manifest.accepted_card_changes)
            log.skipped.append(f"the manifest of the cards: {accepted}, and this was accepted")
        elif problem is not None and not log.n_differences:
            raise problem  # else what differs explains it
    return log.to_verification(path, "cards")


class _RowVerifier:
    """Verifies the rows of one result file, in a byte of memory per row."""

    def __init__(
        self,
        path: Path,
        manifest: RunManifest,
        cards: CardFile,
        log: DifferenceLog,
        answers: RepeatedAnswers | None,
    ) -> None:
        self._answers = answers
        self._path = path
        self._manifest = manifest
        self._cards = cards
        self._log = log
        # The number of cards is that of the file, which a swapped file may not share with the run.
        self._layout = msgspec.structs.replace(manifest, card_count=len(cards)).layout
        self._columns = {name: column for column, name in enumerate(manifest.systems)}
        self._seen = bytearray(self._layout.size)
        self._meter = CallMeter()
        self._counts = dict.fromkeys(PREDS, 0)
        self._last_position = -1

    def verify(self) -> None:
        """Verifies every row, then what the manifest says of all of them."""
        self._log.checked["rows"] = 0
        is_sorted = True
        with self._path.open("rb") as handle:
            for number, line in enumerate(handle, start=1):
                position = self._verify_line(line, number)
                if position is not None:
                    is_sorted = is_sorted and position > self._last_position
                    self._last_position = position
        self._log.checked["rows"] = sum(self._counts.values())
        self._add_missing_rows()
        if not is_sorted:
            self._log.add(
                self._path,
                "order",
                expected="the order of cards, repeats, systems",
                found="another",
            )
        self._verify_totals()

    def _verify_line(self, line: bytes, number: int) -> int | None:
        """Verifies one row; returns its position, or None if it has none."""
        try:
            row = result_from_json(msgspec.json.decode(line, type=dict))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._log.add(self._path, "row", expected="a row", found=str(error), line=number)
            return None
        self._counts[row.pred] += 1
        self._meter.add_row(OUTCOME_CODES[row.pred], row.usage)
        position, problem = self._find_position(row, number)
        if position is None:
            self._add(number, row, "row", ABSENT, problem)
            return None
        if self._seen[position]:
            self._add(number, row, "row", ABSENT, "a second row")
        self._seen[position] = 1
        card = self._cards[self._layout.item_at(position)]
        self._verify_copies(row, card, number)
        self._verify_pred(row, number)
        self._verify_answer(row, card, number)
        return position

    def _find_position(self, row: Result, number: int) -> tuple[int | None, str]:
        item, column = self._cards.find_item(row.id), self._columns.get(row.system)
        if item is None:
            return None, "a row of a card that is not in the card file"
        if column is None or row.repeat < 0:
            return None, "a row of a system or repeat that is not in the manifest"
        try:
            self._layout.require_asked(
                item, row.repeat, noun="card", where=f"{self._path}:{number}"
            )
        except CardSetMismatchError as error:
            return None, error.what
        if row.repeat >= self._layout.count_repeats(column):
            return None, f"repeat {row.repeat + 1} of {row.system}, which has fewer"
        return self._layout.position_of(item, row.repeat, column), ""

    def _verify_copies(self, row: Result, card: Card, number: int) -> None:
        for field, expected, found in (
            ("gold", card.gold, row.gold),
            ("label", card.label, row.label),
            ("pass", row.pred == card.gold, row.passed),
            ("kind", card.kind, row.kind),
            ("cluster", card.cluster, row.cluster),
            ("difficulty", card.difficulty, row.difficulty),
            ("cards", self._manifest.cards_sha256[:12], row.cards),
            ("mined_rules", card.rests_on_mined_rules, row.mined_rules),
            ("triplet", card.triplet, row.triplet),
            ("full_label", card.full_label, row.full_label),
        ):
            if expected != found:
                self._add(number, row, field, expected, found)

    def _verify_pred(self, row: Result, number: int) -> None:
        if self._manifest.system not in SYSTEMS_WITH_RAW_REPLIES or row.pred == "ERROR":
            return
        pred = read_raw_again(row.raw, str(row.extra.get("note", "")))
        if pred is not None:
            self._count("preds read again from raw")
            if pred != row.pred:
                self._add(number, row, "pred", pred, row.pred)

    def _verify_answer(self, row: Result, card: Card, number: int) -> None:
        if self._answers is None:
            return
        computed = self._answers.compute_row(card, row.system)
        if computed is not None:
            self._count("answers computed again")
            for field in COMPUTED_FIELDS:
                expected, found = getattr(computed, field), getattr(row, field)
                if expected != found:
                    self._add(number, row, field, expected, found)

    def _count(self, name: str) -> None:
        self._log.checked[name] = self._log.checked.get(name, 0) + 1

    def _add_missing_rows(self) -> None:
        for item in self._layout.asked_items:
            for position, repeat, column in self._layout.iter_item_rows(item):
                if not self._seen[position]:
                    row = self._describe(
                        self._cards[item].id, self._manifest.systems[column], repeat
                    )
                    self._log.add(self._path, "row", expected="a row", found=ABSENT, row=row)

    def _verify_totals(self) -> None:
        manifest, log, manifest_file = self._manifest, self._log, manifest_path(self._path)
        if manifest.status == "running":
            log.skipped.append("counts and totals: the run was stopped before they were written")
            return
        # Named only where no difference of a row or a count explains it.
        found = sha256_file(self._path)
        if manifest.rows_sha256 not in (None, found) and not log.n_differences:
            log.add_difference(
                find_changed_line([self._path], manifest)
                or Difference(
                    file=str(self._path),
                    field="rows_sha256",
                    expected=manifest.rows_sha256,
                    found=found,
                )
            )
        for pred, count in self._counts.items():
            if (recorded := manifest.counts.get(pred, 0)) != count:
                log.add(manifest_file, f"counts.{pred}", expected=count, found=recorded)
        totals = self._meter.compute_totals()
        if totals is None or manifest.calls is None:
            if totals is not manifest.calls and any(self._counts.values()):
                log.add(manifest_file, "calls", expected=totals, found=manifest.calls)
            return
        for field in _TOTALS:
            expected, found = getattr(totals, field), getattr(manifest.calls, field)
            if expected != found:
                log.add(manifest_file, f"calls.{field}", expected=expected, found=found)

    def _add(self, line: int, row: Result, field: str, expected: object, found: object) -> None:
        self._log.add(
            self._path,
            field,
            expected=expected,
            found=found,
            line=line,
            row=self._describe(row.id, row.system, row.repeat),
        )

    def _describe(self, card_id: str, system: str, repeat: int) -> str:
        repeat_text = f", repeat {repeat}" if self._manifest.repeats > 1 else ""
        return f"card {card_id!r} of {system}{repeat_text}"
