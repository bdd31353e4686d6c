"""Chooses the IRIs against which the relative IRIs of files that are read as one graph resolve."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

ABSOLUTE_ENDINGS = (".nt", ".nq", ".nt.gz", ".nq.gz")
"""Endings of files that cannot have relative IRIs."""


def choose_base_iris(paths: Sequence[Path]) -> list[str]:
    """Chooses the base IRI of each file: ``file:///`` and its name, so in any folder the same.

    If files share a name, those at or below the deepest folder that has all of these keep their
    folders below it: ``a/manifest.ttl`` and ``b/manifest.ttl`` are two documents, and
    ``<../a/manifest.ttl>`` in the second one is the first.

    Args:
        paths: the files; names without a folder are in the current one.
    """
    counts = Counter(path.name for path in paths)
    may_clash = [
        counts[path.name] > 1 and not path.name.lower().endswith(ABSOLUTE_ENDINGS) for path in paths
    ]
    parts = [path.parts[-1:] for path in paths]
    if any(may_clash):
        # Links to folders are followed, as in the paths of a drafted domain.
        folders = [Path(os.path.realpath(path.parent)).parts for path in paths]
        clashing = [folder for folder, clashes in zip(folders, may_clash, strict=True) if clashes]
        levels = itertools.takewhile(_are_equal, zip(*clashing, strict=False))
        shared = tuple(level[0] for level in levels)
        parts = [
            (*folder[len(shared) :], *name) if folder[: len(shared)] == shared else name
            for folder, name in zip(folders, parts, strict=True)
        ]
    return [f"file:///{'/'.join(map(_quote_name, names))}" for names in parts]


def _are_equal(names: Sequence[str]) -> bool:
    return len(set(names)) == 1


def _quote_name(name: str) -> str:
    return quote(name.encode("utf-8", "surrogateescape"), safe="")
