"""Takes the extractions of one system out of their records, and says what was taken out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from eval.extraction.samples.envelopes import open_record
from eval.extraction.samples.sample_names import SampleNames
from eval.extraction.verdicts.quotes import QUOTES
from eval.extraction.view import ENCODED_TWICE, read_extraction
from eval.harness.predictions.reader import CONFIDENCES, Predictions
from eval.harness.reply import Reply
from kg.base.plain_text import clean_text, format_count

_MAX_SHOWN: Final = 5


class PredictedSystem(msgspec.Struct, frozen=True):
    """The predictions of one system."""

    predictions: Predictions
    notes: tuple[str, ...] = ()
    """What a reader must know about them, one clause each."""


def open_records(
    found: Predictions, names: SampleNames, notes: tuple[str, ...] = (), *, is_gold: bool = False
) -> PredictedSystem:
    """Takes extractions out of their records, and counts under which keys they were.

    Args:
        found: the predictions.
        names: the samples.
        notes: what a reader must know already.
        is_gold: whether they come from where the gold does, which may be scored against itself.
    """
    replies: list[Reply] = []
    places: Counter[str] = Counter()
    foreign_keys: Counter[str] = Counter()
    n_foreign = n_with_confidences = n_annotated = n_joined = n_encoded = 0
    n_in_array = n_disputed = n_changed = 0
    joined: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    disputed: frozenset[str] = frozenset()
    for reply in found.replies:
        if reply.status == "ok":
            record = open_record(
                reply.value,
                names.get_declared_keys(reply.id),
                root=names.get_root(reply.id),
                joins_pages=not names.expects_single_object(reply.id),
            )
            if record.error:
                reply = Reply(
                    id=reply.id,
                    system=reply.system,
                    repeat=reply.repeat,
                    status="error",
                    problem=record.error,
                )
            elif record.keys:
                disputed |= record.disputed
                n_disputed += bool(record.disputed)
                places[f"{clean_text(record.keys, 100)!r} of {record.form}"] += 1
                opened = read_extraction(record.value)
                quotes = [list(quote) for quote in record.quotes]
                parts = reply.parts | ({QUOTES: quotes} if quotes else {})
                reply = msgspec.structs.replace(
                    opened,
                    id=reply.id,
                    system=reply.system,
                    repeat=reply.repeat,
                    confidence=reply.confidence,
                    notes=(*reply.notes, *opened.notes),
                    parts=parts,
                    problem="; ".join(
                        filter(None, (record.reason if opened.problem else "", opened.problem))
                    ),
                )
        value = names.open_gold(reply.id, reply.value) if is_gold else reply.value
        fitted = names.fit_value(reply.id, value)
        if fitted is not reply.value:
            n_in_array += isinstance(fitted, list) and isinstance(value, dict)
            reply = msgspec.structs.replace(reply, value=fitted)
        plain = names.split_annotations(reply.id, reply.value)
        if plain is not None:
            n_annotated += plain.is_annotated and plain.confidences is None
            n_joined += bool(plain.joined)
            joined |= plain.joined
            left_out |= plain.left_out
            n_changed += bool(plain.changed)
            changed |= plain.changed
            n_with_confidences += plain.confidences is not None
            confidences = {} if plain.confidences is None else {CONFIDENCES: plain.confidences}
            reply = msgspec.structs.replace(
                reply, value=plain.value, parts=confidences | reply.parts
            )
        declared = names.get_declared_keys(reply.id)
        if isinstance(reply.value, dict) and reply.value and declared.isdisjoint(reply.value):
            n_foreign += bool(declared)
            foreign_keys.update(clean_text(key, 40) for key in reply.value)
        n_encoded += ENCODED_TWICE in reply.notes
        replies.append(reply)
    notes += tuple(
        f"{format_count(count, 'extraction')} of {len(replies)} taken from under {place}"
        for place, count in sorted(places.items())
    )
    if n_disputed:
        notes += (
            f"in {n_disputed} of {len(replies)}, pages have several values of a field: "
            f"{_list_keys(sorted(disputed))}",
        )
    if n_changed:
        notes += (
            f"{n_changed} of {len(replies)} have objects around values that are not read as these, "
            f"for keys that say something else: {_list_keys(sorted(changed))}",
        )
    if n_in_array:
        notes += (
            f"{n_in_array} of {len(replies)} are an object where gold is an array of one: the same",
        )
    if n_with_confidences:
        notes += (f"{n_with_confidences} of {len(replies)} have values with confidences",)
    if n_annotated:
        notes += (f"{n_annotated} of {len(replies)} have values with annotations",)
    if n_encoded:
        notes += (f"of {n_encoded} of {len(replies)}, {ENCODED_TWICE}",)
    if left_out:
        notes += (f"keys beside values are left out: {_list_keys(sorted(left_out))}",)
    if n_joined:
        notes += (
            f"{n_joined} of {len(replies)} have numbers that were joined to a text with what is "
            f"beside them: {_list_keys(sorted(joined))}",
        )
    if n_foreign:
        notes += (
            f"{n_foreign} of {len(replies)} extractions have no field of their schema; their keys: "
            f"{_list_keys([key for key, _ in foreign_keys.most_common()])}",
        )
    return PredictedSystem(replace(found, replies=tuple(replies)), notes)


def _list_keys(keys: Sequence[str]) -> str:
    shown = ", ".join(clean_text(key, 40) for key in keys[:_MAX_SHOWN])
    return f"{shown}, …" if len(keys) > _MAX_SHOWN else shown
