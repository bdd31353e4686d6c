"""What the directives of docutils, Sphinx and their extensions hold: text, code, or neither."""

from __future__ import annotations

from kg.base.plain_text import list_words

RUN_DIRECTIVES = frozenset(
    list_words(
        """attention caution danger error hint important note tip warning admonition
        epigraph highlights pull-quote compound container topic sidebar rubric
        table list-table csv-table replace unicode"""
    )
)
"""Directives of docutils that run; they read no files with ``file_insertion_enabled`` off."""
DROPPED_DIRECTIVES = frozenset(
    list_words(
        """toctree index raw include literalinclude highlight highlightlang currentmodule
        py:currentmodule program meta contents sectnum section-numbering tabularcolumns graphviz
        digraph graph plot mermaid uml inheritance-diagram autosummary default-domain default-role
        role title testsetup testcleanup sectionauthor codeauthor target-notes date math
        bibliography nbgallery nblinkgallery minigallery youtube video"""
    )
)
"""Directives whose content is no text for readers, and those that would read files."""
CONTENT_DIRECTIVES = frozenset(
    list_words("only ifconfig module py:module rst-class cssclass image figure thumbnail")
)
"""Directives whose argument is no text for readers: a condition, a class of styles, a file."""
CODE_DIRECTIVES = frozenset(
    list_words(
        """code code-block sourcecode parsed-literal doctest testcode testoutput prompt console
        ipython jupyter-execute productionlist"""
    )
)
