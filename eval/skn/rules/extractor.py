"""Writes an analysis down in the form of a pipeline, as far as form and budget have room for it.

The budget counts words as the extractors' prompts do: of what is written, not of the form. It is
spent in one order in every form: first what is missing, then the statements from the most to the
least important, each with the cause and effect it states, then, where the form lists things, the
names. What a form has no place for costs it nothing and is lost.
"""

from __future__ import annotations

from typing import Any

from eval.skn.formats.extracting import Extraction
from eval.skn.formats.flat_json import Category, Entity, FlatClaim, FlatExtraction, Relationship
from eval.skn.formats.forms import plain, write
from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source
from eval.skn.pipelines import Pipeline
from eval.skn.rules.analysis import Analysis, Statement, analyse
from eval.skn.rules.statements import names_written
from eval.skn.setting import Setting
from kg.text.normaliser import words

VERSION = 1
"""Of the rules; raised with every change of what they make."""
MOST_GAPS = 5
MOST_ENTITIES = 20
CAUSES = "causes"
"""The relation of a relationship that says a cause and its effect."""


class RuleExtractor:
    """Extracts by rules; see ``eval.skn.rules``. The same text gives the same bytes.

    Args:
        pipeline: the form that is written.
        setting: says whether the question may be looked at, and the budget in words.
    """

    def __init__(self, pipeline: Pipeline, setting: Setting) -> None:
        self._pipeline = pipeline
        self._setting = setting

    def params(self) -> dict[str, Any]:
        """The rules' version, the form, and what of the setting they heed."""
        return {
            "by": "rules",
            "version": VERSION,
            "pipeline": self._pipeline.name,
            "show_question": self._setting.show_question,
            "words": self._setting.words,
        }

    async def extract(self, text: str, question: str) -> Extraction:
        """What the form keeps of ``text``; always readable, if only as an empty form."""
        found = analyse(text, question if self._setting.show_question else "")
        filled = Filling(found, self._pipeline, self._setting.words)
        content = filled.document() if self._pipeline.typed else filled.flat()
        context = write(content, self._pipeline)
        return Extraction(
            pipeline=self._pipeline.name,
            context=context,
            validity="strict",
            raw=context,
            content=plain(content),
        )


class Filling:
    """What of an analysis a form takes within its budget.

    A statement that no longer fits is left out, and shorter ones after it may still fit.

    Args:
        analysis: of the text.
        pipeline: the form.
        budget: in words.
    """

    def __init__(self, analysis: Analysis, pipeline: Pipeline, budget: int) -> None:
        self._analysis = analysis
        self._pipeline = pipeline
        self._left = budget
        self._gaps = tuple(
            gap
            for gap in (analysis.gaps[:MOST_GAPS] if "gaps" in pipeline.sections else ())
            if self._takes(gap)
        )
        # Flat JSON has no section for causes, but a relationship says the same.
        links = "causal" in pipeline.sections or not pipeline.typed
        self._statements: list[Statement] = []
        self._causes: list[Statement] = []
        for statement in analysis.statements:
            if self._takes(statement.text):
                self._statements.append(statement)
                if links and statement.cause and self._takes(*statement.cause):
                    self._causes.append(statement)

    def document(self) -> Document:
        """As typed JSON and SKN hold it. How recent a text is no rule can tell: ``medium``."""
        sections = self._pipeline.sections
        found = self._analysis
        return Document(
            source=Source(found.domain, "medium", found.reliability),
            facts=tuple(Fact(one.priority, one.text, one.confidence) for one in self._statements),
            causal=tuple(
                CausalLink(one.cause.cause, one.cause.effect, one.confidence)
                for one in self._causes
                if one.cause
            )
            if "causal" in sections
            else None,
            gaps=self._gaps if "gaps" in sections else None,
            risk=Risk(found.misdirection, found.missing_context) if "risk" in sections else None,
        )

    def flat(self) -> FlatExtraction:
        """As flat JSON holds it: whole statements as claims, causes as relationships, names."""
        return FlatExtraction(
            entities=tuple(Entity(name) for name in self._names()),
            relationships=tuple(
                Relationship(one.cause.cause, CAUSES, one.cause.effect)
                for one in self._causes
                if one.cause
            ),
            claims=tuple(
                FlatClaim(
                    one.text,
                    _category(one),
                    one.confidence if self._pipeline.confidence else None,
                )
                for one in self._statements
            ),
        )

    def _names(self) -> list[str]:
        """The names in the statements taken, each once, if they fit."""
        names = dict.fromkeys(name for one in self._statements for name in names_written(one.text))
        return [name for name in list(names)[:MOST_ENTITIES] if self._takes(name)]

    def _takes(self, *texts: str) -> bool:
        """Whether the budget has room for ``texts``; if so, they take it."""
        cost = sum(len(words(text)) for text in texts)
        fits = cost <= self._left
        if fits:
            self._left -= cost
        return fits


def _category(statement: Statement) -> Category:
    """An opinion if its words are uncertain, else a statistic if it has a number, else a fact."""
    if statement.hedged:
        return "opinion"
    return "statistic" if any(char.isdigit() for char in statement.text) else "fact"
