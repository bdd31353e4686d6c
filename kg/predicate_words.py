"""The templates that word the facts and questions of one predicate, and how they are compiled."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kg.base.templates import Renderer, compile_template


class PredicateWording(msgspec.Struct, frozen=True, kw_only=True):
    """Templates that word the claims of one predicate; variables: ``subj``, ``obj``, ``unit``.

    Templates that are empty are made from the label.
    """

    label: str
    fact: str = ""
    denied: str = ""
    questions: tuple[str, ...] = ()
    paraphrases: tuple[str, ...] = ()
    """Questions in other words, which cards get only from ``epoche paraphrase``."""
    synonyms: tuple[str, ...] = ()
    """Other phrases for the predicate ("empties into", "mouth"), for parsing questions."""
    inverse_synonyms: tuple[str, ...] = ()
    """Phrases with the object first ("receives")."""
    unit: str = ""
    default: bool = False
    """Whether the predicate is part of the default card set."""


class CompiledWording(msgspec.Struct, frozen=True):
    """A predicate's compiled templates, to be rendered with ``subj``, ``obj`` and ``unit``."""

    fact: Renderer
    denied: Renderer
    questions: tuple[Renderer, ...]
    paraphrases: tuple[Renderer, ...]


def check_templates(wording: PredicateWording, where: str) -> None:
    """Checks the templates that a domain gives; the others are made from the label."""
    fact, denied = wording.fact or "{{ subj }}", wording.denied or "{{ subj }}"
    compile_wording(msgspec.structs.replace(wording, fact=fact, denied=denied), where)


def compile_wording(wording: PredicateWording, where: str) -> CompiledWording:
    """Compiles a predicate's templates.

    Raises:
        DomainError: a template fails; the message names predicate and field.
    """
    sample = {"subj": "Sample A", "obj": "Sample B", "unit": wording.unit}

    def compile_all(sources: Sequence[str], key: str) -> tuple[Renderer, ...]:
        return tuple(
            compile_template(source, sample, f"{where}.{key}[{number}]")
            for number, source in enumerate(sources)
        )

    return CompiledWording(
        compile_template(wording.fact, sample, f"{where}.fact"),
        compile_template(wording.denied, sample, f"{where}.denied"),
        compile_all(wording.questions, "questions"),
        compile_all(wording.paraphrases, "paraphrases"),
    )
