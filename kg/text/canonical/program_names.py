"""Finds the words that a text uses as names of modules and classes.

"unittest" is the module of ``unittest.TestCase`` and ``unittest.mock``, and not another spelling of
"unit test". Only the text shows this: "filesystem" and "file system" look the same.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from kg.base.plain_text import list_words
from kg.words.normaliser import normalise_phrase

MIN_SHARE = Fraction(1, 3)
"""Minimum share of a word's occurrences that are followed by a member."""
MIN_MEMBERS = 3
"""Minimum number of different members; "readthedocs.org" and "changes.html" have one ending."""

FILE_ENDINGS = frozenset(
    list_words(
        """adoc asc avi bat bin bmp bz2 cfg class cls com conf cpp csh css csv db dat deb dll doc
        docx dtd ebnf eps epub exe gif go gz h hpp htm html ico inc ini ipynb jar java jpeg jpg
        js json jsonl jsx key kt lock log lua md mdx mk mo mp3 mp4 mjs net odt org otf out pdf
        pem php pl png po pot ppt pptx ps py pyc pyi pyx qmd rar rb rpm rs rst sh sql sqlite svg
        tar tcl tex tgz toml ts tsv tsx ttf ttl txt wasm wav whl woff woff2 xhtml xls xlsx xml
        xsd xsl xz yaml yml zip zsh zst"""
    )
)
"""Endings of files and addresses; "config.toml" and "config.yaml" are no members of "config"."""

# A word after a dot, a slash or "@" is itself a member, or a part of a path or an address.
_WORD_AND_MEMBER = re.compile(r"(?<![\w./@-])([^\W\d_]{4,})(?:\.([^\W\d]\w+)|(?![\w/@]))")


def find_program_names(texts: Iterable[str]) -> frozenset[str]:
    """Returns the words that texts use as names of modules and classes, in normal form."""
    occurrences, with_member = Counter[str](), Counter[str]()
    members: defaultdict[str, set[str]] = defaultdict(set)
    for text in texts:
        for word, member in _WORD_AND_MEMBER.findall(text):
            name = word.casefold()
            occurrences[name] += 1
            if member and member.casefold() not in FILE_ENDINGS:
                with_member[name] += 1
                members[name].add(member)
    return frozenset(
        normalise_phrase(name)
        for name, count in with_member.items()
        if len(members[name]) >= MIN_MEMBERS and count >= MIN_SHARE * occurrences[name]
    )


def split_groups(
    labels: Sequence[str], groups: Iterable[Sequence[int]], program_names: Collection[str]
) -> list[list[int]]:
    """Splits groups of candidates, so that all keywords of a group have the same such names.

    Args:
        labels: the keywords.
        groups: positions in ``labels``.
        program_names: see ``find_program_names``.
    """
    parts: list[list[int]] = []
    for group in groups:
        part_of_names: defaultdict[frozenset[str], list[int]] = defaultdict(list)
        for position in group:
            words = normalise_phrase(labels[position]).split()
            part_of_names[frozenset(words).intersection(program_names)].append(position)
        parts.extend(part_of_names.values())
    return parts
