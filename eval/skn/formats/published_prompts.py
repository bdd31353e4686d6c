"""The published benchmark's prompts, word for word, for ``--as-published``.

Quoted from the SKN benchmark of ujjwalredd/Structured-Knowledge-Notation (MIT licence), files
``src/extractors.py`` and ``src/agent.py``. The prompts treat the formats differently: the JSON
extractor must not infer and has no length limit, while SKN has a length limit and an order of
importance. These differences are kept on purpose, because they are what is reproduced.
"""

from __future__ import annotations

import hashlib
from typing import Any

_JSON = """\
You are an information extraction engine.
Your task is to extract structured information from the provided text and output a strict JSON object.

Rules:
1. Output must be valid JSON.
2. Do not include explanations.
3. Do not include markdown.
4. Do not include comments.
5. Only include information explicitly supported by the text.
6. Do not infer unstated causal relationships.
7. {confidence_rule}
8. Maintain neutral formatting.

Required Schema:
{{
  "entities": [
    {{
      "name": "",
      "type": "",
      "attributes": {{"key": "value"}}
    }}
  ],
  "relationships": [
    {{
      "source": "",
      "relation": "",
      "target": ""
    }}
  ],
  "claims": [
    {{
      "statement": "",
      "category": "fact | statistic | opinion | prediction"{confidence_field}
    }}
  ]
}}

If information is missing, use empty arrays."""  # noqa: E501 - as published

# The parts of the SKN prompts.
_SKN_HEAD = """\
You are a structured knowledge extraction engine optimized for downstream AI reasoning.
Your task is to convert the provided text into Structured Knowledge Notation (SKN).

Output must follow this exact format. Do not include explanations, markdown, or JSON.
Do not add any text outside the structure. Be concise. Every token must carry information.

[SKN]
@src <domain_category> | fresh:<high|medium|low> | reliability:<0.0-1.0>

@facts
  ! "highest priority fact directly from the text" [<confidence 0.0-1.0>]
  ! "second highest priority fact" [<confidence>]
  . "supporting detail" [<confidence>]
"""
_UNCERTAIN = '  ~ "uncertain or inferred claim" [<confidence>]\n\n'
_RISK = "@risk misdirection:<low|medium|high> | missing_context:<low|medium|high>\n"
_CAUSAL = "@causal\n  <cause> -> <effect> [<strength 0.0-1.0>]\n\n"
_GAPS = "@gaps\n  - <specific information missing from the text>\n"
_SYMBOLS = """\
[/SKN]

Symbol key:
  ! = high importance fact
  . = supporting detail
  ~ = uncertain or inferred
"""
_ARROW = "  -> = causal link\n"
_FIRST_RULES = """
Rules:
1. Confidence scores must reflect only what the text directly supports.
2. Order facts by importance.
"""

_SKN_FULL = (
    _SKN_HEAD
    + '  . "supporting detail" [<confidence>]\n'
    + _UNCERTAIN
    + """\
@causal
  <cause> -> <effect> [<strength 0.0-1.0>]
  <cause> -> <effect> [<strength>]

@gaps
  - <specific information missing from the text>
  - <another piece of missing information>

"""
    + _RISK
    + """\
[/SKN]

Symbol key:
  ! = high importance fact (use for critical information)
  . = supporting detail (use for context and secondary facts)
  ~ = uncertain or inferred (use when the text implies but does not state)
  -> = causal link between two elements

Rules:
1. Confidence scores must reflect only what the text directly supports.
2. Order facts by importance. Put the most critical information first.
3. Extract causal links only when the text strongly implies them.
4. The @gaps section must list what is NOT in the text but would be needed for a complete answer.
5. Do not fabricate information not grounded in the text.
6. Keep it compact. Aim for under 200 tokens total.
7. Every fact must be traceable to the source text.
8. The @risk line must assess whether the question or text could lead to misdirection."""
)
_LAST_RULES = """\
5. Do not fabricate information not grounded in the text.
6. Keep it compact. Aim for under 200 tokens total.
7. Every fact must be traceable to the source text.
8. The @risk line must assess misdirection potential."""

PUBLISHED_EXTRACTION: dict[str, str] = {
    "json": _JSON.format(confidence_rule="Do not add confidence scores.", confidence_field=""),
    "json_conf": _JSON.format(
        confidence_rule="Add a confidence score (0.0-1.0) to each claim based on how strongly the "
        "text supports it.",
        confidence_field=',\n      "confidence": 0.85',
    ),
    "skn_no_gaps": _SKN_HEAD
    + _UNCERTAIN
    + _CAUSAL
    + _RISK
    + _SYMBOLS
    + _ARROW
    + _FIRST_RULES
    + """\
3. Extract causal links only when the text strongly implies them.
4. Do NOT include a @gaps section.
"""
    + _LAST_RULES,
    "skn_no_causal": _SKN_HEAD
    + _UNCERTAIN
    + _GAPS
    + "\n"
    + _RISK
    + _SYMBOLS
    + _FIRST_RULES
    + """\
3. Do NOT include a @causal section. No cause-effect chains.
4. The @gaps section must list what is NOT in the text.
"""
    + _LAST_RULES,
    "skn_no_risk": _SKN_HEAD
    + _UNCERTAIN
    + _CAUSAL
    + _GAPS
    + _SYMBOLS
    + _ARROW
    + _FIRST_RULES
    + """\
3. Extract causal links only when the text strongly implies them.
4. The @gaps section must list what is NOT in the text.
5. Do NOT include a @risk line.
6. Do not fabricate information not grounded in the text.
7. Keep it compact. Aim for under 200 tokens total.
8. Every fact must be traceable to the source text.""",
    "skn": _SKN_FULL,
}
"""The system message of each of the six published extractors; the user message is only the text to
extract from."""

PUBLISHED_AGENT = """\
You are an AI agent. Based on the provided context, answer the question.

You must return ONLY a valid JSON object with this exact structure:
{
  "answer": "your answer here",
  "confidence": 0.85,
  "reasoning": "step by step explanation"
}

Do not include any text outside the JSON object.
Confidence must be between 0.0 and 1.0.
Base your confidence on how well the context supports your answer.
If the context indicates missing information or high uncertainty, lower your confidence \
accordingly.\
"""


def describe_published_prompt(name: str, text: str) -> dict[str, Any]:
    """Describes a published prompt for the manifest, as ``Prompt.params`` does, with version 0."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"name": name, "version": 0, "sha256": digest[:16]}
