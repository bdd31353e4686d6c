"""Signatures: one line that identifies how a value was computed, as in sacreBLEU.

``AP|cards:9f3c0a1b2c3d|policy:licensed|boot:2000|seed:12345|v:0.1.0``. Two values with equal
signatures were computed in the same way on the same cards and may be compared; two with
different signatures may not.

Source of the idea: Post, "A Call for Clarity in Reporting BLEU Scores", WMT 2018.
"""

from __future__ import annotations

import msgspec

DEFAULT_CONFIDENCE = 0.95


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that determines a value, except the system's answers."""

    metric: str
    cards: str
    policy: str
    resamples: int
    seed: int
    version: str
    group: str = ""
    """``kind:functional``, ``label:C``, ``difficulty:hard``; empty for all headline cards."""
    details: tuple[str, ...] = ()
    """Further parameters that determine the value: ``repeats:5``, ``bins:10-equal-width``."""
    confidence: float = DEFAULT_CONFIDENCE

    def __str__(self) -> str:
        parts = [self.metric, f"cards:{self.cards}"]
        if self.group:
            parts.append(self.group)
        parts += self.details
        parts += [f"policy:{self.policy}", f"boot:{self.resamples}", f"seed:{self.seed}"]
        if self.confidence != DEFAULT_CONFIDENCE:
            parts.append(f"conf:{self.confidence:g}")
        parts.append(f"v:{self.version}")
        # Kinds come from card files that anyone may write, so a "|" or line break in a kind is
        # escaped. Otherwise it would look like a separator.
        return "|".join(_escape_part(part) for part in parts)

    def with_metric(self, metric: str, *, group: str = "") -> Signature:
        """Returns the signature of the same computation for another metric or group of cards."""
        return msgspec.structs.replace(self, metric=metric, group=group)


def _escape_part(part: str) -> str:
    if part.isprintable() and "|" not in part and "%" not in part:
        return part
    return "".join(
        char if char.isprintable() and char not in "|%" else f"%{ord(char):02X}" for char in part
    )
