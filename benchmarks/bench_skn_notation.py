"""Checks that reading and writing SKN takes linear time for any text.

    python benchmarks/bench_skn_notation.py --characters 1000000

Hostile texts of a quarter, half and all of the length are parsed, strictly and tolerantly. The
table lists the time for the full text, and its ratio to the time for half the text: about 2 if the
time is linear, 4 if it is quadratic. A second table compares the time to read ordinary documents
as SKN with the time to read them as typed JSON. All times are CPU times, best of several runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from eval.skn.grammar.document import CausalLink, Document, Fact, Risk, Source
from eval.skn.grammar.typed_json import from_json, read_json, to_json
from eval.skn.notation import parse, serialize, try_parse

HEAD = "[SKN]\n@src web | fresh:high | reliability:0.5\n"
TAIL = "\n[/SKN]"
FACTS, CAUSAL, GAPS = f"{HEAD}@facts\n", f"{HEAD}@facts\n@causal\n", f"{HEAD}@facts\n@gaps\n"
HOSTILE_TEXTS: dict[str, tuple[str, str, str]] = {
    "one letter": ("", "a", ""),
    "line breaks": (HEAD, "\n", TAIL),
    "carriage returns": ("", "\r", ""),
    "blocks opened": ("", "[SKN]\n", ""),
    "blocks closed": ("", "[/SKN]\n", ""),
    "blocks": ("", FACTS + TAIL[1:] + "\n", ""),
    "brackets, spaces": ("", "[     ", ""),
    "one bracket, spaces": ("[", " ", ""),
    "fence, spaces": ("```", " ", "x"),
    "sections": (HEAD, "@facts\n", TAIL),
    "sources": ("[SKN]\n", "@src web | fresh:high | reliability:0.5\n", TAIL),
    "source on many lines": (HEAD, " fresh:\n", TAIL),
    "source in one line": ("[SKN]\n@src ", "fresh:high | ", f"\n@facts{TAIL}"),
    "domain of quotes": ("[SKN]\n@src ", '"\\', f"\n@facts{TAIL}"),
    "risk, keys": (f"{HEAD}@facts\n@risk ", "misdirection: ", TAIL),
    "unknown sections": (HEAD, "@x\n  - y\n", TAIL),
    "heading, spaces": (HEAD + "facts", " ", "x" + TAIL),
    "source, spaces": ("src", " ", "x\n@facts"),
    "facts": (FACTS, '  ! "a" [0.5]\n', TAIL),
    "facts without quotes": (FACTS, "! a\n", TAIL),
    "quotes not closed": (FACTS, '! "a\nb\n', TAIL),
    "lines of one quote": (FACTS, '"\n', TAIL),
    "fact of quotes": (FACTS + "  ! ", '"', TAIL),
    "fact of escapes": (FACTS + '  ! "', '\\"', TAIL),
    "fact of bad escapes": (FACTS + '  ! "', "\\x", f'" [0.5]{TAIL}'),
    "fact of backslashes": (FACTS + "  ! ", '"\\', TAIL),
    "fact of brackets": (FACTS + "  ! x ", "[", TAIL),
    "fact of scores": (FACTS + "  ! x ", " [0.5]", TAIL),
    "fact of parentheses": (FACTS + '  ! "x" ', "(", TAIL),
    "fact, then spaces": (FACTS + '  ! "x"', " ", "y" + TAIL),
    "score of digits": (FACTS + '  ! "x" [0.', "9", f"]{TAIL}"),
    "score of spaces": (FACTS + '  ! "x" [confidence', " ", f"x]{TAIL}"),
    "signs": (FACTS, "! ", TAIL),
    "bullets": (FACTS, "- ", TAIL),
    "dots": (FACTS, ".", TAIL),
    "arrows": (CAUSAL, "->", TAIL),
    "spaced arrows": (CAUSAL + "  a", " -> a", f" [0.5]{TAIL}"),
    "arrows and quotes": (CAUSAL + "  ", '" -> ', TAIL),
    "arrows in escapes": (CAUSAL + '  "', '\\" -> ', TAIL),
    "dashes": (CAUSAL + "  ", "-", TAIL),
    "gaps": (GAPS, "- x\n", TAIL),
    "controls": (GAPS + "  - ", "\x00", TAIL),
    "line separators": (GAPS + "  - ", "\u2028", TAIL),
    "surrogates": (GAPS + "  - ", "\ud800", TAIL),
    "markers of emphasis": ("", "*", "[SKN]"),
    "at signs": (HEAD, "@", TAIL),
}
"""Name → the text before the repeated part, the repeated part, and the text after it."""


def time_action(action: Callable[[], object], rounds: int) -> float:
    """Returns the CPU seconds of ``action``, the best of ``rounds``, without garbage collection."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
        gc.enable()
    return best


def make_hostile_text(name: str, characters: int) -> str:
    """Makes a hostile text of about ``characters`` characters."""
    before, repeated_part, after = HOSTILE_TEXTS[name]
    repeats = max(1, (characters - len(before) - len(after)) // len(repeated_part))
    return before + repeated_part * repeats + after


def make_document(facts: int) -> Document:
    """Makes an SKN document with ``facts`` facts and a quarter as many causal links and gaps."""
    return Document(
        Source("database documentation", "high", 0.85),
        tuple(
            Fact("!", f'Key {number} is read by "client {number % 7}" at night', 0.9)
            for number in range(facts)
        ),
        tuple(CausalLink(f"a slow disk {n}", f"a late reply {n}", 0.7) for n in range(facts // 4)),
        tuple(f"how large the key {n} is" for n in range(facts // 4)),
        Risk("low", "medium"),
    )


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--characters", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    flags = parser.parse_args()
    sizes = [flags.characters // 4, flags.characters // 2, flags.characters]
    worst_time = worst_ratio = 0.0
    print(
        f"| hostile text of {flags.characters} characters | strict s | tolerant s "
        "| ratio to half the text |"
    )
    print("|---|---|---|---|")
    for name in HOSTILE_TEXTS:
        texts = [make_hostile_text(name, size) for size in sizes]
        strict = time_action(lambda text=texts[-1]: try_parse(text), flags.rounds)  # type: ignore[misc]
        times = [
            time_action(lambda text=text: try_parse(text, strict=False), flags.rounds)  # type: ignore[misc]
            for text in texts
        ]
        # Times below 5 ms are too inaccurate for a ratio.
        ratio = times[2] / times[1] if times[1] > 0.005 else float("nan")
        worst_time = max(worst_time, strict, times[2])
        worst_ratio = max(worst_ratio, ratio if ratio == ratio else 0.0)
        print(f"| {name} | {strict:.3f} | {times[2]:.3f} | {ratio:.1f} |")
    print(
        f"\nlongest time: {worst_time:.2f} s; "
        f"largest ratio to the time of half the text: {worst_ratio:.1f}\n"
    )
    compare_ordinary_documents(flags.rounds)


def compare_ordinary_documents(rounds: int) -> None:
    """Compares documents of ordinary and large size with typed JSON through ``json``."""
    print("| facts | characters | parse | serialize | typed JSON: read | bare json.loads |")
    print("|---|---|---|---|---|---|")
    for facts in (8, 1_000, 10_000):
        document = make_document(facts)
        text, raw = serialize(document), json.dumps(to_json(document))
        if parse(text) != document or from_json(json.loads(raw)) != document:
            raise SystemExit("a document changed when it was written as SKN or JSON and read back")
        repeats = max(1, 2_000 // facts)
        actions = (
            lambda text=text: parse(text),
            lambda document=document: serialize(document),
            lambda raw=raw: read_json(raw),
            lambda raw=raw: json.loads(raw),
        )
        cells = []
        for action in actions:
            seconds = time_action(lambda act=action, n=repeats: [act() for _ in range(n)], rounds)  # type: ignore[misc]
            cells.append(f"{seconds / repeats * 1000:.3f} ms")
        print(f"| {facts} | {len(text)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
