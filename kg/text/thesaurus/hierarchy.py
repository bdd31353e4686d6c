"""What falls under what: a hierarchy of concepts, read off the section tree.

A section is *about* the concept its heading names. A concept falls under the concept of the
deepest section that holds nearly all that is said of it; the concept of a section falls under that
of the section above. So every concept falls under at most one other, and none under itself, over
however many steps: concepts of headings only fall under those of sections higher up, and what
stands in no heading has nothing below it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

from kg.text.concepts.concept_graph import ConceptGraph
from kg.text.normaliser import normalise
from kg.text.sections.heading import parse_heading
from kg.text.sections.tree import SectionTree

_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)

HOME_SHARE = Fraction(4, 5)
"""Of a concept's chunks, how many must lie in a section for the concept to be at home there. The
0.8 of M. Sanderson and B. Croft, Deriving concept hierarchies from text, SIGIR 1999."""


def topics_of(tree: SectionTree, concepts: ConceptGraph) -> dict[str, str]:
    """Section → the concept its heading names, for sections that name one of their own.

    The heading must be the concept's name and nothing more, but for its number and an article;
    and the concept a keyword of the section or of one below it. A concept that several sections
    name belongs to the highest of them, the first of those.
    """
    depth: dict[str, int] = {}
    named: dict[str, tuple[int, int, str]] = {}
    for number, (section, node) in enumerate(tree.nodes.items()):
        depth[section] = 0 if node.parent is None else depth[node.parent] + 1
        title = title_of(node.heading)
        for topic in concepts.match(title):
            if topic in node.keywords and topic == normalise(title):
                claim = (depth[section], number, section)
                named[topic] = min(claim, named.get(topic, claim))
    return {section: topic for topic, (_, _, section) in named.items()}


def title_of(heading: str) -> str:
    """A heading without its number and an article before the rest."""
    label = parse_heading(heading)
    return _ARTICLE.sub("", heading if label is None else label.title)


def homes_of(tree: SectionTree, concepts: ConceptGraph) -> dict[str, str]:
    """Concept → the deepest section that holds nearly all of its chunks; absent where none does."""
    section_of = {
        chunk_id: section for section, node in tree.nodes.items() for chunk_id in node.chunk_ids
    }
    above = {section: (section, *tree.ancestors(section)) for section in tree.nodes}
    homes = {}
    for concept in concepts.nodes:
        chunk_ids = concepts.chunk_ids(concept)
        held = Counter(
            section
            for chunk_id in chunk_ids
            if chunk_id in section_of
            for section in above[section_of[chunk_id]]
        )
        # More than half of the chunks lie in each of them, so they lie within one another.
        enough = [s for s, count in held.items() if count >= HOME_SHARE * len(chunk_ids)]
        if enough:
            homes[concept] = max(enough, key=lambda section: len(above[section]))
    return homes


def broader_of(
    tree: SectionTree, concepts: ConceptGraph, topics: Mapping[str, str]
) -> dict[str, str]:
    """Concept → the one that it falls directly under, sorted; see the module.

    Args:
        tree: the sections.
        concepts: the concepts.
        topics: section → the concept its heading names, as ``topics_of`` finds them.
    """
    homes = homes_of(tree, concepts)
    own = {topic: section for section, topic in topics.items()}
    found = {}
    for concept in concepts.nodes:
        start = own.get(concept, homes.get(concept))
        if start is None:
            continue
        for section in (start, *tree.ancestors(start)):
            topic = topics.get(section, "")
            if topic and topic != concept:
                found[concept] = topic
                break
    return found


def ancestors_of(concept: str, broader: Mapping[str, str]) -> Iterable[str]:
    """What a concept falls under, directly or not, nearest first."""
    while (above := broader.get(concept)) is not None:
        yield above
        concept = above
