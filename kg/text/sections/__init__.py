"""The section tree of a text: numbers read from headings, ancestors, keywords, scores."""

from kg.text.sections.building import build_section_tree
from kg.text.sections.heading import SectionLabel, parse_heading
from kg.text.sections.tree import SectionNode, SectionTree

__all__ = ["SectionLabel", "SectionNode", "SectionTree", "build_section_tree", "parse_heading"]
