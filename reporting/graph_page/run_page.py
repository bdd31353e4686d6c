"""Builds the graph page of a run: concepts, their co-occurrences, and the passages with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eval.text.miss_probability import analyze_question
from kg.base.errors import SettingError
from kg.base.plain_text import clean_text, join_list
from kg.difficulty.analysis import Analysis
from reporting.graph_page.page import DifficultyDetails, GraphPage, Group, Link, Mark, Node, Text
from reporting.graph_page.selection import (
    LinkSelection,
    choose_links,
    find_neighbourhood,
    select_central_nodes,
)

if TYPE_CHECKING:
    from kg.text.chunks import Chunk
    from kg.text.run.folder import Run

MIN_GROUP_SHARE = 0.4
"""Share of a concept's chunks that must be in one chapter for the concept to belong to it."""
MAX_TEXTS_PER_NODE = 8
MAX_TEXT_LENGTH = 2_000_000
"""Maximum length of all passages on a page together, in characters."""
MAX_SUGGESTIONS = 5
"""Maximum number of similar concepts in an error message."""


def build_run_page(
    run: Run,
    *,
    centre_texts: Sequence[str] = (),
    hops: int = 1,
    max_nodes: int = 200,
    query: str = "",
) -> GraphPage:
    """Builds the page of a run.

    Args:
        run: the run.
        centre_texts: names of concepts around which the graph is shown. By default the graph is
            shown around the concepts of the query; without a query, the whole run is shown.
        hops: maximum distance from these concepts.
        max_nodes: maximum number of concepts on the page.
        query: a question whose concepts, paths and difficulty are shown.

    Raises:
        SettingError: an entry of ``centre_texts`` names no concept of the run; the hint lists
            similar concepts.
        EpocheError: the run is damaged, or its embedding model cannot be loaded.
    """
    graph = run.concepts.graph
    lookup = run.open_lookup() if query or centre_texts else None
    seeds: list[str] = []
    for text in centre_texts:
        concept_ids = run.concepts.match_concepts(text, lookup)
        if not concept_ids:
            raise SettingError(
                f"{clean_text(text)!r} names no concept of the run",
                where="--around",
                hint=_suggest_concepts(run, text),
            )
        seeds += concept_ids
    analysis = analyze_question(run, query, lookup) if query else None
    asked_nodes = [node.id for node in analysis.matched] if analysis else []
    analysis_nodes = [node.id for node in analysis.nodes] if analysis else []
    first_nodes = [*asked_nodes, *seeds, *analysis_nodes]
    if seeds or asked_nodes:
        nodes, n_candidates = find_neighbourhood(
            graph, list(dict.fromkeys(first_nodes)), hops, max_nodes
        )
    else:
        nodes, n_candidates = select_central_nodes(graph, max_nodes), len(graph)
    links = analysis.links if analysis else ()
    path_pairs = {(min(x.source, x.target), max(x.source, x.target)) for x in links}
    shown_nodes = set(nodes)
    selection = choose_links(
        graph, nodes, [pair for pair in path_pairs if shown_nodes.issuperset(pair)]
    )
    chapters = _ChapterGroups(run.chunks)
    texts = _PassageTable(run.chunks)
    marks: dict[str, Mark] = dict.fromkeys(analysis_nodes, "path")
    marks |= dict.fromkeys([*seeds, *asked_nodes], "asked")
    page_nodes = [_build_node(run, node, chapters, texts, marks.get(node, "")) for node in nodes]
    return GraphPage(
        title=_build_title(query, [run.concepts.get_label(node) for node in dict.fromkeys(seeds)]),
        subtitle=f"concept graph of {join_list(_list_document_names(run))}",
        lede=_build_opening(run, query, asked_nodes, seeds, hops, len(nodes), n_candidates),
        stats=(
            (f"{len(nodes):,}", "concepts shown"),
            (f"{len(graph):,}", "concepts in the run"),
            (f"{graph.number_of_edges():,}", "links in the run"),
            (f"{len(run.chunks):,}", "chunks of text"),
        ),
        nodes=tuple(page_nodes),
        links=_build_links(run, selection, path_pairs),
        groups=chapters.groups,
        ungrouped=chapters.ungrouped,
        texts=texts.passages,
        difficulty=None if analysis is None else _build_difficulty(analysis),
        difficulty_note=_explain_difficulty(analysis),
        node_noun="concept",
        node_nouns="concepts",
        count_noun="chunks",
        group_noun=chapters.noun,
        text_noun="Passages",
        weighted=True,
        explanation=_explain_picture(selection),
        signature=(("run", run.sha256),),
    )


def _build_title(query: str, labels: Sequence[str]) -> str:
    if query:
        return f"“{clean_text(query)}”"
    if labels:
        omission = [f"{len(labels) - 3} more"] if len(labels) > 3 else []
        return f"Concepts that co-occur with {join_list([*map(clean_text, labels[:3]), *omission])}"
    return "Concepts and their co-occurrences"


def _build_opening(
    run: Run,
    query: str,
    asked_nodes: Sequence[str],
    seeds: Sequence[str],
    hops: int,
    n_shown: int,
    n_candidates: int,
) -> tuple[str, ...]:
    get_label = run.concepts.get_label
    lines = []
    if query:
        if asked_nodes:
            lines.append(
                "The question names "
                f"{join_list([f'“{clean_text(get_label(node))}”' for node in asked_nodes])}."
            )
        else:
            lines.append(
                "The question names no concept of the run, so the text cannot answer it. The "
                "picture shows the whole run."
            )
    if seeds or asked_nodes:
        centre = (
            "these"
            if query and asked_nodes and not seeds
            else join_list(
                [
                    f"“{clean_text(get_label(node))}”"
                    for node in dict.fromkeys([*seeds, *asked_nodes])
                ]
            )
        )
        distance = "one link" if hops == 1 else f"{hops} links"
        lines.append(f"The picture shows the concepts within {distance} of {centre}.")
        n_omitted = n_candidates - n_shown
        if n_omitted:
            lines.append(
                f"{n_omitted:,} of these {n_candidates:,} concepts are not shown: their links are "
                "weaker."
            )
    elif n_candidates > n_shown:
        lines.append(
            f"The picture shows the {n_shown:,} concepts with the strongest links; the other "
            f"{n_candidates - n_shown:,} of the run are not shown."
        )
    else:
        lines.append("All concepts of the run are shown.")
    return tuple(lines)


def _explain_picture(selection: LinkSelection) -> tuple[str, ...]:
    n_omitted = selection.n_links - len(selection.main) - len(selection.extra)
    omission = f" The {n_omitted:,} weakest of them are not on the page." if n_omitted else ""
    return (
        "A link connects two concepts that occur together in at least one chunk of the text. Its "
        "weight is the number of such chunks; NPMI (normalised pointwise mutual information, -1 to "
        "1) measures how much more often that is than expected by chance.",
        "The strength of a link is (weight - 1) · NPMI, since a single co-occurrence may be "
        "chance. Drawn at first are the three strongest links of each concept and a maximum "
        f"spanning forest: {len(selection.main):,} of the {selection.n_links:,} links among the "
        f"concepts shown.{omission}",
        "Distances in the picture follow the number of links between two concepts (Kamada and "
        "Kawai's layout); directions have no meaning.",
    )


def _build_difficulty(analysis: Analysis) -> DifficultyDetails:
    calibrated = analysis.calibrated
    if calibrated is None:
        return DifficultyDetails(analysis.features, analysis.score)
    sentence = (
        f"Calibrated: with a probability of {calibrated.probability:.0%}, {calibrated.predicts}. "
        f"The model {calibrated.worth}."
    )
    return DifficultyDetails(analysis.features, analysis.score, (sentence,))


def _explain_difficulty(analysis: Analysis | None) -> str:
    if analysis is None or analysis.features is None:
        return "The question names no concept of the run, so it has no difficulty score."
    n_omitted = analysis.left_out
    return (
        "Computed from the concepts that the question names, one shortest path for each pair of "
        "them, and every link among all these."
        + (f" {n_omitted:,} further concepts that it names were left out." if n_omitted else "")
    )


def _build_node(
    run: Run, node: str, chapters: _ChapterGroups, texts: _PassageTable, mark: Mark
) -> Node:
    row = run.concepts.graph.nodes[node]
    chunk_ids = list(row["chunk_ids"])
    sections = dict.fromkeys(name for key in chunk_ids if (name := texts.get_title(key)))
    passages = texts.add_passages(chunk_ids)
    return Node(
        key=node,
        label=row["label"],
        count=row["count"],
        group=chapters.find_group(chunk_ids),
        mark=mark,
        aliases=_select_aliases(row["label"], row["aliases"]),
        locations=tuple(sections),
        texts=passages,
        texts_left_out=len(chunk_ids) - len(passages),
        links=run.concepts.graph.degree(node),
    )


def _select_aliases(label: str, aliases: Sequence[str]) -> tuple[str, ...]:
    """Selects the aliases that differ from the label and from each other by more than case."""
    # Reversed, so that the first spelling of an alias replaces later ones; reversed back below.
    by_case = {alias.casefold(): alias for alias in reversed(aliases)}
    by_case.pop(label.casefold(), None)
    return tuple(reversed(by_case.values()))


def _build_links(
    run: Run, selection: LinkSelection, path_pairs: set[tuple[str, str]]
) -> tuple[Link, ...]:
    index = {node: number for number, node in enumerate(selection.nodes)}
    graph = run.concepts.graph
    pairs = sorted(
        selection.main | selection.extra, key=lambda pair: (index[pair[0]], index[pair[1]])
    )
    return tuple(
        Link(
            source=index[a],
            target=index[b],
            weight=graph.edges[a, b]["weight"],
            npmi=round(graph.edges[a, b]["npmi"], 3),
            main=(a, b) in selection.main,
            on_path=(a, b) in path_pairs,
        )
        for a, b in pairs
    )


def _list_document_names(run: Run) -> list[str]:
    names = list(dict.fromkeys(str(c.metadata.get("document", "")) for c in run.chunks))
    shown_names = [clean_text(name, 40) for name in names if name]
    return [f"{len(shown_names)} documents"] if len(shown_names) > 3 else shown_names or ["a text"]


def _suggest_concepts(run: Run, text: str) -> str:
    from rapidfuzz import fuzz, process

    folded_labels = {node: run.concepts.get_label(node).casefold() for node in run.concepts.nodes}
    hits = process.extract(
        text[:200].casefold(), folded_labels, scorer=fuzz.ratio, limit=MAX_SUGGESTIONS
    )
    similar_labels = [
        clean_text(run.concepts.get_label(node)) for _, score, node in hits if score >= 50
    ]
    if similar_labels:
        return f"Similar concepts: {', '.join(similar_labels)}."
    return "List the run's concepts with `epoche kg inspect --run`."


class _ChapterGroups:
    """The groups of a run's concepts: its documents, or the sections of its only document."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        documents = {chunk.id: str(chunk.metadata.get("document", "")) for chunk in chunks}
        top_headings = {chunk.id: _get_heading(chunk, 0) for chunk in chunks}
        if len(set(documents.values())) > 1:
            self.noun = "Chapter"  # each document is presented as one chapter
            group_keys = documents
            # A document whose chunks are mostly under one heading is named after that heading.
            headings: dict[str, Counter[str]] = {}
            for key, document in documents.items():
                headings.setdefault(document, Counter())[top_headings[key]] += 1
            names = {
                document: heading if heading and 2 * count > counts.total() else document
                for document, counts in headings.items()
                for heading, count in counts.most_common(1)
            }
        else:
            self.noun = "Section"
            # The first heading level that distinguishes at least two sections.
            level = next(
                (n for n in range(6) if len({_get_heading(c, n) for c in chunks} - {""}) > 1), 0
            )
            group_keys = {chunk.id: _get_heading(chunk, level) for chunk in chunks}
            names = {name: name for name in group_keys.values() if name}
        self._group_numbers = {name: number for number, name in enumerate(names)}
        self._group_keys = group_keys
        self.groups = tuple(
            Group(name or "unnamed text", _choose_code(name, number))
            for number, name in enumerate(names.values())
        )
        self.ungrouped = f"across {self.noun.lower()}s" if len(self.groups) > 1 else ""

    def find_group(self, chunk_ids: Sequence[str]) -> int | None:
        """Returns the group with most of the chunks; ``None`` for ties and small shares."""
        counts = Counter(
            self._group_numbers.get(self._group_keys.get(key, "")) for key in chunk_ids
        )
        (best, highest), *other_counts = counts.most_common()
        is_tied = any(count == highest for _, count in other_counts)
        return None if is_tied or highest / len(chunk_ids) < MIN_GROUP_SHARE else best


def _get_heading(chunk: Chunk, level: int) -> str:
    path = chunk.metadata.get("section_path")
    return str(path[level]) if isinstance(path, list) and len(path) > level else ""


def _choose_code(name: str, number: int) -> str:
    # "3. Results" gets the code 3; a heading without a number gets its position.
    first_word = name.split(maxsplit=1)[0] if name.split() else ""
    code = first_word.rstrip(".:")
    return code if 0 < len(code) <= 3 and code[0].isdigit() else str(number + 1)


class _PassageTable:
    """The chunks that the page's nodes refer to, without duplicates; their total length is limited.

    A chunk's number is its position among the passages of the page.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = {chunk.id: chunk for chunk in chunks}
        self._numbers: dict[str, int] = {}
        self._remaining_length = MAX_TEXT_LENGTH

    @property
    def passages(self) -> tuple[Text, ...]:
        """The passages, in the order of their numbers."""
        return tuple(
            Text(self.get_title(key) or key, self._chunks[key].text) for key in self._numbers
        )

    def get_title(self, key: str) -> str:
        """Returns the heading of a chunk."""
        chunk = self._chunks.get(key)
        return "" if chunk is None else str(chunk.metadata.get("section") or "")

    def add_passages(self, keys: Sequence[str]) -> tuple[int, ...]:
        """Adds the first chunks of a node, as far as the page has room; returns their numbers."""
        numbers: list[int] = []
        for key in keys:
            if len(numbers) == MAX_TEXTS_PER_NODE:
                break
            chunk = self._chunks.get(key)
            if chunk is None:
                continue
            if key not in self._numbers:
                if len(chunk.text) > self._remaining_length:
                    continue
                self._remaining_length -= len(chunk.text)
                self._numbers[key] = len(self._numbers)
            numbers.append(self._numbers[key])
        return tuple(numbers)
