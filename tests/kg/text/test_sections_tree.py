"""The section tree: parents that exist, keywords from below, scores by the formulas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.text.chunks import Chunk
from kg.text.sections.building import build_section_tree
from kg.text.sections.scoring import TIE_STEP, heading_keywords
from kg.text.sections.tree import SCHEMA, SectionTree


class Concepts:
    """Graph nodes by chunk."""

    def __init__(self, nodes: dict[str, list[str]]) -> None:
        self.nodes = nodes

    def nodes_of_chunk(self, chunk_id: str) -> Iterable[str]:
        return self.nodes.get(chunk_id, [])


def chunk(number: int, *path: str, document: str = "book", **metadata: object) -> Chunk:
    known = {"document": document, "section_path": list(path), "section": path[-1] if path else ""}
    return Chunk(f"c{number}", "text", known | metadata)


def parents(tree: SectionTree) -> dict[str, str | None]:
    """Heading → the heading of the section it hangs below."""
    return {
        node.heading: None if node.parent is None else tree.nodes[node.parent].heading
        for node in tree.nodes.values()
    }


def flat(headings: Sequence[str], **metadata: object) -> SectionTree:
    """A tree of chunks that know nothing but their own heading."""
    return build_section_tree(
        [
            Chunk(f"c{i}", "text", {"document": "book", "section": heading, **metadata})
            for i, heading in enumerate(headings)
        ]
    )


def test_the_parent_is_the_nearest_ancestor_there_is() -> None:
    tree = flat(["3 Locks", "3.1 Modes", "3.2.1 Shared", "4.7 Alone", "3.2.1.5 Deep"])
    assert parents(tree) == {
        "3 Locks": None,
        "3.1 Modes": "3 Locks",
        "3.2.1 Shared": "3 Locks",
        "4.7 Alone": None,
        "3.2.1.5 Deep": "3.2.1 Shared",
    }


def test_numbers_that_are_none_attract_nobody() -> None:
    tree = flat(["1 Basics", "92 Odd", "SQL-92", "Appendix A", "Appendix A.1", "1.1 Words", "3NF"])
    assert parents(tree) == {
        "1 Basics": None,
        "92 Odd": None,
        "SQL-92": None,
        "Appendix A": None,
        "Appendix A.1": "Appendix A",
        "1.1 Words": "1 Basics",
        "3NF": None,
    }


def test_roman_chapters_have_arabic_sections() -> None:
    assert parents(flat(["Chapter III", "3.1 Modes"]))["3.1 Modes"] == "Chapter III"


def test_documents_are_worlds_of_their_own() -> None:
    tree = build_section_tree(
        [
            chunk(0, "1 One", document="a"),
            chunk(1, "1.1 Deep", document="b"),
            chunk(2, "1 One", document="b"),
        ]
    )
    assert parents(tree)["1.1 Deep"] == "1 One"
    assert tree.nodes["b#1.1"].parent == "b#1"
    assert tree.nodes["a#1"].children == ()
    assert tree.roots == ("a#1", "b#1")


def test_headings_without_numbers_go_by_their_path() -> None:
    tree = build_section_tree(
        [
            chunk(0, "Locks"),
            chunk(1, "Locks", "Modes"),
            chunk(2, "Locks", "Modes", "Exercises"),
            chunk(3, "Logs", "Exercises"),
        ]
    )
    assert [node.heading for node in tree.nodes.values()] == [
        "Locks", "Modes", "Exercises", "Logs", "Exercises",
    ]  # fmt: skip
    assert tree.nodes["book#exercises"].parent == "book#modes"
    assert tree.nodes["book#exercises~2"].parent == "book#logs"
    assert tree.nodes["book#logs"].chunk_ids == ()


def test_the_number_goes_before_the_path() -> None:
    tree = build_section_tree([chunk(0, "3 Locks"), chunk(1, "Basics", "3.1 Modes")])
    assert parents(tree)["3.1 Modes"] == "3 Locks"


def test_marks_of_markdown_stand_in_for_a_path() -> None:
    tree = flat(["# Locks", "## Modes", "### Shared", "## Deadlock", "# Logs"])
    assert parents(tree) == {
        "Locks": None,
        "Modes": "Locks",
        "Shared": "Modes",
        "Deadlock": "Locks",
        "Logs": None,
    }


def test_ids_are_those_of_the_chunks() -> None:
    tree = build_section_tree(
        [
            chunk(0, section_id="book#start"),
            chunk(1, "7 Trees", "7.3 Files", section_id="book#7.3"),
            chunk(2, "7 Trees", "7.3 Files", section_id="book#7.3"),
        ]
    )
    assert list(tree.nodes) == ["book#start", "book#7", "book#7.3"]
    assert tree.nodes["book#7.3"].chunk_ids == ("c1", "c2")
    assert tree.ancestors("book#7.3") == ("book#7",)


@pytest.mark.parametrize(
    "paths",
    [
        [("3.2.1 Inner", "3.2 Outer"), ("3.2 Outer", "3.2.1 Inner")],
        [("3.2.1 A", "3.2 B")],
        [("A", "A", "A"), ("A",)],
        [("A", "B"), ("B", "A"), ("A", "B", "A")],
        [("1 X", "1 X"), ("1.1 Y", "1 X")],
    ],
)
def test_cyclic_headings_cannot_loop(paths: list[tuple[str, ...]]) -> None:
    tree = build_section_tree([chunk(i, *path) for i, path in enumerate(paths)])
    for section in tree.nodes:
        assert section not in tree.ancestors(section)
    held = [c for node in tree.nodes.values() for c in node.chunk_ids]
    assert sorted(held) == [f"c{i}" for i in range(len(paths))]


headings = st.sampled_from(
    ["1 A", "1.1 B", "1.2.1 C", "2 D", "1.2 E", "Appendix A", "A.1 F", "Notes", "IV. G", "## H", ""]
)
paths = st.lists(headings, max_size=5)
words = st.lists(st.sampled_from("uvwxyz"), max_size=3)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), paths, words), max_size=14))
def test_whatever_the_headings_say_it_is_a_forest(
    rows: list[tuple[str, list[str], list[str]]],
) -> None:
    chunks = [chunk(i, *path, document=document) for i, (document, path, _) in enumerate(rows)]
    nodes = {f"c{i}": found for i, (_, _, found) in enumerate(rows)}
    tree = build_section_tree(chunks, Concepts(nodes))

    seen: set[str] = set()
    for key, node in tree.nodes.items():
        assert node.parent is None or node.parent in seen
        assert node.parent is None or node.parent.split("#")[0] == key.split("#")[0]
        seen.add(key)
    held = [c for node in tree.nodes.values() for c in node.chunk_ids]
    assert sorted(held) == sorted(c.id for c in chunks)
    for key, node in tree.nodes.items():
        below = [k for k in tree.nodes if k == key or key in tree.ancestors(k)]
        expected = {w for k in below for c in tree.nodes[k].chunk_ids for w in nodes[c]}
        assert node.keywords == tuple(sorted(expected))

    again = SectionTree.from_json(json.loads(json.dumps(tree.to_json())))
    assert again.nodes == tree.nodes
    scores = tree.chunk_scores("notes on A and B", ["u", "v"])
    assert again.chunk_scores("notes on A and B", ["u", "v"]) == scores
    assert all(0 < score <= 1 for score in scores.values())
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert not scores or max(scores.values()) == 1


def example() -> SectionTree:
    chunks = [
        chunk(0, "1 Storage Media"),
        chunk(1, "1 Storage Media", "1.1 Overview of Physical Storage Media"),
        chunk(2, "1 Storage Media", "1.2 Disks"),
        chunk(3, "2 B + -Tree Indexes"),
    ]
    concepts = Concepts(
        {"c0": ["cost"], "c1": ["disk", "flash"], "c2": ["disk", "platter"], "c3": ["b+ tree"]}
    )
    return build_section_tree(chunks, concepts)


def test_scores_are_those_of_the_formulas() -> None:
    tree = example()
    # Heading n-grams of the query: disk, storage, "disk storage". Of the sections: 1 has
    # {storage, media, "storage media"}; 1.1 has 4 + 3 + 2 n-grams; 1.2 has {disk}.
    scores = tree.chunk_scores("disk storage", ["disk"])
    alpha = 0.6
    section_1 = (
        0.5 * (alpha * 1 / 3 + (1 - alpha) * 1 / 3)  # "storage"
        + 0.5 * (alpha * 1 / 1 + (1 - alpha) * 1 / 4)  # disk of cost, disk, flash, platter
    )
    section_11 = (
        0.5 * (alpha * 1 / 3 + (1 - alpha) * 1 / 9)
        + 0.5 * (alpha + (1 - alpha) / 2)
        + 0.5 * section_1
    )
    section_12 = (
        0.5 * (alpha * 1 / 3 + (1 - alpha) * 1 / 1)
        + 0.5 * (alpha + (1 - alpha) / 2)
        + 0.5 * section_1
    )
    top = max(section_1, section_11, section_12)
    assert scores == pytest.approx(
        {"c2": section_12 / top, "c1": section_11 / top, "c0": section_1 / top}
    )
    assert list(scores) == ["c2", "c1", "c0"]


def test_a_chunk_of_several_sections_has_the_best_of_their_scores() -> None:
    # Such as a page on which one section ends and the next begins, in a tree made elsewhere.
    nodes = [
        {
            "id": heading,
            "heading": heading,
            "parent": None,
            "chunk_ids": [heading, "shared"],
            "keywords": [],
            "heading_keywords": heading_keywords(heading),
        }
        for heading in ("disk", "flash disk storage")
    ]
    for rows in (nodes, nodes[::-1]):
        scores = SectionTree.from_json({"schema": SCHEMA, "nodes": rows}).chunk_scores("disk", [])
        assert scores["shared"] == scores["disk"] == 1.0
        assert scores["flash disk storage"] == pytest.approx(0.6 + 0.4 / 6)


def test_weights_can_be_set() -> None:
    tree = example()
    by_heading = tree.chunk_scores("disk storage", ["flash"], heading_weight=1.0)
    assert list(by_heading) == ["c2", "c1", "c0"]
    by_node = tree.chunk_scores("disk storage", ["flash"], heading_weight=0.0)
    assert next(iter(by_node)) == "c1"
    alone = tree.chunk_scores("disk storage", ["flash"], heading_weight=0.0, inheritance_decay=0.0)
    assert "c2" not in alone
    assert "c2" in by_node
    only_coverage = tree.chunk_scores("", ["disk"], alpha=1.0, inheritance_decay=0.0)
    assert set(only_coverage.values()) == {1.0}


def test_headings_and_queries_meet_whatever_their_case_and_number() -> None:
    tree = example()
    assert next(iter(tree.chunk_scores("physical storage media", []))) == "c1"
    assert next(iter(tree.chunk_scores("PHYSICAL STORAGE MEDIA", []))) == "c1"
    assert list(tree.chunk_scores("What is a B+-tree index?", [])) == ["c3"]
    assert list(tree.chunk_scores("b+ trees", [])) == ["c3"]


def test_nothing_in_common_is_no_score() -> None:
    tree = example()
    assert tree.chunk_scores("quantum chromodynamics", []) == {}
    assert tree.chunk_scores("", ["unheard of"]) == {}
    assert SectionTree({}).chunk_scores("anything", ["disk"]) == {}


def test_ties_inside_a_section_are_broken_by_another_score() -> None:
    chunks = [chunk(i, "1 Disks") for i in range(4)] + [chunk(4, "2 Disks and tapes")]
    tree = build_section_tree(chunks)
    exact = tree.chunk_scores("disks", [])
    assert list(exact)[:4] == ["c0", "c1", "c2", "c3"]
    assert len({exact[f"c{i}"] for i in range(4)}) == 1

    broken = tree.chunk_scores("disks", [], ties={"c2": 7.5, "c1": 3.0, "c3": 3.0, "c4": 99.0})
    assert list(broken) == ["c2", "c1", "c3", "c0", "c4"]
    assert broken["c2"] > broken["c1"] == broken["c3"] > broken["c0"] > broken["c4"]
    for key, score in broken.items():
        assert score == pytest.approx(exact[key], rel=TIE_STEP)


def test_what_json_cannot_mean_is_refused() -> None:
    good = example().to_json()
    rows = good["nodes"]
    for bad in (
        [],
        {"schema": 2, "nodes": []},
        {"schema": 1},
        {"schema": 1, "nodes": [{"id": 1}]},
        {"schema": 1, "nodes": [rows[0], rows[0]]},
        {"schema": 1, "nodes": [rows[1], rows[0]]},
        {"schema": 1, "nodes": [rows[0] | {"parent": rows[0]["id"]}]},
        {"schema": 1, "nodes": [rows[0] | {"parent": "nobody"}]},
    ):
        with pytest.raises(ValueError, match=r"\w"):
            SectionTree.from_json(bad)


def test_depth_and_number_of_sections_are_no_danger() -> None:
    deep = build_section_tree([chunk(0, *(f"h{i}" for i in range(3_000)))])
    assert len(deep.nodes) <= 64
    assert next(node for node in deep.nodes.values() if node.chunk_ids).heading == "h2999"
    wide = build_section_tree([chunk(i, f"h{i // 2}", "Exercises") for i in range(4_000)])
    assert len(wide.nodes) == 4_000
