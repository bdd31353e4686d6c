"""The prompts of extractors and agent in the fair setting; see ``eval.model.prompts``.

The prompts of all eight extractors state the same task, the same rules and the same budget, and
the question is shown to all of them or to none. Only the last part of the prompt differs: it
explains how the form is written. What two forms have in common is explained in the same words.

Extractions reach the agent with their lines and spacing unchanged, because the formats differ in
these. ``>`` is not escaped: it cannot open a tag, and escaping it would make SKN's arrow ``->``
cost more tokens than JSON's brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from eval.model.completion import Message
from eval.model.prompts import DATA_ONLY, EMPTY_BLOCK, Prompt
from eval.skn.formats.forms import build_example
from eval.skn.formats.pipelines import Pipeline
from eval.skn.formats.settings import Setting
from eval.skn.grammar.document import Section
from eval.skn.grammar.parse_result import Problem
from kg.base.plain_text import clean_for_terminal

VERSION = 1
"""Version of the fair prompts; increase it with every change of their wording."""


class MultilinePrompt(Prompt):
    """A prompt whose data keep their lines and spacing; data cannot open a tag."""

    def build_messages(self, **data: str | Sequence[str]) -> list[Message]:
        """Builds the messages as ``Prompt`` does; a list of texts becomes the lines of its block.

        Raises:
            ValueError: a block has no data, or there are data without a block.
        """
        if set(data) != set(self.blocks):
            raise ValueError(f"prompt {self.name} has the blocks {self.blocks}, not {set(data)}")
        content = "\n\n".join(
            f"<{name}>\n{_escape_tags(data[name]) or EMPTY_BLOCK}\n</{name}>"
            for name in self.blocks
        )
        return [{"role": "system", "content": self.system}, {"role": "user", "content": content}]


def _escape_tags(data: str | Sequence[str]) -> str:
    text = data if isinstance(data, str) else "\n".join(data)
    return clean_for_terminal(text).strip("\n").replace("&", "&amp;").replace("<", "&lt;")


TASK = """\
You take notes of a text that a search found. Someone who will not see the text answers \
{question} from your notes alone."""
RULES = """\
Rules:
1. Write down what the text says, and what it clearly implies. Add nothing that you know besides, \
and word what is implied so that it can be told from what is said.
2. Write down causes and effects only where the text states or clearly implies them.
3. Keep names, numbers, negations and hedges as they are in the text.
4. Begin with what matters most{purpose}.
5. Use at most {words} words in all; the names and signs of the form do not count.
6. Leave a list empty rather than fill it with what the text does not hold."""
FORM = """\
Reply with the notes and nothing else: no explanation, no code fence. Write them in exactly this \
form, where lists may have fewer or more items:

{example}

In it, {meaning} In a quotation, write \\" for " and \\n for a line break."""

_SCALE = "0 means not at all and 1 means fully"
_SOURCE = (
    "the source has a domain (the field of knowledge), fresh (how recent the text is: low, medium "
    f"or high) and a reliability from 0 to 1, where {_SCALE};"
)
_FACTS = (
    "each fact has a priority (! for what matters most, . for a supporting detail, ~ for what is "
    "uncertain or implied) and a confidence from 0 to 1, by how strongly the text supports it;"
)
_CLAIMS = (
    "an entity is a thing the text names, a relationship says how two of them stand to each "
    "other, and each claim has a category: fact, statistic, opinion or prediction;"
)
_CLAIM_CONFIDENCE = "each claim has a confidence from 0 to 1, by how strongly the text supports it;"
_MEANINGS: dict[Section, str] = {
    "causal": "each causal link has a cause, an effect and a strength from 0 to 1;",
    "gaps": "gaps list what an answer would need and the text does not say;",
    "risk": "the risk has misdirection (how far the text may lead to a wrong answer) and "
    "missing_context (how much of what matters it leaves out), both low, medium or high;",
}


def describe_form(pipeline: Pipeline) -> str:
    """Returns the part of an extractor's prompt that explains how its form is written."""
    if pipeline.typed:
        sections = [text for name, text in _MEANINGS.items() if name in pipeline.sections]
        meanings = [_SOURCE, _FACTS, *sections]
    else:
        meanings = [_CLAIMS, *([_CLAIM_CONFIDENCE] if pipeline.confidence else [])]
    meaning = " ".join(meanings).removesuffix(";") + "."
    return FORM.format(example=build_example(pipeline), meaning=meaning)


def format_rules(setting: Setting) -> str:
    """Returns the rules, which are the same for every pipeline."""
    purpose = " for the question" if setting.show_question else ""
    return RULES.format(purpose=purpose, words=setting.words)


def build_extraction_prompt(pipeline: Pipeline, setting: Setting) -> MultilinePrompt:
    """Builds the prompt of one extractor in a fair setting."""
    question = "the question in <question>" if setting.show_question else "a question about it"
    system = "\n\n".join(
        (TASK.format(question=question), format_rules(setting), describe_form(pipeline), DATA_ONLY)
    )
    return MultilinePrompt(
        name=f"skn_extraction_{pipeline.name}",
        version=VERSION,
        system=system,
        blocks=("question", "text") if setting.show_question else ("text",),
    )


def build_repair_turn(problem: Problem) -> str:
    """Returns the message that follows an unreadable extraction, the same for every form."""
    return (
        f"Your notes could not be read. On line {problem.line}, in column {problem.column}: "
        f"{problem.what}. Write them again, whole, in "
        "exactly the form that was asked for and with nothing else."
    )


class AgentReply(msgspec.Struct, frozen=True):
    """The reply of the agent."""

    answer: Annotated[
        str, Meta(description="The answer, in a few sentences; if there is none, what is missing.")
    ]
    confidence: Annotated[
        float, Meta(description="The probability, from 0 to 1, that the answer is right.")
    ]
    reasoning: Annotated[str, Meta(description="How the notes lead to it, in short.")]
    abstained: Annotated[
        bool, Meta(description="True if the notes do not hold what an answer needs.")
    ]


AGENT_PROMPT = MultilinePrompt(
    name="skn_agent",
    version=VERSION,
    system=f"""\
You answer a question from notes that someone took of a text found by a search. The notes are all \
there is of it. They may be wrong and may leave things out. Numbers from 0 to 1 in them say how \
well the text supports what they stand beside.

Answer in a few sentences from what the notes say. If they do not hold what an answer needs, say \
so and set abstained to true: that is the right reply then, not a failure. Do not abstain only \
because the notes are short or in part uncertain; give a lower confidence instead.

{DATA_ONLY}""",
    blocks=("notes", "question"),
)
