"""Compares two runs: the documents, concepts and links that came, went or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from kg.base.plain_text import clean_text
from kg.text.run.folder import Run

MAX_SHOWN_ROWS = 20
"""Maximum number of rows of each list that ``RunComparison.render_text`` shows."""

Value = TypeVar("Value")


class Change(msgspec.Struct, Generic[Value], frozen=True):
    """Something that is in both runs but not equal, or in one of them only."""

    key: str
    """A document's name, a concept's normal form, or the two of a link joined by ``" – "``."""
    label: str
    """What is printed: a path, or spellings."""
    before: Value | None
    """In the first run; None if it is not there."""
    after: Value | None
    note: str = ""


class ConceptState(msgspec.Struct, frozen=True):
    """A concept in one run."""

    label: str
    chunks: int
    aliases: tuple[str, ...]


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The differences from one run to another; empty lists if there are none."""

    settings: tuple[Change[Any], ...]
    """Settings and versions of libraries."""
    documents: tuple[Change[str], ...]
    """Values are the hashes of the files."""
    concepts: tuple[Change[ConceptState], ...]
    """In the order of how many chunks were gained or lost, most first."""
    links: tuple[Change[int], ...]
    """Values are the numbers of shared chunks; in the order of their differences."""

    def render_text(self) -> str:
        """Returns the comparison as text, with lists cut to ``MAX_SHOWN_ROWS`` rows."""
        return "\n".join(_render_lines(self)) + "\n"


def compare_runs(before: Run, after: Run) -> RunComparison:
    """Compares two runs; documents by their names and hashes, concepts by their normal forms."""
    concepts = sorted(
        _compare_concepts(before, after),
        key=lambda change: -abs(_count_chunks(change.after) - _count_chunks(change.before)),
    )
    graphs = before.concepts.graph, after.concepts.graph
    weights = [
        {(first, second): weight for first, second, weight in graph.edges.data("weight")}
        for graph in graphs
    ]
    labels = {node: label for graph in graphs for node, label in graph.nodes.data("label")}
    links = [
        Change(
            " – ".join(pair),
            f"{labels[pair[0]]} – {labels[pair[1]]}",
            weights[0].get(pair),
            weights[1].get(pair),
        )
        for pair in sorted(weights[0].keys() | weights[1].keys())
        if weights[0].get(pair) != weights[1].get(pair)
    ]
    links.sort(key=lambda change: -abs((change.after or 0) - (change.before or 0)))
    return RunComparison(
        settings=tuple(_compare_values(_list_settings(before), _list_settings(after))),
        documents=tuple(_compare_documents(before, after)),
        concepts=tuple(concepts),
        links=tuple(links),
    )


def _count_chunks(state: ConceptState | None) -> int:
    return state.chunks if state else 0


def _list_settings(run: Run) -> dict[str, Any]:
    settings = msgspec.to_builtins(run.config)
    canonical = settings.pop("canonical") or {}
    return {
        **settings,
        **{f"canonical {name}": value for name, value in canonical.items()},
        **{f"version of {name}": value for name, value in run.metadata.versions.items()},
    }


def _compare_values(
    before: Mapping[str, Value], after: Mapping[str, Value]
) -> Iterator[Change[Value]]:
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            yield Change(key, key, before.get(key), after.get(key))


def _compare_documents(before: Run, after: Run) -> Iterator[Change[str]]:
    # Chunk files have no name; several documents of the same name cannot be in a run.
    states = [
        {document.name or document.filename: document for document in run.metadata.documents}
        for run in (before, after)
    ]
    for key in sorted(states[0].keys() | states[1].keys()):
        old, new = states[0].get(key), states[1].get(key)
        label = (new or old).filename  # type: ignore[union-attr]
        if old is None or new is None or old.sha256 != new.sha256:
            yield Change(key, label, old.sha256 if old else None, new.sha256 if new else None)


def _compare_concepts(before: Run, after: Run) -> Iterator[Change[ConceptState]]:
    states = [_list_concepts(run) for run in (before, after)]
    # Normal form → the concept that it belongs to, for spellings that were merged.
    owner_of_form = {
        form: node for node, forms in after.concepts.graph.nodes.data("forms") for form in forms
    }
    for node in sorted(states[0].keys() | states[1].keys()):
        old, new = states[0].get(node), states[1].get(node)
        if old == new:
            continue
        owner = owner_of_form.get(node) if new is None else None
        note = f"now part of {states[1][owner].label}" if owner in states[1] else ""
        label = (new or old).label  # type: ignore[union-attr]
        yield Change(node, label, old, new, note)


def _list_concepts(run: Run) -> dict[str, ConceptState]:
    return {
        node: ConceptState(data["label"], len(data["chunk_ids"]), tuple(sorted(data["aliases"])))
        for node, data in run.concepts.graph.nodes(data=True)
    }


def _render_lines(comparison: RunComparison) -> Iterator[str]:
    sections: dict[str, tuple[Change[Any], ...]] = {
        "SETTINGS": comparison.settings,
        "DOCUMENTS": comparison.documents,
        "CONCEPTS": comparison.concepts,
        "LINKS": comparison.links,
    }
    for title, changes in sections.items():
        came = sum(change.before is None for change in changes)
        went = sum(change.after is None for change in changes)
        yield f"{title}: {came:,} came, {went:,} went, {len(changes) - came - went:,} changed"
        for change in changes[:MAX_SHOWN_ROWS]:
            yield f"  {_describe_change(change)}"
        if len(changes) > MAX_SHOWN_ROWS:
            yield f"  … and {len(changes) - MAX_SHOWN_ROWS:,} more (--json lists them)"


def _describe_change(change: Change[Any]) -> str:
    sign = "+" if change.before is None else "-" if change.after is None else "~"
    values = [
        value for value in (_describe_value(change.before), _describe_value(change.after)) if value
    ]
    description = f"{sign} {clean_text(change.label)}"
    if values:
        description += f"  {' → '.join(values)}"
    return description + (f"  ({clean_text(change.note)})" if change.note else "")


def _describe_value(value: Any) -> str:
    if isinstance(value, ConceptState):
        aliases = f" ({', '.join(map(clean_text, value.aliases[:3]))})" if value.aliases else ""
        return f"{value.chunks:,}{aliases}"
    return "" if value is None else clean_text(str(value)[:12] if _is_hash(value) else str(value))


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64
