"""Merges synonymous keywords in four stages: embed, cluster, verify, apply.

Keywords with the same normal form are merged from the start. Clusters are only candidates; the
verifier decides. Embeddings may place other spellings far apart. Therefore ``candidates`` proposes
them before the third stage: it joins whole clusters to groups, so that each keyword is in one group
only. Names of modules and classes are kept apart from other words (``program_names``). Acronyms are
merged where the text defines them (``definitions``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kg.embedding.embedder import Embedder, normalise_rows
from kg.text.canonical.candidates import join_groups
from kg.text.canonical.clusters import DEFAULT_THRESHOLD, MAX_GROUP_SIZE, cluster_rows
from kg.text.canonical.definitions import merge_definitions
from kg.text.canonical.program_names import split_groups
from kg.text.canonical.similar_pairs import ProgressCallback
from kg.text.canonical.table import CanonicalTable
from kg.text.canonical.verdicts import check_synonym_sets
from kg.text.canonical.verifier import SynonymVerifier
from kg.words.normaliser import normalise_phrase

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_BATCH_SIZE = 4096
"""Number of keywords embedded in one call."""


class _Keyword(NamedTuple):
    """All spellings with the same normal form."""

    form: str
    label: str
    """The commonest spelling; ties are broken alphabetically."""
    occurrences: int
    """Number of occurrences of all spellings."""


def canonicalise_keywords(
    frequencies: Mapping[str, int],
    embedder: Embedder,
    verifier: SynonymVerifier,
    threshold: float = DEFAULT_THRESHOLD,
    max_group_size: int = MAX_GROUP_SIZE,
    *,
    index_candidates: bool = True,
    definitions: Mapping[str, frozenset[str]] = MappingProxyType({}),
    program_names: frozenset[str] = frozenset(),
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> CanonicalTable:
    """Decides which keywords name the same concept.

    Args:
        frequencies: keyword as written → number of occurrences. The order does not matter.
        embedder: embeds the keywords for clustering.
        verifier: decides which keywords of a group are synonyms.
        threshold: minimum cosine between all keywords of a cluster.
        max_group_size: maximum number of keywords in a group.
        index_candidates: whether other spellings and spacings are candidates too; see
            ``kg.text.canonical.candidates``.
        definitions: the acronyms that the text defines (``find_definitions``); only these are
            merged with their phrases.
        program_names: the words that the text uses as names of modules and classes
            (``find_program_names``); keywords with different ones are never in one group.
        on_progress: called with the number of keywords compared so far, and of all keywords.

    Returns:
        The table of all keywords that contain a word.

    Raises:
        VerdictError: a verdict of the verifier is invalid.
    """
    keywords = _group_spellings(frequencies)
    labels = [keyword.label for keyword in keywords]
    # Only `cluster_rows` holds the vectors, so that their memory is free after it.
    groups = cluster_rows(
        _embed_labels(labels, embedder),
        threshold,
        max_group_size,
        overwrite=True,
        on_progress=on_progress,
    )
    if index_candidates:
        groups = join_groups(labels, groups, max_group_size)
    if program_names:
        groups = split_groups(labels, groups, program_names)
    return _build_table(keywords, groups, verifier, definitions)


def _embed_labels(labels: Sequence[str], embedder: Embedder) -> npt.NDArray[np.float32]:
    """Returns an embedding of each label: shape (labels, dimensions), rows of length 1."""
    import numpy as np

    vectors = np.empty((0, 1), np.float32)
    for start in range(0, len(labels), _BATCH_SIZE):
        batch = normalise_rows(embedder.encode(labels[start : start + _BATCH_SIZE]))
        if not start:
            # Joining all batches at the end would need twice the memory.
            vectors = np.empty((len(labels), batch.shape[1]), np.float32)
        vectors[start : start + _BATCH_SIZE] = batch
    return vectors


def _group_spellings(frequencies: Mapping[str, int]) -> list[_Keyword]:
    """Returns the distinct keywords, sorted by form, without those that contain no word."""
    spellings: dict[str, dict[str, int]] = {}
    for keyword, count in frequencies.items():
        spellings.setdefault(normalise_phrase(keyword), {})[keyword] = count
    spellings.pop("", None)
    return [
        _Keyword(
            form,
            min(counts, key=lambda spelling: (-counts[spelling], spelling)),
            sum(counts.values()),
        )
        for form, counts in sorted(spellings.items())
    ]


def _build_table(
    keywords: Sequence[_Keyword],
    groups: Sequence[Sequence[int]],
    verifier: SynonymVerifier,
    definitions: Mapping[str, frozenset[str]],
) -> CanonicalTable:
    """Asks the verifier about the groups and builds the table from its verdicts."""
    groups_to_verify = []
    for group in groups:
        if len(group) > 1:
            group_keywords = sorted(
                (keywords[n] for n in group), key=lambda k: (-k.occurrences, k.form)
            )
            groups_to_verify.append([keyword.label for keyword in group_keywords])
    verdicts = verifier.verify_groups(groups_to_verify) if groups_to_verify else []
    concept_of_form = {keyword.form: keyword.form for keyword in keywords}
    for labels, sets in zip(groups_to_verify, verdicts, strict=True):
        check_synonym_sets(labels, sets)
        for canonical, members in sets:
            concept_of_form.update(
                (normalise_phrase(member), normalise_phrase(canonical)) for member in members
            )
    label_of_form = {keyword.form: keyword.label for keyword in keywords}
    occurrences = {keyword.form: keyword.occurrences for keyword in keywords}
    merge_definitions(concept_of_form, label_of_form, occurrences, definitions)
    return CanonicalTable(
        concept_of_form,
        {concept: label_of_form[concept] for concept in sorted(set(concept_of_form.values()))},
    )
