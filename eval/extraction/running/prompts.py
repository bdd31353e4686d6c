"""What is said to a model: templates with the text and the schema put in, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from eval.model.completion import Message
from eval.model.schema_form import remove_extensions

_SLOT: Final = re.compile(r"\{(text|schema)\}")


class PromptBuilder:
    """Fills templates.

    ``{text}`` and ``{schema}`` are put in, in one pass: braces of the text, of the schema or of
    the template stay what they are, and what is put in is never looked at for further slots.

    Args:
        system_template: of the system message; blank for none.
        user_template: of the user's message.
    """

    def __init__(self, system_template: str, user_template: str) -> None:
        self._system = system_template
        self._user = user_template

    def build_messages(self, text: str, schema: dict[str, Any]) -> list[Message]:
        """The conversation that asks for one extraction.

        The schema is shown without its ``x-…`` members, which only a scorer understands.

        Args:
            text: what to extract from.
            schema: what to extract.
        """
        shown = json.dumps(remove_extensions(schema), ensure_ascii=False, indent=2)
        said = {"text": text, "schema": shown}

        def filled(template: str) -> str:
            return _SLOT.sub(lambda slot: said[slot.group(1)], template)

        turns: list[Message] = [{"role": "user", "content": filled(self._user)}]
        if self._system.strip():
            turns.insert(0, {"role": "system", "content": filled(self._system)})
        return turns
