"""Signatures: one short line that says exactly what a number is, in the manner of sacreBLEU.

``AP|cards:9f3c0a1b2c3d|policy:licensed|boot:2000|seed:12345|v:0.1.0``. Two numbers with equal
signatures were computed in the same way on the same cards and may be compared; two with
different ones may not.

Source of the idea: Post, "A Call for Clarity in Reporting BLEU Scores", WMT 2018.
"""

from __future__ import annotations

import msgspec

CONFIDENCE = 0.95


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """What decides a number, apart from the system's answers."""

    metric: str
    cards: str
    policy: str
    resamples: int
    seed: int
    version: str
    group: str = ""
    """``kind:functional``, ``label:C``, ``difficulty:hard``; empty for all headline cards."""
    details: tuple[str, ...] = ()
    """Further parameters that decide the number: ``repeats:5``, ``bins:10-equal-width``."""
    confidence: float = CONFIDENCE

    def __str__(self) -> str:
        parts = [self.metric, f"cards:{self.cards}"]
        if self.group:
            parts.append(self.group)
        parts += self.details
        parts += [f"policy:{self.policy}", f"boot:{self.resamples}", f"seed:{self.seed}"]
        if self.confidence != CONFIDENCE:
            parts.append(f"conf:{self.confidence:g}")
        parts.append(f"v:{self.version}")
        # Kinds come from card files of anyone; a bar or line break in one must not forge a part.
        return "|".join(_plain(part) for part in parts)

    def of(self, metric: str, *, group: str = "") -> Signature:
        """The same computation's signature for another metric or group of cards."""
        return msgspec.structs.replace(self, metric=metric, group=group)


def _plain(part: str) -> str:
    if part.isprintable() and "|" not in part and "%" not in part:
        return part
    return "".join(
        char if char.isprintable() and char not in "|%" else f"%{ord(char):02X}" for char in part
    )
