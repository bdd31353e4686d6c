"""Reads triples in the format of HippoRAG's open information extraction.

``docs`` is a list of objects with ``passage`` (title, line break, text) and ``extracted_triples``
(lists of subject, relation, object). See B. J. Gutiérrez et al., HippoRAG, NeurIPS 2024.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from eval.retrieval_eval.data.imported_set import ImportedSet, read_json_record
from kg.text.facts.fact import MAX_FIELD_LENGTH, Fact


class _Document(msgspec.Struct):
    passage: str
    extracted_triples: list[Any] = []


class _Extraction(msgspec.Struct):
    docs: list[_Document]


def read_openie(path: Path, imported: ImportedSet) -> list[Fact]:
    """Reads the triples of the passages of a set.

    Triples that do not have three texts with words, and those of other passages, are left out and
    counted in the set's notes.

    Raises:
        MissingFileError: there is no such file.
        RecordError: it is not in this format.
    """
    facts: list[Fact] = []
    for document in read_json_record(path, _Extraction, "extraction").docs:
        chunk_id = imported.find_passage(document.passage)
        if chunk_id is None:
            imported.notes["triples of other passages left out"] += len(document.extracted_triples)
            continue
        for triple in document.extracted_triples:
            fact = _make_fact(triple, chunk_id)
            if fact is None:
                imported.notes["triples without three texts left out"] += 1
            else:
                facts.append(fact)
    return facts


def _make_fact(triple: object, chunk_id: str) -> Fact | None:
    if not isinstance(triple, list) or len(triple) != 3:
        return None
    if not all(isinstance(text, str) and len(text) <= MAX_FIELD_LENGTH for text in triple):
        return None
    fact = Fact(chunk_id=chunk_id, subject=triple[0], relation=triple[1], object=triple[2])
    return fact if all(fact.phrases) else None
