"""Writes an analysis in the form of a pipeline, as far as form and budget allow.

The budget counts words as the extractors' prompts do: words of content, not of the form. Every form
spends it in the same order: first on gaps, then on the statements from the most to the least
important, each with its cause and effect, and last on names, if the form lists entities. What a
form cannot express is dropped and costs no budget.
"""

from __future__ import annotations

from typing import Any

from eval.skn.card_rules.analysis import Analysis, Statement, analyse_text
from eval.skn.formats.extraction import Extraction
from eval.skn.formats.flat_json import Category, Entity, FlatClaim, FlatExtraction, Relationship
from eval.skn.formats.forms import to_plain_values, write_content
from eval.skn.formats.pipelines import Pipeline
from eval.skn.formats.settings import Setting
from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source
from eval.skn.retention.statements import find_written_names
from kg.words.normaliser import split_words

VERSION = 1
"""Version of the rules; increase it with every change of what they extract."""
MAX_GAPS = 5
"""Maximum number of gaps in an extraction."""
MAX_ENTITIES = 20
"""Maximum number of entities in an extraction."""
CAUSES_RELATION = "causes"
"""The relation of a relationship that states a cause and its effect."""


class RuleExtractor:
    """An extractor that uses rules. Equal texts give equal bytes.

    Args:
        pipeline: determines the form.
        setting: defines whether the question may be used, and the budget in words.
    """

    def __init__(self, pipeline: Pipeline, setting: Setting) -> None:
        self._pipeline = pipeline
        self._setting = setting

    def params(self) -> dict[str, Any]:
        """Returns the version of the rules, the form and the relevant options of the setting."""
        return {
            "by": "rules",
            "version": VERSION,
            "pipeline": self._pipeline.name,
            "show_question": self._setting.show_question,
            "words": self._setting.words,
        }

    async def extract(self, text: str, question: str) -> Extraction:
        """Extracts the content of ``text`` that the form can express; there may be none."""
        analysis = analyse_text(text, question if self._setting.show_question else "")
        budgeted = BudgetedContent(analysis, self._pipeline, self._setting.words)
        content = budgeted.build_document() if self._pipeline.typed else budgeted.build_flat()
        context = write_content(content, self._pipeline)
        return Extraction(
            pipeline=self._pipeline.name,
            context=context,
            validity="strict",
            raw=context,
            content=to_plain_values(content),
        )


class BudgetedContent:
    """Selects the parts of an analysis that fit into a form and its budget.

    A statement that does not fit is left out; shorter ones after it may still fit.

    Args:
        analysis: analysis of the text.
        pipeline: determines the form.
        budget: maximum number of words.
    """

    def __init__(self, analysis: Analysis, pipeline: Pipeline, budget: int) -> None:
        self._analysis = analysis
        self._pipeline = pipeline
        self._words_left = budget
        self._gaps = tuple(
            gap
            for gap in (analysis.gaps[:MAX_GAPS] if "gaps" in pipeline.sections else ())
            if self._take_budget(gap)
        )
        # Flat JSON has no section for causes, but a relationship can express them.
        can_express_causes = "causal" in pipeline.sections or not pipeline.typed
        self._statements: list[Statement] = []
        self._causes: list[Statement] = []
        for statement in analysis.statements:
            if self._take_budget(statement.text):
                self._statements.append(statement)
                if can_express_causes and statement.cause and self._take_budget(*statement.cause):
                    self._causes.append(statement)

    def build_document(self) -> Document:
        """Builds the content of typed JSON and SKN.

        ``fresh`` is always ``medium``, because no rule can determine how recent a text is.
        """
        sections = self._pipeline.sections
        analysis = self._analysis
        return Document(
            source=Source(analysis.domain, "medium", analysis.reliability),
            facts=tuple(
                Fact(statement.priority, statement.text, statement.confidence)
                for statement in self._statements
            ),
            causal=tuple(
                CausalLink(statement.cause.cause, statement.cause.effect, statement.confidence)
                for statement in self._causes
                if statement.cause
            )
            if "causal" in sections
            else None,
            gaps=self._gaps if "gaps" in sections else None,
            risk=Risk(analysis.misdirection, analysis.missing_context)
            if "risk" in sections
            else None,
        )

    def build_flat(self) -> FlatExtraction:
        """Builds flat JSON: statements as claims, causes as relationships, names as entities."""
        return FlatExtraction(
            entities=tuple(Entity(name) for name in self._select_names()),
            relationships=tuple(
                Relationship(statement.cause.cause, CAUSES_RELATION, statement.cause.effect)
                for statement in self._causes
                if statement.cause
            ),
            claims=tuple(
                FlatClaim(
                    statement.text,
                    _categorise_claim(statement),
                    statement.confidence if self._pipeline.confidence else None,
                )
                for statement in self._statements
            ),
        )

    def _select_names(self) -> list[str]:
        """Returns the distinct names in the selected statements, as far as they fit."""
        names = dict.fromkeys(
            name for statement in self._statements for name in find_written_names(statement.text)
        )
        return [name for name in list(names)[:MAX_ENTITIES] if self._take_budget(name)]

    def _take_budget(self, *texts: str) -> bool:
        """Subtracts the words of ``texts`` from the budget if they fit; returns whether they do."""
        cost = sum(len(split_words(text)) for text in texts)
        fits = cost <= self._words_left
        if fits:
            self._words_left -= cost
        return fits


def _categorise_claim(statement: Statement) -> Category:
    """Returns opinion for a hedged statement, statistic for one with a digit, otherwise fact."""
    if statement.hedged:
        return "opinion"
    return "statistic" if any(char.isdigit() for char in statement.text) else "fact"
