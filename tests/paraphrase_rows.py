"""Turns the hand-written questions about rivers into templates, for tests of those that ship."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from kg.knowledge import KnowledgeBase

FILE = Path(__file__).parent / "data" / "rivers_paraphrases.jsonl"
UNITS = {
    "length": r"km|kilomet(?:re|er)s",
    "discharge": r"m[³3]/s|cumecs|cubic met(?:re|er)s (?:per|a|each|every) second",
    "sourceElevation": r"m|metres",
    "mouthElevation": r"m|metres",
}
"""How questions write the unit of a number, by predicate."""


def iter_templates(kb: KnowledgeBase) -> Iterator[tuple[str, str, str]]:
    """Yields (question, predicate's local name, template) of the questions that give one.

    A question gives one if it asks for a claim as it is and names its subject and its object.
    """
    for line in FILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["claim"] is None or row.get("inverted") or row["claim"][1] == "type":
            continue
        subj, pred, obj = row["claim"]
        template = row["question"]
        # Object first: "Ural" is also the beginning of "Ural Mountains".
        for name, variable in ((obj, "obj"), (subj, "subj")):
            template = re.sub(
                _match_name(kb, name, pred), f"{{{{ {variable} }}}}", template, count=1
            )
        if "{{ subj }}" in template and "{{ obj }}" in template:
            yield row["question"], pred, template


def _match_name(kb: KnowledgeBase, name: str | int, pred: str) -> str:
    if isinstance(name, int):
        digits = f"{name:,}".replace(",", "[, ]?")
        return rf"{digits} ?(?:{UNITS[pred]})(?!\w)"
    names = {name}
    for iri in kb.labels.find_entities(name):
        names |= {*kb.labels.list_names(iri), kb.verbaliser.render_term(iri)}
    texts = sorted(map(re.escape, names), key=len, reverse=True)
    return rf"(?:[Tt]he )?(?<!\w)(?:{'|'.join(texts)})(?!\w)"
