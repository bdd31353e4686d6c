"""The page on which a person accepts or rejects facts and rules, and the file that it saves."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from kg.base.errors import DomainError
from kg.base.files import require_file
from kg.base.plain_text import clean_text, format_count, to_one_line
from kg.profile.answers import MAX_FILE_BYTES
from kg.profile.readiness import Readiness
from kg.profile.rules import Answers
from kg.text.facts.fact import Fact

REVIEW_PAGE: Final = "review.html"
REVIEW_FILE: Final = "review.json"
"""What the page saves; the user moves it into the folder of the domain."""
MAX_FACTS: Final = 5_000
"""Maximum number of facts on the page."""

_RULES: Final = {
    "one value": ("one_value", "Each subject has one value, so any other value is false."),
    "one way": ("one_way", "It never holds in both directions."),
}


class Review(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person said on the page."""

    rejected: frozenset[str] = frozenset()
    """Keys of the facts that are wrong, see ``Fact.key``."""
    one_value: dict[str, bool] = {}
    one_way: dict[str, bool] = {}

    def merge_answers(self, answers: Answers) -> Answers:
        """Adds the rules that are ticked to the answers of confirm.toml.

        A rule that is not ticked was not answered: the page saves all rules that are in doubt.
        """
        return answers._replace(
            one_value={**answers.one_value, **_select_ticked(self.one_value)},
            one_way={**answers.one_way, **_select_ticked(self.one_way)},
        )


def _select_ticked(boxes: Mapping[str, bool]) -> dict[str, bool]:
    return {iri: True for iri, is_ticked in boxes.items() if is_ticked}


def read_review(path: Path) -> Review:
    """Reads what the page saved; an empty review if there is no such file.

    Raises:
        DomainError: the file is not valid.
    """
    if not path.exists():
        return Review()
    require_file(path, REVIEW_FILE)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DomainError("file is larger than 4 MiB", where=str(path))
        return msgspec.json.decode(path.read_bytes(), type=Review)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DomainError(
            f"not what the page saved: {error}",
            where=str(path),
            hint="Save it again from review.html, or delete it to start anew.",
        ) from None


def render_review_page(
    title: str,
    rows: Iterable[Readiness],
    facts: Sequence[tuple[str, Fact]],
    rejected: Iterable[Fact],
    answers: Answers,
) -> str:
    """Renders the page: rules in doubt, and the facts that cards ask about, each with its quote.

    Args:
        title: name of the domain.
        rows: what can be asked about each predicate.
        facts: predicate and fact, in any order.
        rejected: the facts that were rejected before.
        answers: what was said about rules before.
    """
    by_predicate: dict[str, list[Fact]] = defaultdict(list)
    for predicate, fact in facts:
        by_predicate[predicate].append(fact)
    given = {"one_value": answers.one_value, "one_way": answers.one_way}
    rules, sections, n_shown = [], [], 0
    for row in rows:
        if not (row.is_asked or row.is_doubtful):
            continue
        if row.is_doubtful and row.rule in _RULES:
            table, question = _RULES[row.rule]
            checked = " checked" if given[table].get(row.iri) else ""
            rules.append(
                f'<li><label><input type="checkbox" data-{table.replace("_", "-")}='
                f'"{_escape(row.iri)}"{checked}> <b>{_escape(row.label)}</b>: {question} '
                f"<small>{_escape(row.support)}</small></label></li>"
            )
        found = sorted(set(by_predicate[row.iri]), key=msgspec.structs.astuple)
        shown = found[: MAX_FACTS - n_shown]
        n_shown += len(shown)
        items = "".join(_render_fact(fact) for fact in shown)
        n_more = len(found) - len(shown)
        more = f"<p>{n_more:,} more are not shown.</p>" if n_more else ""
        count = format_count(len(found), "fact")
        sections.append(f"<h2>{_escape(row.label)} ({count})</h2><ul>{items}</ul>{more}")
    earlier = sorted(set(rejected), key=msgspec.structs.astuple)
    if earlier:
        items = "".join(_render_fact(fact, is_accepted=False) for fact in earlier)
        sections.append(f"<h2>Rejected before</h2><ul>{items}</ul>")
    rule_list = (
        f"<h2>Rules</h2><p>Tick those that are true in the world.</p><ul>{''.join(rules)}</ul>"
        if rules
        else ""
    )
    return _PAGE.replace("@title", _escape(title)).replace("@body", rule_list + "".join(sections))


def _render_fact(fact: Fact, *, is_accepted: bool = True) -> str:
    quote = f"<q>{_escape(to_one_line(fact.quote))}</q>" if fact.quote else ""
    source = f" <small>{_escape(clean_text(fact.chunk_id))}</small>" if fact.chunk_id else ""
    return (
        f'<li><label><input type="checkbox" data-fact="{fact.key}"'
        f"{' checked' if is_accepted else ''}> {_escape(fact.subject)} · "
        f"{_escape(fact.relation)} · {_escape(fact.object)}</label><br>{quote}{source}</li>"
    )


def _escape(text: str) -> str:
    # "@" begins the placeholders of the page.
    return html.escape(text).replace("@", "&#64;")


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Review of @title</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
ul { list-style: none; padding: 0; } li { margin: .5rem 0; overflow-wrap: anywhere; }
q, small { color: #555; } header { position: sticky; top: 0; background: #fff; padding: .5rem 0; }
@media (prefers-color-scheme: dark) {
  body, header { background: #111; color: #eee; } q, small { color: #aaa; }
}
</style></head><body>
<header><h1>Review of @title</h1>
<p>Untick the facts that their quote does not state. Then
<button id="save">save review.json</button>, move the file into this folder,
and run <code>epoche kg init</code> again.
<span id="count" role="status"></span></p></header>
<main>@body</main>
<script>
"use strict";
const facts = [...document.querySelectorAll("[data-fact]")];
function countRejected() {
  const n = facts.filter(box => !box.checked).length;
  document.getElementById("count").textContent = `${n} of ${facts.length} facts rejected.`;
}
function readRules(name) {
  const boxes = [...document.querySelectorAll(`[data-${name}]`)];
  return Object.fromEntries(boxes.map(box => [box.getAttribute(`data-${name}`), box.checked]));
}
document.addEventListener("change", countRejected);
countRejected();
document.getElementById("save").addEventListener("click", () => {
  const review = {
    rejected: facts.filter(box => !box.checked).map(box => box.dataset.fact),
    one_value: readRules("one-value"),
    one_way: readRules("one-way"),
  };
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(review, null, 1)]));
  link.download = "review.json";
  link.click();
});
</script></body></html>
"""
