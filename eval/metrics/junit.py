"""Renders checks as JUnit XML, the format in which CI systems show passed and failed tests.

The format has no official schema. This module writes only what Jenkins, Ant, GitLab and GitHub all
accept: ``testsuites``, ``testsuite`` with its counts, ``property``, ``testcase`` with
``classname``, ``name`` and ``time``, ``failure`` with ``message`` and ``type``, and ``system-out``.
No timestamp is written, so equal inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from eval.metrics.gate import Check
from kg.base.plain_text import to_one_line

# to_one_line removes the other characters that XML cannot represent.
_INVALID_XML_CHARS = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def render_junit(checks: Sequence[Check], signature: str = "") -> str:
    """Renders the checks as one document with one suite per system, in the order given.

    Names are arbitrary text: markup in them is escaped, and characters that XML cannot represent
    (control characters, lone surrogates) are removed or replaced.

    Args:
        checks: the checks; those of one system must be adjacent.
        signature: how their numbers were computed, a property of each suite; empty for none.
    """
    n_failed = sum(not check.passed for check in checks)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="epoche gate" tests="{len(checks)}" failures="{n_failed}" errors="0" '
        'time="0">',
    ]
    for system, group in groupby(checks, key=lambda check: check.system):
        suite = list(group)
        n_failed = sum(not check.passed for check in suite)
        lines.append(
            f'<testsuite name={_quote_attribute(system)} tests="{len(suite)}" '
            f'failures="{n_failed}" errors="0" skipped="0" time="0">'
        )
        if signature:
            property_tag = f'<property name="signature" value={_quote_attribute(signature)}/>'
            lines.append(f"<properties>{property_tag}</properties>")
        for check in suite:
            kind = "regression" if check.regression else "condition"
            opening_tag = (
                f"<testcase classname={_quote_attribute(f'epoche.gate.{kind}.{system}')} "
                f'name={_quote_attribute(check.name)} time="0">'
            )
            lines.append(opening_tag)
            if not check.passed:
                lines.append(
                    f'<failure message={_quote_attribute(check.evidence)} type="{kind}">'
                    f"{escape(_clean_text(f'{system}: {check.name}. {check.evidence}'))}</failure>"
                )
            else:
                lines.append(f"<system-out>{escape(_clean_text(check.evidence))}</system-out>")
            lines.append("</testcase>")
        lines.append("</testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _quote_attribute(text: str) -> str:
    return quoteattr(_clean_text(text))


def _clean_text(text: str) -> str:
    return to_one_line(text).translate(_INVALID_XML_CHARS)
