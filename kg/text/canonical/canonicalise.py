"""Canonicalisation in four stages: embed, cluster, verify, apply.

Keywords of one normal form are one keyword from the start. Clusters only propose; the verifier
decides. An acronym and what it stands for are far apart in every embedding, so beside the clusters
an index of acronyms and of spellings proposes too: it joins whole clusters into one group before
the third stage, so that each keyword is still in one group only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kg.embedding.embedder import Embedder, unit_rows
from kg.text.canonical.candidates import joined_by_index
from kg.text.canonical.clustering import MAX_GROUP_SIZE, THRESHOLD, cluster
from kg.text.canonical.similar_pairs import Watch
from kg.text.canonical.table import CanonicalTable
from kg.text.canonical.verdicts import check_sets
from kg.text.canonical.verifier import SynonymVerifier
from kg.text.normaliser import normalise

_AT_ONCE = 4096
"""Keywords that are embedded at once."""


class _Keyword(NamedTuple):
    """Everything that is written in one normal form."""

    form: str
    label: str
    """The commonest spelling; equally common ones in sorted order."""
    occurrences: int
    """Of all its spellings."""


def canonicalise(
    frequencies: Mapping[str, int],
    embedder: Embedder,
    verifier: SynonymVerifier,
    threshold: float = THRESHOLD,
    max_group_size: int = MAX_GROUP_SIZE,
    *,
    by_index: bool = True,
    watch: Watch = lambda _done, _total: None,
) -> CanonicalTable:
    """Decides which keywords are one concept.

    Args:
        frequencies: keywords as written, with how often they occur. Their order decides nothing.
        embedder: for the first stage.
        verifier: decides which keywords of a group are synonyms.
        threshold: cosine that all keywords of a cluster have at least with each other.
        max_group_size: keywords a group may have.
        by_index: whether acronyms with their expansions, and other spellings and spacings, are
            proposed too.
        watch: is told how many keywords have been compared, and of how many.

    Returns:
        The table, in which every keyword with a word in it is.

    Raises:
        VerdictError: the verifier gave a verdict that cannot be applied.
    """
    import numpy as np

    keywords = _keywords(frequencies)
    labels = [keyword.label for keyword in keywords]
    parts = [
        unit_rows(embedder.encode(labels[start : start + _AT_ONCE]))
        for start in range(0, len(labels), _AT_ONCE)
    ]
    groups: list[list[int]] = []
    if parts:
        groups = cluster(np.concatenate(parts), threshold, max_group_size, watch=watch)
    if by_index:
        groups = joined_by_index(labels, groups, max_group_size)
    return _applied(keywords, groups, verifier)


def _keywords(frequencies: Mapping[str, int]) -> list[_Keyword]:
    """The distinct keywords, sorted by form; what holds no word is none."""
    spellings: dict[str, dict[str, int]] = {}
    for keyword, count in frequencies.items():
        spellings.setdefault(normalise(keyword), {})[keyword] = count
    spellings.pop("", None)
    return [
        _Keyword(
            form,
            min(counts, key=lambda spelling: (-counts[spelling], spelling)),
            sum(counts.values()),
        )
        for form, counts in sorted(spellings.items())
    ]


def _applied(
    keywords: Sequence[_Keyword], groups: Sequence[Sequence[int]], verifier: SynonymVerifier
) -> CanonicalTable:
    """The table that the verifier's verdicts on the groups make."""
    asked = []
    for group in groups:
        if len(group) > 1:
            some = sorted((keywords[n] for n in group), key=lambda k: (-k.occurrences, k.form))
            asked.append([keyword.label for keyword in some])
    verdicts = verifier.verify(asked) if asked else []
    forms = {keyword.form: keyword.form for keyword in keywords}
    for labels, sets in zip(asked, verdicts, strict=True):
        check_sets(labels, sets)
        for canonical, members in sets:
            forms.update((normalise(member), normalise(canonical)) for member in members)
    label = {keyword.form: keyword.label for keyword in keywords}
    return CanonicalTable(
        forms, {concept: label[concept] for concept in sorted(set(forms.values()))}
    )
