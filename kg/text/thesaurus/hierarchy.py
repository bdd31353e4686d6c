"""Derives a hierarchy of concepts from the section tree.

The *topic* of a section is the concept that its heading names. The *home* of a concept is the
deepest section that contains nearly all of its chunks. To find the broader concept of a concept,
one goes up from its home (for a topic, from its section), starting with that section itself, to
the first section that has a topic other than the concept; this topic is the broader concept. Every
concept therefore has at most one broader concept. There are no cycles: a topic's broader concept is
the topic of a section higher up, and a concept that is not a topic is not the broader concept of
any other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.sections.headings import parse_heading
from kg.text.sections.tree import SectionTree
from kg.words.normaliser import normalise_phrase

_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)

MIN_HOME_SHARE = Fraction(4, 5)
"""Minimum share of a concept's chunks that its home section contains. The value 0.8 is from
M. Sanderson and B. Croft, Deriving concept hierarchies from text, SIGIR 1999."""


def find_section_topics(tree: SectionTree, concepts: ConceptGraph) -> dict[str, str]:
    """Returns section → topic, for the sections that have one.

    The heading without its number and article must be exactly the concept's name, and the concept
    must be a keyword of the section or of a subsection. If several sections name the same concept,
    it is the topic of only one: the highest in the tree and, of several equally high, the first.
    """
    depth: dict[str, int] = {}
    candidates: dict[str, tuple[int, int, str]] = {}
    for number, (section, node) in enumerate(tree.nodes.items()):
        depth[section] = 0 if node.parent is None else depth[node.parent] + 1
        title = extract_title(node.heading)
        for topic in concepts.match_concepts(title):
            if topic in node.keywords and topic == normalise_phrase(title):
                candidate = (depth[section], number, section)
                candidates[topic] = min(candidate, candidates.get(topic, candidate))
    return {section: topic for topic, (_, _, section) in candidates.items()}


def extract_title(heading: str) -> str:
    """Returns a heading without its number and a leading article."""
    label = parse_heading(heading)
    return _ARTICLE.sub("", heading if label is None else label.title)


def find_home_sections(tree: SectionTree, concepts: ConceptGraph) -> dict[str, str]:
    """Returns concept → home section, for the concepts that have one; see the module docstring."""
    section_of_chunk = {
        chunk_id: section for section, node in tree.nodes.items() for chunk_id in node.chunk_ids
    }
    lineage = {section: (section, *tree.list_ancestors(section)) for section in tree.nodes}
    homes = {}
    for concept in concepts.nodes:
        chunk_ids = concepts.get_chunk_ids(concept)
        chunk_counts = Counter(
            section
            for chunk_id in chunk_ids
            if chunk_id in section_of_chunk
            for section in lineage[section_of_chunk[chunk_id]]
        )
        # Each candidate contains more than half of the concept's chunks, so any two candidates
        # share a chunk. They are therefore nested in each other, and the deepest is unique.
        candidates = [
            s for s, count in chunk_counts.items() if count >= MIN_HOME_SHARE * len(chunk_ids)
        ]
        if candidates:
            homes[concept] = max(candidates, key=lambda section: len(lineage[section]))
    return homes


def find_broader_concepts(
    tree: SectionTree, concepts: ConceptGraph, topics: Mapping[str, str]
) -> dict[str, str]:
    """Returns concept → its direct broader concept, sorted; see the module docstring.

    Args:
        tree: the sections.
        concepts: the concepts.
        topics: section → topic, as returned by ``find_section_topics``.
    """
    homes = find_home_sections(tree, concepts)
    section_of_topic = {topic: section for section, topic in topics.items()}
    broader = {}
    for concept in concepts.nodes:
        start = section_of_topic.get(concept, homes.get(concept))
        if start is None:
            continue
        for section in (start, *tree.list_ancestors(start)):
            topic = topics.get(section, "")
            if topic and topic != concept:
                broader[concept] = topic
                break
    return broader


def iter_broader_concepts(concept: str, broader: Mapping[str, str]) -> Iterable[str]:
    """Yields the direct and indirect broader concepts of a concept, nearest first."""
    while (broader_concept := broader.get(concept)) is not None:
        yield broader_concept
        concept = broader_concept
