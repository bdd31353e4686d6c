"""Hypothesis strategies for SKN documents and for damaged texts of them."""

from __future__ import annotations

from hypothesis import strategies as st

from eval.skn.grammar.document import LEVELS, PRIORITIES, CausalLink, Document, Fact, Risk, Source

HOSTILE_PIECES = (
    *('"', '\\"', "\\", "->", " -> ", "→", "[", "]", " [0.5]", "|", " | ", "[SKN]", "[/SKN]"),
    *("@src", "@facts", "@causal", "@gaps", "@risk", "@notes", "!", ".", "~", "- ", "  ", "\t"),
    *("\n", "\r\n", "\r", "\n\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x00", "\x1b[31m"),
    *("\ufeff", "\u00a0", "\u202e", "\u3000", "\U0001f600", "\u0301", "nan", "1e999", "-0.0"),
    *("0." + "9" * 500, "9" * 5000, "\\u0000", "\\ud800", "```", "“", "”", "fresh:", "high", "%"),
)
"""Texts that are difficult for a parser."""

_fragments = st.one_of(
    st.text(max_size=12), st.sampled_from(HOSTILE_PIECES), st.sampled_from("abc xyz")
)
nonblank_texts = (
    st.lists(_fragments, min_size=1, max_size=5).map("".join).filter(lambda text: text.strip())
)
units = st.one_of(
    st.floats(0, 1),
    st.integers(0, 100).map(lambda percent: percent / 100),
    st.sampled_from((0.0, -0.0, 1.0, 5e-324, 1e-7, 0.1 + 0.2, 1 - 2**-53)),
)
"""Numbers from 0 to 1, such as confidences; some are hard to write exactly."""
levels = st.sampled_from(LEVELS)
documents = st.builds(
    Document,
    st.builds(Source, nonblank_texts, levels, units),
    st.lists(st.builds(Fact, st.sampled_from(PRIORITIES), nonblank_texts, units), max_size=4).map(
        tuple
    ),
    st.none()
    | st.lists(st.builds(CausalLink, nonblank_texts, nonblank_texts, units), max_size=3).map(tuple),
    st.none() | st.lists(nonblank_texts, max_size=3).map(tuple),
    st.none() | st.builds(Risk, levels, levels),
)
"""Documents of every kind, hostile texts included."""

_plain_text = st.from_regex(r"[a-z]{2,8}( [a-z]{2,8}){0,4}", fullmatch=True)
plain_documents = st.builds(
    Document,
    st.builds(Source, _plain_text, levels, units),
    st.lists(st.builds(Fact, st.sampled_from(PRIORITIES), _plain_text, units), max_size=3).map(
        tuple
    ),
    st.none()
    | st.lists(st.builds(CausalLink, _plain_text, _plain_text, units), max_size=3).map(tuple),
    st.none() | st.lists(_plain_text, max_size=3).map(tuple),
    st.none() | st.builds(Risk, levels, levels),
)
"""Documents of plain words, which are unambiguous in any layout."""

REDIS = Document(
    Source("database documentation", "high", 0.85),
    (
        Fact("!", "Redis runs commands on one thread", 0.95),
        Fact(".", 'KEYS is O(n) and "blocks" others', 0.9),
        Fact("~", "SCAN would not have blocked", 0.6),
    ),
    (CausalLink("KEYS on a large keyspace", "latency of all clients", 0.8),),
    ("how many keys there are",),
    Risk("low", "medium"),
)
"""A document with every kind of entry."""


@st.composite
def mutated_text(draw: st.DrawFn, text: str) -> str:
    """Draws ``text`` with a few pieces removed, doubled, case-swapped or made hostile."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        replacement = draw(
            st.one_of(
                st.just(""),
                st.sampled_from(HOSTILE_PIECES),
                st.just(text[start:end] * 2),
                st.just(text[start:end].swapcase()),
            )
        )
        text = text[:start] + replacement + text[end:]
    return text
