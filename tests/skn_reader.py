"""A system that answers SKN's questions without a model, and is not judged, for cheap runs."""

from __future__ import annotations

from typing import Any

READER = ("--system", "skn_reader:Reader", "--no-judge")
"""Flags of a run of ``Reader``. A subprocess needs a copy of this file in its working folder."""


class Reader:
    """Answers with the sentence that has most words of the question; abstains without any."""

    name = "reader"

    def params(self) -> dict[str, Any]:
        """Returns what determines the answers."""
        return {"version": 1}

    def answer(self, view: Any) -> dict[str, Any]:
        """Returns an answer with the share of the question's words as its confidence."""
        asked = set(view.question.lower().split())
        sentences = [line for line in view.text.replace(". ", ".\n").splitlines() if line]
        shared = [len(asked & set(sentence.lower().split())) for sentence in sentences]
        if not any(shared):
            return {"answer": "I do not know.", "abstained": True}
        best = max(range(len(sentences)), key=shared.__getitem__)
        confidence = round(shared[best] / len(asked), 3)
        return {"answer": sentences[best], "abstained": False, "confidence": confidence}
