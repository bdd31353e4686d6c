"""Finds nouns for the subjects of a predicate, so that rules speak of their class."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from kg.terms import RDF_TYPE, SKOS
from kg.vocabulary import is_vocabulary
from kg.words.phrasebook import Phrasebook
from kg.words.readable_names import is_code, is_readable_label

MAX_SUBJECT_NOUNS = 3
"""Maximum number of classes that a rule names."""


def find_subject_nouns(phrasebook: Phrasebook, pred: str) -> tuple[str, ...]:
    """Finds nouns for what has a value of a predicate: ("river",), or ("album", "song").

    Returns:
        The most specific class that all subjects have, else the classes of the single subjects: a
        rule must not leave out the class of a thing that cards ask about. Empty if some have no
        class with a readable name, or if there are more than ``MAX_SUBJECT_NOUNS`` classes.
    """
    node = phrasebook.index.terms.get(pred)
    subjects = () if node is None else phrasebook.index.get_subjects(node)
    groups = {phrasebook.find_class_ids(s) for s in subjects}
    class_sets = [_list_nameable_classes(phrasebook, group) for group in groups]
    if not all(class_sets):
        return ()
    shared = frozenset.intersection(*class_sets) if class_sets else frozenset()
    chosen = {_choose_smallest_class(phrasebook, shared or classes) for classes in class_sets}
    nouns = sorted(set(map(phrasebook.get_class_noun, chosen)))
    return tuple(nouns) if len(nouns) <= MAX_SUBJECT_NOUNS else ()


def _list_nameable_classes(phrasebook: Phrasebook, group: Iterable[int]) -> frozenset[str]:
    """Lists classes and their superclasses, without those that no sentence can name."""
    classes = set(map(phrasebook.index.terms.get_text, group))
    classes.update(*map(phrasebook.find_superclasses, list(classes)))
    return frozenset(cls for cls in classes if _is_nameable(phrasebook, cls))


def _is_nameable(phrasebook: Phrasebook, cls: str) -> bool:
    # A class of a schema vocabulary ("Thing", "named individual") says nothing of its members,
    # but for SKOS's concepts.
    if cls.startswith("_:") or (is_vocabulary(cls) and not cls.startswith(SKOS)):
        return False
    noun = phrasebook.get_class_noun(cls)
    return is_readable_label(noun) and not is_code(noun)


def _choose_smallest_class(phrasebook: Phrasebook, classes: Iterable[str]) -> str:
    index = phrasebook.index
    rdf_type = index.terms.get(RDF_TYPE)

    def count_members(cls: str) -> int:
        node = index.terms.get(cls)
        if node is None or rdf_type is None:
            return sys.maxsize
        n_members = len(index.find_subjects(rdf_type, node))
        # A superclass that no entity names as its class is less specific than the others.
        return n_members or sys.maxsize

    return min(classes, key=lambda cls: (count_members(cls), cls))
