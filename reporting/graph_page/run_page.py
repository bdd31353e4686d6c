"""Builds the graph page of a run: concepts, their co-occurrences, and the passages with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kg.base.errors import SettingError
from kg.difficulty.analysis import Analysis, analyze_in_run
from kg.words.plain_text import clean_text, join_list
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
"""Characters of all passages on a page."""
MAX_SUGGESTIONS = 5


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
        centre_texts: names of concepts around which the graph is shown. Default: those of the
            query, or else the whole run.
        hops: maximum distance from these concepts.
        max_nodes: maximum number of concepts on the page.
        query: a question whose concepts, paths and difficulty are shown.

    Raises:
        SettingError: a text names no concept of the run; the hint lists similar ones.
        EpocheError: the run is damaged, or its embedding model cannot be loaded.
    """
    graph = run.concepts.graph
    lookup = run.open_lookup() if query or centre_texts else None
    seeds: list[str] = []
    for text in centre_texts:
        matched = run.concepts.match_concepts(text, lookup)
        if not matched:
            raise SettingError(
                f"{clean_text(text)!r} names no concept of the run",
                where="--around",
                hint=_suggest_concepts(run, text),
            )
        seeds += matched
    analysis = analyze_in_run(run, query, lookup) if query else None
    asked = [node.id for node in analysis.matched] if analysis else []
    inside = [node.id for node in analysis.nodes] if analysis else []
    first = [*asked, *seeds, *inside]
    if seeds or asked:
        nodes, near = find_neighbourhood(graph, list(dict.fromkeys(first)), hops, max_nodes)
    else:
        nodes, near = select_central_nodes(graph, max_nodes), len(graph)
    links = analysis.links if analysis else ()
    paths = {(min(x.source, x.target), max(x.source, x.target)) for x in links}
    shown = set(nodes)
    chosen = choose_links(graph, nodes, [pair for pair in paths if shown.issuperset(pair)])
    chapters = _ChapterGroups(run.chunks)
    texts = _PassageTable(run.chunks)
    marks: dict[str, Mark] = dict.fromkeys(inside, "path")
    marks |= dict.fromkeys([*seeds, *asked], "asked")
    drawn = [_build_node(run, node, chapters, texts, marks.get(node, "")) for node in nodes]
    return GraphPage(
        title=_build_title(query, [run.concepts.get_label(node) for node in dict.fromkeys(seeds)]),
        subtitle=f"concept graph of {join_list(_list_document_names(run))}",
        lede=_build_opening(run, query, asked, seeds, hops, len(nodes), near),
        stats=(
            (f"{len(nodes):,}", "concepts shown"),
            (f"{len(graph):,}", "concepts in the run"),
            (f"{graph.number_of_edges():,}", "links in the run"),
            (f"{len(run.chunks):,}", "chunks of text"),
        ),
        nodes=tuple(drawn),
        links=_build_links(run, chosen, paths),
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
        explanation=_explain_picture(chosen),
        signature=(("run", run.sha256),),
    )


def _build_title(query: str, about: Sequence[str]) -> str:
    if query:
        return f"“{clean_text(query)}”"
    if about:
        more = [f"{len(about) - 3} more"] if len(about) > 3 else []
        return f"Concepts that co-occur with {join_list([*map(clean_text, about[:3]), *more])}"
    return "Concepts and their co-occurrences"


def _build_opening(
    run: Run,
    query: str,
    asked: Sequence[str],
    seeds: Sequence[str],
    hops: int,
    shown: int,
    near: int,
) -> tuple[str, ...]:
    name = run.concepts.get_label
    lines = []
    if query:
        if asked:
            lines.append(
                "The question names "
                f"{join_list([f'“{clean_text(name(node))}”' for node in asked])}."
            )
        else:
            lines.append(
                "The question names no concept of the run, so the text cannot answer it. The "
                "picture shows the whole run."
            )
    if seeds or asked:
        what = (
            "these"
            if query and asked and not seeds
            else join_list(
                [f"“{clean_text(name(node))}”" for node in dict.fromkeys([*seeds, *asked])]
            )
        )
        steps = "one link" if hops == 1 else f"{hops} links"
        lines.append(f"The picture shows the concepts within {steps} of {what}.")
        omitted = near - shown
        if omitted:
            lines.append(
                f"{omitted:,} of these {near:,} concepts are not shown: their links are weaker."
            )
    elif near > shown:
        lines.append(
            f"The picture shows the {shown:,} concepts with the strongest links; the other "
            f"{near - shown:,} of the run are not shown."
        )
    else:
        lines.append("All concepts of the run are shown.")
    return tuple(lines)


def _explain_picture(chosen: LinkSelection) -> tuple[str, ...]:
    omitted = chosen.n_links - len(chosen.main) - len(chosen.extra)
    omission = f" The {omitted:,} weakest of them are not on the page." if omitted else ""
    return (
        "A link connects two concepts that occur together in at least one chunk of the text. Its "
        "weight is the number of such chunks; NPMI (normalised pointwise mutual information, -1 to "
        "1) measures how much more often that is than expected by chance.",
        "The strength of a link is (weight - 1) · NPMI, since a single co-occurrence may be "
        "chance. Drawn at first are the three strongest links of each concept and a maximum "
        f"spanning forest: {len(chosen.main):,} of the {chosen.n_links:,} links among the "
        f"concepts shown.{omission}",
        "Distances in the picture follow the number of links between two concepts (Kamada and "
        "Kawai's layout); directions have no meaning.",
    )


def _build_difficulty(analysis: Analysis) -> DifficultyDetails:
    further = analysis.calibrated
    if further is None:
        return DifficultyDetails(analysis.features, analysis.score)
    sentence = (
        f"Calibrated: with a probability of {further.probability:.0%}, {further.predicts}. On "
        f"questions it was not fitted on, this figure {further.worth}."
    )
    return DifficultyDetails(analysis.features, analysis.score, (sentence,))


def _explain_difficulty(analysis: Analysis | None) -> str:
    if analysis is None or analysis.features is None:
        return "The question names no concept of the run, so it has no difficulty score."
    omitted = analysis.left_out
    return (
        "Computed from the concepts that the question names, one shortest path for each pair of "
        "them, and every link among all these."
        + (f" {omitted:,} further concepts that it names were left out." if omitted else "")
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
    by_case = {alias.casefold(): alias for alias in reversed(aliases)}
    by_case.pop(label.casefold(), None)
    return tuple(reversed(by_case.values()))


def _build_links(run: Run, chosen: LinkSelection, paths: set[tuple[str, str]]) -> tuple[Link, ...]:
    index = {node: number for number, node in enumerate(chosen.nodes)}
    graph = run.concepts.graph
    pairs = sorted(chosen.main | chosen.extra, key=lambda pair: (index[pair[0]], index[pair[1]]))
    return tuple(
        Link(
            source=index[a],
            target=index[b],
            weight=graph.edges[a, b]["weight"],
            npmi=round(graph.edges[a, b]["npmi"], 3),
            main=(a, b) in chosen.main,
            on_path=(a, b) in paths,
        )
        for a, b in pairs
    )


def _list_document_names(run: Run) -> list[str]:
    names = list(dict.fromkeys(str(c.metadata.get("document", "")) for c in run.chunks))
    shown = [clean_text(name, 40) for name in names if name]
    return [f"{len(shown)} documents"] if len(shown) > 3 else shown or ["a text"]


def _suggest_concepts(run: Run, text: str) -> str:
    from rapidfuzz import fuzz, process

    folded = {node: run.concepts.get_label(node).casefold() for node in run.concepts.nodes}
    hits = process.extract(text[:200].casefold(), folded, scorer=fuzz.ratio, limit=MAX_SUGGESTIONS)
    near = [clean_text(run.concepts.get_label(node)) for _, score, node in hits if score >= 50]
    if near:
        return f"Similar concepts: {', '.join(near)}."
    return "List the run's concepts with `epoche kg inspect --run`."


class _ChapterGroups:
    """The groups of a run's concepts: its documents, or the sections of its only document."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        documents = {chunk.id: str(chunk.metadata.get("document", "")) for chunk in chunks}
        tops = {chunk.id: _get_heading(chunk, 0) for chunk in chunks}
        if len(set(documents.values())) > 1:
            self.noun = "Chapter"
            home = documents
            # A document whose chunks are mostly under one heading is named after that heading.
            headings: dict[str, Counter[str]] = {}
            for key, document in documents.items():
                headings.setdefault(document, Counter())[tops[key]] += 1
            names = {
                document: top if top and 2 * count > counts.total() else document
                for document, counts in headings.items()
                for top, count in counts.most_common(1)
            }
        else:
            self.noun = "Section"
            # The first heading level that distinguishes at least two sections.
            level = next(
                (n for n in range(6) if len({_get_heading(c, n) for c in chunks} - {""}) > 1), 0
            )
            home = {chunk.id: _get_heading(chunk, level) for chunk in chunks}
            names = {name: name for name in home.values() if name}
        self._group_numbers = {name: number for number, name in enumerate(names)}
        self._group_keys = home
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
        (best, highest), *others = counts.most_common()
        tied = any(count == highest for _, count in others)
        return None if tied or highest / len(chunk_ids) < MIN_GROUP_SHARE else best


def _get_heading(chunk: Chunk, level: int) -> str:
    path = chunk.metadata.get("section_path")
    return str(path[level]) if isinstance(path, list) and len(path) > level else ""


def _choose_code(name: str, number: int) -> str:
    # "3. Results" gets the code 3; a heading without a number gets its position.
    first = name.split(maxsplit=1)[0] if name.split() else ""
    head = first.rstrip(".:")
    return head if 0 < len(head) <= 3 and head[0].isdigit() else str(number + 1)


class _PassageTable:
    """The chunks that the page's nodes refer to, without duplicates, up to a total length."""

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
        """Adds the first of a node's chunks that the page has room for; returns their numbers."""
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
