"""Tests that sections have existing parents, keywords of subsections, and correct scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.text.chunks import Chunk
from kg.text.sections.builder import build_section_tree
from kg.text.sections.scorer import MAX_TIE_REDUCTION, extract_heading_keywords
from kg.text.sections.tree import SCHEMA_VERSION, SectionTree


class FixedConcepts:
    """A stand-in for the concept graph that only knows the nodes of each chunk."""

    def __init__(self, nodes: dict[str, list[str]]) -> None:
        self.nodes = nodes

    def get_chunk_nodes(self, chunk_id: str) -> Iterable[str]:
        return self.nodes.get(chunk_id, [])


def make_chunk(number: int, *path: str, document: str = "book", **metadata: object) -> Chunk:
    default_metadata = {
        "document": document,
        "section_path": list(path),
        "section": path[-1] if path else "",
    }
    return Chunk(f"c{number}", "text", default_metadata | metadata)


def map_parent_headings(tree: SectionTree) -> dict[str, str | None]:
    """Returns a map from each heading to the heading of its parent section."""
    return {
        node.heading: None if node.parent is None else tree.nodes[node.parent].heading
        for node in tree.nodes.values()
    }


def build_flat_tree(headings: Sequence[str], **metadata: object) -> SectionTree:
    """Builds a tree of chunks that have their own heading but no section path."""
    return build_section_tree(
        [
            Chunk(f"c{i}", "text", {"document": "book", "section": heading, **metadata})
            for i, heading in enumerate(headings)
        ]
    )


def test_parent_is_the_nearest_existing_ancestor() -> None:
    tree = build_flat_tree(["3 Locks", "3.1 Modes", "3.2.1 Shared", "4.7 Alone", "3.2.1.5 Deep"])
    assert map_parent_headings(tree) == {
        "3 Locks": None,
        "3.1 Modes": "3 Locks",
        "3.2.1 Shared": "3 Locks",
        "4.7 Alone": None,
        "3.2.1.5 Deep": "3.2.1 Shared",
    }


def test_words_with_digits_are_not_section_numbers() -> None:
    tree = build_flat_tree(
        ["1 Basics", "92 Odd", "SQL-92", "Appendix A", "Appendix A.1", "1.1 Words", "3NF"]
    )
    assert map_parent_headings(tree) == {
        "1 Basics": None,
        "92 Odd": None,
        "SQL-92": None,
        "Appendix A": None,
        "Appendix A.1": "Appendix A",
        "1.1 Words": "1 Basics",
        "3NF": None,
    }


def test_roman_chapters_have_arabic_sections() -> None:
    assert (
        map_parent_headings(build_flat_tree(["Chapter III", "3.1 Modes"]))["3.1 Modes"]
        == "Chapter III"
    )


def test_sections_of_other_documents_are_never_parents() -> None:
    tree = build_section_tree(
        [
            make_chunk(0, "1 One", document="a"),
            make_chunk(1, "1.1 Deep", document="b"),
            make_chunk(2, "1 One", document="b"),
        ]
    )
    assert map_parent_headings(tree)["1.1 Deep"] == "1 One"
    assert tree.nodes["b#1.1"].parent == "b#1"
    assert tree.nodes["a#1"].children == ()
    assert tree.roots == ("a#1", "b#1")


def test_unnumbered_headings_use_their_path() -> None:
    tree = build_section_tree(
        [
            make_chunk(0, "Locks"),
            make_chunk(1, "Locks", "Modes"),
            make_chunk(2, "Locks", "Modes", "Exercises"),
            make_chunk(3, "Logs", "Exercises"),
        ]
    )
    assert [node.heading for node in tree.nodes.values()] == [
        "Locks", "Modes", "Exercises", "Logs", "Exercises",
    ]  # fmt: skip
    assert tree.nodes["book#exercises"].parent == "book#modes"
    assert tree.nodes["book#exercises~2"].parent == "book#logs"
    assert tree.nodes["book#logs"].chunk_ids == ()


def test_number_takes_precedence_over_the_path() -> None:
    tree = build_section_tree([make_chunk(0, "3 Locks"), make_chunk(1, "Basics", "3.1 Modes")])
    assert map_parent_headings(tree)["3.1 Modes"] == "3 Locks"


def test_markdown_marks_replace_a_missing_path() -> None:
    tree = build_flat_tree(["# Locks", "## Modes", "### Shared", "## Deadlock", "# Logs"])
    assert map_parent_headings(tree) == {
        "Locks": None,
        "Modes": "Locks",
        "Shared": "Modes",
        "Deadlock": "Locks",
        "Logs": None,
    }


def test_sections_take_the_section_ids_of_their_chunks() -> None:
    tree = build_section_tree(
        [
            make_chunk(0, section_id="book#start"),
            make_chunk(1, "7 Trees", "7.3 Files", section_id="book#7.3"),
            make_chunk(2, "7 Trees", "7.3 Files", section_id="book#7.3"),
        ]
    )
    assert list(tree.nodes) == ["book#start", "book#7", "book#7.3"]
    assert tree.nodes["book#7.3"].chunk_ids == ("c1", "c2")
    assert tree.list_ancestors("book#7.3") == ("book#7",)


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
def test_cyclic_headings_do_not_loop(paths: list[tuple[str, ...]]) -> None:
    tree = build_section_tree([make_chunk(i, *path) for i, path in enumerate(paths)])
    for section in tree.nodes:
        assert section not in tree.list_ancestors(section)
    chunk_ids = [c for node in tree.nodes.values() for c in node.chunk_ids]
    assert sorted(chunk_ids) == [f"c{i}" for i in range(len(paths))]


headings = st.sampled_from(
    ["1 A", "1.1 B", "1.2.1 C", "2 D", "1.2 E", "Appendix A", "A.1 F", "Notes", "IV. G", "## H", ""]
)
paths = st.lists(headings, max_size=5)
words = st.lists(st.sampled_from("uvwxyz"), max_size=3)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), paths, words), max_size=14))
def test_any_headings_give_a_forest(
    rows: list[tuple[str, list[str], list[str]]],
) -> None:
    chunks = [make_chunk(i, *path, document=document) for i, (document, path, _) in enumerate(rows)]
    nodes = {f"c{i}": keywords for i, (_, _, keywords) in enumerate(rows)}
    tree = build_section_tree(chunks, FixedConcepts(nodes))

    earlier_sections: set[str] = set()
    for key, node in tree.nodes.items():
        assert node.parent is None or node.parent in earlier_sections
        assert node.parent is None or node.parent.split("#")[0] == key.split("#")[0]
        earlier_sections.add(key)
    chunk_ids = [c for node in tree.nodes.values() for c in node.chunk_ids]
    assert sorted(chunk_ids) == sorted(c.id for c in chunks)
    for key, node in tree.nodes.items():
        subtree = [k for k in tree.nodes if k == key or key in tree.list_ancestors(k)]
        expected = {w for k in subtree for c in tree.nodes[k].chunk_ids for w in nodes[c]}
        assert node.keywords == tuple(sorted(expected))

    decoded_tree = SectionTree.from_json(json.loads(json.dumps(tree.to_json())))
    assert decoded_tree.nodes == tree.nodes
    scores = tree.score_chunks("notes on A and B", ["u", "v"])
    assert decoded_tree.score_chunks("notes on A and B", ["u", "v"]) == scores
    assert all(0 < score <= 1 for score in scores.values())
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert not scores or max(scores.values()) == 1


def build_example_tree() -> SectionTree:
    chunks = [
        make_chunk(0, "1 Storage Media"),
        make_chunk(1, "1 Storage Media", "1.1 Overview of Physical Storage Media"),
        make_chunk(2, "1 Storage Media", "1.2 Disks"),
        make_chunk(3, "2 B + -Tree Indexes"),
    ]
    concepts = FixedConcepts(
        {"c0": ["cost"], "c1": ["disk", "flash"], "c2": ["disk", "platter"], "c3": ["b+ tree"]}
    )
    return build_section_tree(chunks, concepts)


def test_scores_follow_the_formulas() -> None:
    tree = build_example_tree()
    # The query has 3 heading n-grams: disk, storage, "disk storage". Section 1 also has 3:
    # storage, media, "storage media". Section 1.1 has 4 + 3 + 2 = 9, and section 1.2 has 1: disk.
    # alpha weighs the matched share of the query, 1 - alpha the matched share of the section.
    # alpha, 0.5 (weight of headings) and 0.5 (inheritance) are the default weights.
    scores = tree.score_chunks("disk storage", ["disk"])
    alpha = 0.6
    section_1 = (
        0.5 * (alpha * 1 / 3 + (1 - alpha) * 1 / 3)  # "storage"
        + 0.5 * (alpha * 1 / 1 + (1 - alpha) * 1 / 4)  # "disk" among its 4 keywords
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
    best_score = max(section_1, section_11, section_12)
    assert scores == pytest.approx(
        {"c2": section_12 / best_score, "c1": section_11 / best_score, "c0": section_1 / best_score}
    )
    assert list(scores) == ["c2", "c1", "c0"]


def test_chunk_of_several_sections_gets_the_best_score() -> None:
    # Other programs' trees have such chunks: pages on which one section ends and another begins.
    nodes = [
        {
            "id": heading,
            "heading": heading,
            "parent": None,
            "chunk_ids": [heading, "shared"],
            "keywords": [],
            "heading_keywords": extract_heading_keywords(heading),
        }
        for heading in ("disk", "flash disk storage")
    ]
    for rows in (nodes, nodes[::-1]):
        scores = SectionTree.from_json({"schema": SCHEMA_VERSION, "nodes": rows}).score_chunks(
            "disk", []
        )
        assert scores["shared"] == scores["disk"] == 1.0
        # The whole query is matched, but only one of the 3 + 2 + 1 n-grams of the heading.
        assert scores["flash disk storage"] == pytest.approx(0.6 + 0.4 / 6)


def test_weights_can_be_set() -> None:
    tree = build_example_tree()
    heading_scores = tree.score_chunks("disk storage", ["flash"], heading_weight=1.0)
    assert list(heading_scores) == ["c2", "c1", "c0"]
    keyword_scores = tree.score_chunks("disk storage", ["flash"], heading_weight=0.0)
    assert next(iter(keyword_scores)) == "c1"
    own_keyword_scores = tree.score_chunks(
        "disk storage", ["flash"], heading_weight=0.0, inheritance_decay=0.0
    )
    assert "c2" not in own_keyword_scores
    assert "c2" in keyword_scores
    coverage_scores = tree.score_chunks("", ["disk"], alpha=1.0, inheritance_decay=0.0)
    assert set(coverage_scores.values()) == {1.0}


def test_queries_match_headings_despite_case_and_number() -> None:
    tree = build_example_tree()
    assert next(iter(tree.score_chunks("physical storage media", []))) == "c1"
    assert next(iter(tree.score_chunks("PHYSICAL STORAGE MEDIA", []))) == "c1"
    assert list(tree.score_chunks("What is a B+-tree index?", [])) == ["c3"]
    assert list(tree.score_chunks("b+ trees", [])) == ["c3"]


def test_query_sharing_no_words_has_no_scores() -> None:
    tree = build_example_tree()
    assert tree.score_chunks("quantum chromodynamics", []) == {}
    assert tree.score_chunks("", ["unheard of"]) == {}
    assert SectionTree({}).score_chunks("anything", ["disk"]) == {}


def test_ties_inside_a_section_use_another_score() -> None:
    chunks = [make_chunk(i, "1 Disks") for i in range(4)] + [make_chunk(4, "2 Disks and tapes")]
    tree = build_section_tree(chunks)
    scores = tree.score_chunks("disks", [])
    assert list(scores)[:4] == ["c0", "c1", "c2", "c3"]
    assert len({scores[f"c{i}"] for i in range(4)}) == 1

    tie_broken_scores = tree.score_chunks(
        "disks", [], tie_scores={"c2": 7.5, "c1": 3.0, "c3": 3.0, "c4": 99.0}
    )
    assert list(tie_broken_scores) == ["c2", "c1", "c3", "c0", "c4"]
    assert (
        tie_broken_scores["c2"]
        > tie_broken_scores["c1"]
        == tie_broken_scores["c3"]
        > tie_broken_scores["c0"]
        > tie_broken_scores["c4"]
    )
    for key, score in tie_broken_scores.items():
        assert score == pytest.approx(scores[key], rel=MAX_TIE_REDUCTION)


def test_invalid_json_is_refused() -> None:
    valid_json = build_example_tree().to_json()
    rows = valid_json["nodes"]
    for invalid_json, message in (
        ([], "must be an object of schema 1"),
        ({"schema": 2, "nodes": []}, "must be an object of schema 1"),
        ({"schema": 1}, "Expected `array`, got `null`"),
        ({"schema": 1, "nodes": [{"id": 1}]}, r"Expected `str`, got `int` - at `\$\[0\]\.id`"),
        ({"schema": 1, "nodes": [rows[0], rows[0]]}, "duplicate section 'book#1'"),
        ({"schema": 1, "nodes": [rows[1], rows[0]]}, "parent 'book#1' of section 'book#1.1'"),
        (
            {"schema": 1, "nodes": [rows[0] | {"parent": rows[0]["id"]}]},
            "parent 'book#1' of section 'book#1' is missing or comes later",
        ),
        (
            {"schema": 1, "nodes": [rows[0] | {"parent": "nobody"}]},
            "parent 'nobody' of section 'book#1' is missing or comes later",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            SectionTree.from_json(invalid_json)


def test_deep_and_wide_trees_are_built() -> None:
    deep_tree = build_section_tree([make_chunk(0, *(f"h{i}" for i in range(3_000)))])
    assert len(deep_tree.nodes) <= 64  # MAX_DEPTH; the headings between are left out
    assert next(node for node in deep_tree.nodes.values() if node.chunk_ids).heading == "h2999"
    wide_tree = build_section_tree([make_chunk(i, f"h{i // 2}", "Exercises") for i in range(4_000)])
    assert len(wide_tree.nodes) == 4_000
