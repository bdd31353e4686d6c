"""SKN documents and texts to try readers with: any that there can be, and some as models write."""

from __future__ import annotations

from hypothesis import strategies as st

from eval.skn.grammar.document import LEVELS, PRIORITIES, CausalLink, Document, Fact, Risk, Source

NASTY = (
    *('"', '\\"', "\\", "->", " -> ", "→", "[", "]", " [0.5]", "|", " | ", "[SKN]", "[/SKN]"),
    *("@src", "@facts", "@causal", "@gaps", "@risk", "@notes", "!", ".", "~", "- ", "  ", "\t"),
    *("\n", "\r\n", "\r", "\n\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x00", "\x1b[31m"),
    *("\ufeff", "\u00a0", "\u202e", "\u3000", "\U0001f600", "\u0301", "nan", "1e999", "-0.0"),
    *("0." + "9" * 500, "9" * 5000, "\\u0000", "\\ud800", "```", "“", "”", "fresh:", "high", "%"),
)
"""What readers stumble over."""

_fragments = st.one_of(st.text(max_size=12), st.sampled_from(NASTY), st.sampled_from("abc xyz"))
words = st.lists(_fragments, min_size=1, max_size=5).map("".join).filter(lambda text: text.strip())
units = st.one_of(
    st.floats(0, 1),
    st.integers(0, 100).map(lambda percent: percent / 100),
    st.sampled_from((0.0, -0.0, 1.0, 5e-324, 1e-7, 0.1 + 0.2, 1 - 2**-53)),
)
levels = st.sampled_from(LEVELS)
documents = st.builds(
    Document,
    st.builds(Source, words, levels, units),
    st.lists(st.builds(Fact, st.sampled_from(PRIORITIES), words, units), max_size=4).map(tuple),
    st.none() | st.lists(st.builds(CausalLink, words, words, units), max_size=3).map(tuple),
    st.none() | st.lists(words, max_size=3).map(tuple),
    st.none() | st.builds(Risk, levels, levels),
)
"""Every kind of document there can be."""

_easy = st.from_regex(r"[a-z]{2,8}( [a-z]{2,8}){0,4}", fullmatch=True)
easy_documents = st.builds(
    Document,
    st.builds(Source, _easy, levels, units),
    st.lists(st.builds(Fact, st.sampled_from(PRIORITIES), _easy, units), max_size=3).map(tuple),
    st.none() | st.lists(st.builds(CausalLink, _easy, _easy, units), max_size=3).map(tuple),
    st.none() | st.lists(_easy, max_size=3).map(tuple),
    st.none() | st.builds(Risk, levels, levels),
)
"""Documents of plain words, which no other layout could make unclear."""

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


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """``text`` with a few pieces cut out, doubled, moved, or replaced by what readers dislike."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        other = draw(
            st.one_of(
                st.just(""),
                st.sampled_from(NASTY),
                st.just(text[start:end] * 2),
                st.just(text[start:end].swapcase()),
            )
        )
        text = text[:start] + other + text[end:]
    return text
