"""JUnit XML: the format in which every CI system shows what passed and what did not.

No schema was ever published; what is written here is the common part that the XSDs of Jenkins and
Ant and the readers of GitLab and GitHub agree on: ``testsuites``, ``testsuite`` with its counts,
``testcase`` with ``classname``, ``name`` and ``time``, ``failure`` with ``message`` and ``type``.
No time of day is written, so equal inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from eval.comparing.gate import Check
from kg.words.plain_text import one_line

_NEVER_IN_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def junit_xml(checks: Sequence[Check]) -> str:
    """The checks as one document: a suite a system, in the order in which they come.

    Names come from anywhere: markup in them is escaped, and characters that XML cannot hold
    (control characters, lone surrogates) are left out or replaced.

    Args:
        checks: those of one system stand together.
    """
    failed = sum(not check.passed for check in checks)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="epoche gate" tests="{len(checks)}" failures="{failed}" errors="0" '
        'time="0">',
    ]
    for system, group in groupby(checks, key=lambda check: check.system):
        mine = list(group)
        failed = sum(not check.passed for check in mine)
        lines.append(
            f'<testsuite name={_attribute(system)} tests="{len(mine)}" failures="{failed}" '
            'errors="0" skipped="0" time="0">'
        )
        for check in mine:
            kind = "regression" if check.regression else "condition"
            head = (
                f"<testcase classname={_attribute(f'epoche.gate.{kind}.{system}')} "
                f'name={_attribute(check.name)} time="0">'
            )
            lines.append(head)
            if not check.passed:
                lines.append(
                    f'<failure message={_attribute(check.said)} type="{kind}">'
                    f"{escape(_clean(f'{system}: {check.name}. {check.said}'))}</failure>"
                )
            else:
                lines.append(f"<system-out>{escape(_clean(check.said))}</system-out>")
            lines.append("</testcase>")
        lines.append("</testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return one_line(text).translate(_NEVER_IN_XML)
