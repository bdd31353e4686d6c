"""Lists the keywords that `epoche kg build` merged, and measures how many a reader finds right.

    epoche kg build borgbackup-1.4.5/docs --out run
    python benchmarks/list_merges.py run --out merges.tsv
    python benchmarks/list_merges.py run --judged benchmarks/merges/borgbackup-1.4.5.tsv

A row has the name of the concept, the merged keyword, the number of chunks that have it, and what
merged it: a rule of ``kg.text.canonical``, or that both have one normal form ("case", "plural",
"hyphen"). The reader writes "right" or "wrong" into the last column, as ``--judged`` needs it.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kg.text.canonical.rules import judge_pair
from kg.text.run.folder import Run, open_run
from kg.words.normaliser import normalise_phrase, split_words

NORMAL_FORM = ("case", "plural", "hyphen")
"""What merged keywords of one normal form, before any rule was asked."""
RARE = 3
"""Keywords with fewer mentions may be judged in a sample."""


class Merge(NamedTuple):
    """One keyword that was merged into a concept."""

    name: str
    keyword: str
    mentions: int
    rule: str


def list_merges(run: Run) -> Iterator[Merge]:
    """Yields the merged keywords of a run, the most frequent of each concept not among them."""
    assert run.table is not None
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in run.keywords:
        for keyword in row.keywords:
            spellings[normalise_phrase(keyword)][keyword] += 1
    spellings.pop("", None)
    labels = {form: _find_commonest(counts) for form, counts in spellings.items()}
    forms_of_concept: defaultdict[str, list[str]] = defaultdict(list)
    for form, concept in run.table.forms.items():
        forms_of_concept[concept].append(form)
    for concept, forms in forms_of_concept.items():
        name = run.table.labels[concept]
        for form in forms:
            for spelling, count in spellings[form].items():
                if spelling != labels[form]:
                    rule = _compare_spellings(spelling, labels[form])
                    yield Merge(labels[form], spelling, count, rule)
            if form != concept:
                others = [labels[other] for other in [concept, *forms] if other != form]
                rule = _find_rule(labels[form], others)
                yield Merge(name, labels[form], spellings[form].total(), rule)


def _find_commonest(counts: Counter[str]) -> str:
    return min(counts, key=lambda spelling: (-counts[spelling], spelling))


def _compare_spellings(spelling: str, other: str) -> str:
    """Names the difference of two spellings with the same normal form."""
    if spelling.casefold() == other.casefold():
        return "case"
    return "hyphen" if split_words(spelling) == split_words(other) else "plural"


def _find_rule(keyword: str, others: Sequence[str]) -> str:
    """Returns the rule by which a keyword is a synonym of one of the others."""
    for other in others:
        judgement = judge_pair(keyword, other)
        if judgement.is_synonym:
            return judgement.reason
    return "acronym"  # a longer keyword with it, or one that only the text explains


def measure_precision(merges: Sequence[Merge], verdicts: Mapping[tuple[str, str], str]) -> None:
    """Prints for each kind of merge how much is right, weighted by mentions, and what is wrong."""
    for kind in ("acronym", "synonym", "one normal form"):
        of_kind = [merge for merge in merges if classify_rule(merge.rule) == kind]
        right = total = 0.0
        # What is rare may be judged in a sample only, which then stands for all that is.
        for is_rare in (False, True):
            rows = [merge for merge in of_kind if (merge.mentions < RARE) == is_rare]
            judged = [merge for merge in rows if merge[:2] in verdicts]
            good = [merge for merge in judged if verdicts[merge[:2]] == "right"]
            if judged:
                mentions = sum(merge.mentions for merge in rows)
                total += mentions
                right += mentions * sum(g.mentions for g in good) / sum(j.mentions for j in judged)
        read = [merge for merge in of_kind if merge[:2] in verdicts]
        print(f"{kind}: {len(of_kind)} merges, {len(read)} read, {total:.0f} mentions", end="")
        print(f", {right / total:.3f} right" if total else "")
        for merge in sorted(read, key=lambda merge: -merge.mentions):
            if verdicts[merge[:2]] == "wrong":
                print(f"    {merge.name} ≠ {merge.keyword} ({merge.mentions}, {merge.rule})")


def classify_rule(rule: str) -> str:
    """Returns the kind of merge that a rule makes."""
    return (
        "one normal form" if rule in NORMAL_FORM else "acronym" if rule == "acronym" else "synonym"
    )


def main() -> None:
    """Lists the merges of a run, or measures them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of `epoche kg build`")
    parser.add_argument("--out", type=Path, help="TSV of the merges")
    parser.add_argument("--judged", type=Path, help="the same TSV of merges that a reader judged")
    flags = parser.parse_args()
    merges = sorted(
        list_merges(open_run(flags.run)), key=lambda merge: (merge.rule, -merge.mentions, merge)
    )
    if flags.out:
        with flags.out.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow((*Merge._fields, "verdict"))
            writer.writerows((*merge, "") for merge in merges)
    if flags.judged:
        with flags.judged.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL))
        measure_precision(merges, {(row["name"], row["keyword"]): row["verdict"] for row in rows})


if __name__ == "__main__":
    main()
