"""The main concepts of a run: those that its text is about."""

import pytest

from kg.text.chunks import Chunk
from kg.text.concepts.linker import link_concepts
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.run.main_concepts import list_subject_chunks, load_common_words, rank_concepts


def rank(texts: dict[str, list[str]], headings: tuple[str, ...] = ()) -> list[str]:
    """Ranks concepts of texts, each with its keywords; ``headings`` are above all of them."""
    chunks = [
        Chunk(str(number), text, {"section_path": list(headings), "language": "en"})
        for number, text in enumerate(texts)
    ]
    rows = [
        ChunkKeywords(chunk.id, tuple(keywords))
        for chunk, keywords in zip(chunks, texts.values(), strict=True)
    ]
    return rank_concepts(link_concepts(rows), chunks)


ADJECTIVES = ("old", "new", "small", "large", "first", "last")


def test_words_count_only_where_they_stand_alone() -> None:
    keywords = ["user", "user agent", "cookie"]
    texts = {f"An {word} user agent keeps {word} cookies.": keywords for word in ADJECTIVES}
    assert rank(texts) == ["user agent", "cookie", "user"]
    alone = {f"An {word} cookie tells user {word}.": ["user", "cookie"] for word in ADJECTIVES}
    more = {f"A user of {word} things, {word} user, waits.": ["user"] for word in ADJECTIVES}
    assert rank({**texts, **alone, **more}) == ["user", "cookie", "user agent"]


def test_phrases_of_a_single_chunk_hide_no_words() -> None:
    texts = {f"A cookie {number} is set.": ["cookie"] for number in range(3)}
    texts["A stale cookie jar leaks."] = ["cookie", "stale cookie jar"]
    assert rank(texts)[0] == "cookie"
    # The words of a phrase count from its second use: a phrase used once may be any words.
    jars = {f"A {word} cookie jar {word}.": ["cookie", "cookie jar"] for word in ADJECTIVES[:2]}
    assert rank(jars) == ["cookie jar", "cookie"]
    assert rank({"A stale cookie jar leaks.": ["cookie", "cookie jar"]}) == ["cookie", "cookie jar"]


def test_parts_of_longer_names_come_after_others() -> None:
    keywords = ["GNU General Public", "zebra"]
    texts = {f"The {w} GNU General Public License, a {w} zebra {w}.": keywords for w in ADJECTIVES}
    assert rank(texts) == ["zebra", "gnu general public"]


def test_heads_of_tables_and_repeated_sentences_come_after_others() -> None:
    keywords = ["mode bit meaning", "client field", "zebra"]
    repeated = "Mode Bit Meaning Example\n\nThe client field holds a client."
    texts = {f"{repeated} A {word} zebra {word}.": keywords for word in ADJECTIVES}
    assert rank(texts)[0] == "zebra"


def test_names_before_numbers_have_one_neighbour() -> None:
    texts = {
        f"{word} RFC {number} says {word} zebra {word}.": ["RFC", "zebra"]
        for number, word in enumerate(ADJECTIVES, 793)
    }
    assert rank(texts) == ["zebra", "rfc"]


def test_arguments_of_calls_are_no_uses() -> None:
    texts = {f"A {w} tab {w}. Call write({w}, zebra, {w}).": ["tab", "zebra"] for w in ADJECTIVES}
    assert rank(texts) == ["tab", "zebra"]


def test_names_of_functions_are_uses() -> None:
    texts = {f"{w}: malloc({w}) {w}; a tab.": ["malloc", "tab"] for w in ADJECTIVES}
    assert rank(texts) == ["malloc", "tab"]


def test_participles_count_if_a_heading_names_them() -> None:
    texts = {f"{w} named {w} has {w} zebra {w}.": ["named", "zebra"] for w in ADJECTIVES[:4]}
    more = {f"{w} named {w}.": ["named"] for w in ADJECTIVES}
    assert rank({**texts, **more}) == ["zebra", "named"]
    assert rank({**texts, **more}, ("Running named",)) == ["named", "zebra"]


def test_licences_do_not_count_unless_they_are_the_text() -> None:
    chunks, rows = [], []
    for number, (heading, keyword) in enumerate(
        [("Zebras", "zebra")] * 4 + [("Appendix A: GNU General Public License", "work")] * 3
    ):
        word = ADJECTIVES[number % len(ADJECTIVES)]
        text = f"The {word} {keyword} {word}. This {keyword} of {word}."
        chunks.append(Chunk(str(number), text, {"section_path": [heading], "language": "en"}))
        rows.append(ChunkKeywords(str(number), (keyword,)))
    concepts = link_concepts(rows)
    assert rank_concepts(concepts, chunks) == ["zebra", "work"]
    assert rank_concepts(link_concepts(rows[3:]), chunks[3:])[0] == "work"


@pytest.mark.parametrize(
    ("heading", "is_counted"),
    [
        ("GNU GENERAL PUBLIC LICENSE", False),
        ("Table of Contents", False),
        ("12.1. Normative References", False),
        ("Appendix B. Acknowledgements", False),
        ("Status of This Memo", False),
        ("Function Index", False),
        ("Hash Index", True),
        ("Licensing of Plugins", True),
        ("History", True),
        ("Zebras", True),
        ("MIT License", False),
        ("Appendix C: The BSD 3-Clause License", False),
        ("Apache License, Version 2.0", False),
        ("GNU Free Documentation License", False),
        ("Creating a License", True),
        ("Issue and revoke client licenses", True),
        ("Copyright Notice", False),
        ("Copyright considerations", True),
        ("Appendix C: References", False),
        ("A References", False),
        ("References", True),
        ("Copying", True),
    ],
)
def test_what_is_beside_the_subject_is_known_by_its_heading(heading: str, is_counted: bool) -> None:
    metadata = {"section_path": [heading], "language": "en"}
    texts = [f"The {word} zebra {word}." for word in ADJECTIVES]
    chunks = [Chunk(str(n), text, metadata) for n, text in enumerate(texts)]
    other = [Chunk(f"o{n}", f"The {w} atom {w}.", {}) for n, w in enumerate(ADJECTIVES[:5])]
    many = [Chunk(f"p{n}", "Nothing else is here.", {}) for n in range(6)]
    rows = [
        *(ChunkKeywords(chunk.id, ("zebra",)) for chunk in chunks),
        *(ChunkKeywords(chunk.id, ("atom",)) for chunk in other),
    ]
    first = rank_concepts(link_concepts(rows), [*chunks, *other, *many])[0]
    assert (first == "zebra") is is_counted


def list_counted(*paths: str, document: str = "a") -> list[str]:
    """Returns those of the headings of a document, joined by ">", whose chunks count."""
    chunks = [
        Chunk(path, "A zebra.", {"section_path": path.split(">"), "document": document})
        for path in paths
    ]
    others = [Chunk(str(number), "A zebra.", {}) for number in range(len(paths))]
    counted = list_subject_chunks([*chunks, *others])
    return [chunk.id.split(">")[-1] for chunk in counted if chunk in chunks]


def test_references_indexes_and_copying_are_beside_the_subject_at_the_ends() -> None:
    assert list_counted("Copying", "Contents", "1. Use", "2. Tools", "References", "Index") == [
        "1. Use",
        "2. Tools",
    ]
    assert list_counted("1. Types", "2. References", "3. Copying", "4. Use") == [
        "1. Types",
        "2. References",
        "3. Copying",
        "4. Use",
    ]
    titled = ["C++", "C++>1. Use", "C++>1. Use>References", "C++>8. References", "C++>Appendix A"]
    assert list_counted(*titled) == ["C++", "1. Use", "References", "Appendix A"]
    assert list_counted("Index", "Index>A", document="doc/genindex") == []
    assert list_counted("Index", "Index>A", document="doc/08-indexes") == ["Index", "A"]


def test_words_of_any_documentation_come_after_others() -> None:
    assert load_common_words()["default"] > 0.1
    texts = {f"The default {number} of the colormap.": ["default", "colormap"] for number in (1, 2)}
    others = {f"Nothing {number} is said here.": list[str]() for number in range(8)}
    assert rank({**texts, **others}) == ["colormap", "default"]


def test_headings_say_what_a_text_is_about() -> None:
    texts = {f"An atom {number} and a zebra.": ["atom", "zebra"] for number in range(3)}
    assert rank(texts) == ["atom", "zebra"]
    assert rank(texts, ("Zebra",)) == ["zebra", "atom"]
