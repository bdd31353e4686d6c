"""The main concepts of a run: those that its text is about."""

from kg.text.chunks import Chunk
from kg.text.concepts.linker import link_concepts
from kg.text.keywords.protocol import ChunkKeywords
from kg.text.run.main_concepts import load_common_words, rank_concepts


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


def test_words_count_only_where_they_stand_alone() -> None:
    keywords = ["user", "user agent", "cookie"]
    texts = {f"The user agent sends cookie {number}.": keywords for number in range(4)}
    assert rank(texts) == ["user agent", "cookie", "user"]
    alone = {f"Cookie {number} tells the user to wait.": ["user", "cookie"] for number in range(9)}
    assert rank({**texts, **alone}) == ["cookie", "user", "user agent"]


def test_phrases_of_a_single_chunk_hide_no_words() -> None:
    texts = {f"A cookie {number} is set.": ["cookie"] for number in range(3)}
    texts["A stale cookie jar leaks."] = ["cookie", "stale cookie jar"]
    assert rank(texts)[0] == "cookie"
    assert rank({"A stale cookie jar leaks.": ["cookie", "cookie jar"]})[0] == "cookie jar"


def test_words_of_any_documentation_come_after_others() -> None:
    assert load_common_words()["default"] > 0.1
    texts = {f"The default {number} of the colormap.": ["default", "colormap"] for number in (1, 2)}
    others = {f"Nothing {number} is said here.": list[str]() for number in range(8)}
    assert rank({**texts, **others}) == ["colormap", "default"]


def test_headings_say_what_a_text_is_about() -> None:
    texts = {f"An atom {number} and a zebra.": ["atom", "zebra"] for number in range(3)}
    assert rank(texts) == ["atom", "zebra"]
    assert rank(texts, ("Zebra",)) == ["zebra", "atom"]
