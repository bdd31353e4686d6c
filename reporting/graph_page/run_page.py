"""The page of a run: its concepts, what is spoken of together, and the passages that say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kg.base.errors import SettingError
from kg.difficulty.analysis import Analysis, analyze_in_run
from kg.words.plain_text import listing, plain
from reporting.graph_page.choosing import Chosen, around, choose_links, most_central
from reporting.graph_page.page import GraphPage, Group, Hardness, Link, Mark, Node, Text

if TYPE_CHECKING:
    from kg.text.chunks import Chunk
    from kg.text.run.folder import Run

OF_ONE_GROUP = 0.4
"""Share of a concept's chunks that one chapter must have for the concept to be that chapter's."""
TEXTS_PER_NODE = 8
MOST_TEXT = 2_000_000
"""Characters of passages on a page."""
NEAREST = 5


def run_page(
    run: Run,
    *,
    around_texts: Sequence[str] = (),
    hops: int = 1,
    most: int = 200,
    query: str = "",
) -> GraphPage:
    """What the page of a run shows.

    Args:
        run: the run.
        around_texts: what the page is about; by default the query, else the whole run.
        hops: how far from there concepts are shown.
        most: concepts on the page at most.
        query: a question whose concepts, paths and difficulty are shown.

    Raises:
        SettingError: a text names no concept of the run; the hint names the nearest.
        EpocheError: the run is damaged, or its embedding model cannot be loaded.
    """
    graph = run.concepts.graph
    lookup = run.lookup() if query or around_texts else None
    seeds: list[str] = []
    for text in around_texts:
        matched = run.concepts.match(text, lookup)
        if not matched:
            raise SettingError(
                f"{plain(text)!r} names no concept of the run",
                where="--around",
                hint=_nearest_concepts(run, text),
            )
        seeds += matched
    analysis = analyze_in_run(run, query, lookup) if query else None
    asked = [node.id for node in analysis.matched] if analysis else []
    inside = [node.id for node in analysis.nodes] if analysis else []
    first = [*asked, *seeds, *inside]
    if seeds or asked:
        nodes, near = around(graph, list(dict.fromkeys(first)), hops, most)
    else:
        nodes, near = most_central(graph, most), len(graph)
    links = analysis.links if analysis else ()
    paths = {(min(x.source, x.target), max(x.source, x.target)) for x in links}
    shown = set(nodes)
    chosen = choose_links(graph, nodes, [pair for pair in paths if shown.issuperset(pair)])
    chapters = _Chapters(run.chunks)
    texts = _Texts(run.chunks)
    marks: dict[str, Mark] = dict.fromkeys(inside, "path")
    marks |= dict.fromkeys([*seeds, *asked], "asked")
    drawn = [_node(run, node, chapters, texts, marks.get(node, "")) for node in nodes]
    return GraphPage(
        title=_title(query, [run.concepts.label(node) for node in dict.fromkeys(seeds)]),
        subtitle=f"concept graph of {listing(_document_names(run))}",
        lede=_lede(run, query, asked, seeds, hops, len(nodes), near),
        stats=(
            (f"{len(nodes):,}", "concepts shown"),
            (f"{len(graph):,}", "concepts in the run"),
            (f"{graph.number_of_edges():,}", "links in the run"),
            (f"{len(run.chunks):,}", "chunks of text"),
        ),
        nodes=tuple(drawn),
        links=_links(run, chosen, paths),
        groups=chapters.groups,
        ungrouped=chapters.ungrouped,
        texts=texts.found,
        hardness=None if analysis is None else _hardness(analysis),
        hardness_words=_hardness_words(analysis),
        node_noun="concept",
        node_nouns="concepts",
        count_words="chunks",
        group_words=chapters.words,
        text_words="Passages",
        weighted=True,
        explanation=_explanation(chosen),
        signature=(("run", run.sha256),),
    )


def _title(query: str, about: Sequence[str]) -> str:
    if query:
        return f"“{plain(query)}”"
    if about:
        more = [f"{len(about) - 3} more"] if len(about) > 3 else []
        return f"What is spoken of with {listing([*map(plain, about[:3]), *more])}"
    return "What is spoken of together"


def _lede(
    run: Run,
    query: str,
    asked: Sequence[str],
    seeds: Sequence[str],
    hops: int,
    shown: int,
    near: int,
) -> tuple[str, ...]:
    name = run.concepts.label
    lines = []
    if query:
        if asked:
            lines.append(
                f"The question names {listing([f'“{plain(name(node))}”' for node in asked])}."
            )
        else:
            lines.append(
                "The question names no concept of the run: nothing in the text could answer it. "
                "The picture shows the run at large."
            )
    if seeds or asked:
        what = (
            "these"
            if query and asked and not seeds
            else listing([f"“{plain(name(node))}”" for node in dict.fromkeys([*seeds, *asked])])
        )
        steps = "one link" if hops == 1 else f"{hops} links"
        lines.append(f"Shown is what lies within {steps} of {what}.")
        left = near - shown
        if left:
            lines.append(
                f"{left:,} of the {near:,} concepts there are not shown: their links are weaker."
            )
    elif near > shown:
        lines.append(
            f"Shown are the {shown:,} concepts whose links are strongest; {near - shown:,} others "
            "of the run are not."
        )
    else:
        lines.append("All concepts of the run are shown.")
    return tuple(lines)


def _explanation(chosen: Chosen) -> tuple[str, ...]:
    left = chosen.links_among - len(chosen.main) - len(chosen.more)
    rest = f" The {left:,} weakest of them are not on the page." if left else ""
    return (
        "A link joins two concepts that at least one chunk of the text speaks of. Its weight says "
        "how many chunks do; NPMI (normalised pointwise mutual information, -1 to 1) says how much "
        "more often that is than chance would have it.",
        "The strength of a link is (weight - 1) · NPMI: meeting once may be chance. Drawn at first "
        "are the three strongest links of each concept and what it takes to join what hangs "
        f"together: {len(chosen.main):,} of the {chosen.links_among:,} links among the concepts "
        f"shown.{rest}",
        "Concepts stand near each other when few links lie between them (Kamada and Kawai's "
        "layout); left, right, up and down mean nothing.",
    )


def _hardness(analysis: Analysis) -> Hardness:
    further = analysis.calibrated
    if further is None:
        return Hardness(analysis.features, analysis.score)
    told = (
        f"Calibrated: with a probability of {further.probability:.0%}, {further.predicts}. On "
        f"questions it was not fitted on, this figure {further.worth}."
    )
    return Hardness(analysis.features, analysis.score, (told,))


def _hardness_words(analysis: Analysis | None) -> str:
    if analysis is None or analysis.features is None:
        return "The question names no concept of the run, which is no hardness at all."
    left = analysis.left_out
    return (
        "Read off the concepts that the question names, one shortest path for each pair of them, "
        "and every link among all these."
        + (f" {left:,} further concepts that it names were left out." if left else "")
    )


def _node(run: Run, node: str, chapters: _Chapters, texts: _Texts, mark: Mark) -> Node:
    row = run.concepts.graph.nodes[node]
    chunk_ids = list(row["chunk_ids"])
    places = dict.fromkeys(name for key in chunk_ids if (name := texts.title(key)))
    kept = texts.add(chunk_ids)
    return Node(
        key=node,
        label=row["label"],
        count=row["count"],
        group=chapters.group_of(chunk_ids),
        mark=mark,
        aliases=_other_names(row["label"], row["aliases"]),
        places=tuple(places),
        texts=kept,
        texts_left_out=len(chunk_ids) - len(kept),
        links=run.concepts.graph.degree(node),
    )


def _other_names(label: str, aliases: Sequence[str]) -> tuple[str, ...]:
    """The aliases that differ by more than capitals from the label and from each other."""
    found = {alias.casefold(): alias for alias in reversed(aliases)}
    found.pop(label.casefold(), None)
    return tuple(reversed(found.values()))


def _links(run: Run, chosen: Chosen, paths: set[tuple[str, str]]) -> tuple[Link, ...]:
    at = {node: number for number, node in enumerate(chosen.nodes)}
    graph = run.concepts.graph
    pairs = sorted(chosen.main | chosen.more, key=lambda pair: (at[pair[0]], at[pair[1]]))
    return tuple(
        Link(
            source=at[a],
            target=at[b],
            weight=graph.edges[a, b]["weight"],
            npmi=round(graph.edges[a, b]["npmi"], 3),
            main=(a, b) in chosen.main,
            on_path=(a, b) in paths,
        )
        for a, b in pairs
    )


def _document_names(run: Run) -> list[str]:
    names = list(dict.fromkeys(str(c.metadata.get("document", "")) for c in run.chunks))
    shown = [plain(name, 40) for name in names if name]
    return [f"{len(shown)} documents"] if len(shown) > 3 else shown or ["a text"]


def _nearest_concepts(run: Run, text: str) -> str:
    from rapidfuzz import fuzz, process

    folded = {node: run.concepts.label(node).casefold() for node in run.concepts.nodes}
    hits = process.extract(text[:200].casefold(), folded, scorer=fuzz.ratio, limit=NEAREST)
    near = [plain(run.concepts.label(node)) for _, score, node in hits if score >= 50]
    if near:
        return f"Nearest: {', '.join(near)}."
    return "See what it holds with `epoche kg inspect --run`."


class _Chapters:
    """The groups of a run: its documents, or the chapters of its only one."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        documents = {chunk.id: str(chunk.metadata.get("document", "")) for chunk in chunks}
        tops = {chunk.id: _heading(chunk, 0) for chunk in chunks}
        if len(set(documents.values())) > 1:
            self.words = "Chapter"
            home = documents
            # A document that is one chapter, by and large, is called as its heading is.
            headings: dict[str, Counter[str]] = {}
            for key, document in documents.items():
                headings.setdefault(document, Counter())[tops[key]] += 1
            names = {
                document: top if top and 2 * often > found.total() else document
                for document, found in headings.items()
                for top, often in found.most_common(1)
            }
        else:
            self.words = "Section"
            level = next(
                (n for n in range(6) if len({_heading(c, n) for c in chunks} - {""}) > 1), 0
            )
            home = {chunk.id: _heading(chunk, level) for chunk in chunks}
            names = {name: name for name in home.values() if name}
        self._at = {name: number for number, name in enumerate(names)}
        self._home = home
        self.groups = tuple(
            Group(name or "text without a name", _code(name, number))
            for number, name in enumerate(names.values())
        )
        self.ungrouped = f"across {self.words.lower()}s" if len(self.groups) > 1 else ""

    def group_of(self, chunk_ids: Sequence[str]) -> int | None:
        """The group that most of the chunks are of, if there is one."""
        counts = Counter(self._at.get(self._home.get(key, "")) for key in chunk_ids)
        (best, most), *others = counts.most_common()
        tied = any(count == most for _, count in others)
        return None if tied or most / len(chunk_ids) < OF_ONE_GROUP else best


def _heading(chunk: Chunk, level: int) -> str:
    path = chunk.metadata.get("section_path")
    return str(path[level]) if isinstance(path, list) and len(path) > level else ""


def _code(name: str, number: int) -> str:
    first = name.split(maxsplit=1)[0] if name.split() else ""
    head = first.rstrip(".:")
    return head if 0 < len(head) <= 3 and head[0].isdigit() else str(number + 1)


class _Texts:
    """The chunks that the page's nodes refer to, each once."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = {chunk.id: chunk for chunk in chunks}
        self._at: dict[str, int] = {}
        self._room = MOST_TEXT

    @property
    def found(self) -> tuple[Text, ...]:
        """The texts, in the order of their places."""
        return tuple(Text(self.title(key) or key, self._chunks[key].text) for key in self._at)

    def title(self, key: str) -> str:
        """The heading a chunk stands under."""
        chunk = self._chunks.get(key)
        return "" if chunk is None else str(chunk.metadata.get("section") or "")

    def add(self, keys: Sequence[str]) -> tuple[int, ...]:
        """Places of the first of some chunks, as many as the page has room for."""
        kept: list[int] = []
        for key in keys:
            if len(kept) == TEXTS_PER_NODE:
                break
            chunk = self._chunks.get(key)
            if chunk is None:
                continue
            if key not in self._at:
                if len(chunk.text) > self._room:
                    continue
                self._room -= len(chunk.text)
                self._at[key] = len(self._at)
            kept.append(self._at[key])
        return tuple(kept)
