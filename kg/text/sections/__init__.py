"""The section tree of a text: section numbers, parents, keywords and scores for a query."""

from kg.text.sections.builder import build_section_tree
from kg.text.sections.headings import SectionLabel, parse_heading
from kg.text.sections.tree import SectionNode, SectionTree

__all__ = ["SectionLabel", "SectionNode", "SectionTree", "build_section_tree", "parse_heading"]
