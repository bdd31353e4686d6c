"""Builds prompts from templates, by inserting the text and the schema."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from eval.model.completion import Message
from eval.model.replies.schema_form import remove_extensions

_SLOT: Final = re.compile(r"\{(text|schema)\}")


class PromptBuilder:
    """Fills the templates of the system message and the user message.

    ``{text}`` and ``{schema}`` are replaced in one pass: other braces stay as they are, and
    inserted text is not searched for placeholders.

    Args:
        system_template: template of the system message; blank for none.
        user_template: template of the user message.
    """

    def __init__(self, system_template: str, user_template: str) -> None:
        self._system = system_template
        self._user = user_template

    def build_messages(self, text: str, schema: dict[str, Any]) -> list[Message]:
        """Returns the messages that request one extraction.

        The schema is shown without its ``x-…`` members, which are for the scorer only.

        Args:
            text: the text to extract from.
            schema: the JSON Schema of the extraction.
        """
        schema_text = json.dumps(remove_extensions(schema), ensure_ascii=False, indent=2)
        values = {"text": text, "schema": schema_text}

        def fill_template(template: str) -> str:
            return _SLOT.sub(lambda slot: values[slot.group(1)], template)

        turns: list[Message] = [{"role": "user", "content": fill_template(self._user)}]
        if self._system.strip():
            turns.insert(0, {"role": "system", "content": fill_template(self._system)})
        return turns
