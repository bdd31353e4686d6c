"""Detects the language of a text by its stop words, without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import resources

MAX_WORDS = 5_000
"""Maximum number of words that are looked up."""
MIN_WORDS = 20
"""Minimum number of words; the language of a shorter text is unknown."""
MIN_SHARE = 0.15
"""Minimum share of stop words. Prose has 0.3 and more, a page of code little."""
MIN_LEAD = 1.2
"""Minimum ratio of the stop words of a language to those of the next."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_KANA = re.compile("[\u3040-\u30ff]")
_IDEOGRAPH = re.compile("[\u4e00-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
# The lists of YAKE are named by languages, with two exceptions.
_CODE_OF_FILE = {"cz": "cs", "br": "", "noLang": "", "ja": "", "zh": ""}


def detect_language(texts: Iterable[str]) -> str:
    """Returns the code of a text's language, such as ``de``; empty if it is not clear.

    Japanese, Chinese and Korean are known by their characters. Other languages are those of YAKE's
    lists of stop words, which the keywords are extracted with.

    Args:
        texts: the paragraphs of one document.
    """
    words: list[str] = []
    sample = []
    for text in texts:
        sample.append(text[:MAX_WORDS])
        words += _WORD.findall(text.casefold())
        if len(words) >= MAX_WORDS:
            break
    script = _detect_script("".join(sample))
    if script or len(words) < MIN_WORDS:
        return script
    words = words[:MAX_WORDS]
    languages = _load_languages()
    scores: Counter[str] = Counter()
    for word, count in Counter(words).items():
        for language in languages.get(word, ()):
            scores[language] += count
    (best, score), (_, next_score) = [*scores.most_common(2), ("", 0), ("", 0)][:2]
    if score >= MIN_SHARE * len(words) and score >= MIN_LEAD * next_score:
        return best
    return ""


def _detect_script(text: str) -> str:
    letters = sum(map(str.isalpha, text))
    counts = {
        "ja": len(_KANA.findall(text)),
        "ko": len(_HANGUL.findall(text)),
        "zh": len(_IDEOGRAPH.findall(text)),
    }
    # Japanese has ideographs too, so any fair share of kana decides first.
    if counts["ja"] > 0.1 * letters:
        return "ja"
    return next((code for code in ("ko", "zh") if counts[code] > 0.3 * letters), "")


@cache
def _load_languages() -> dict[str, tuple[str, ...]]:
    """Returns word → the languages whose stop words it is among."""
    languages: dict[str, list[str]] = {}
    for file in resources.files("yake.core").joinpath("StopwordsList").iterdir():
        name = file.name.removeprefix("stopwords_").removesuffix(".txt")
        code = _CODE_OF_FILE.get(name, name)
        if code:
            text = file.read_bytes().decode("utf-8", "replace")
            for word in dict.fromkeys(text.casefold().split("\n")):
                languages.setdefault(word.strip(), []).append(code)
    return {word: tuple(sorted(codes)) for word, codes in languages.items() if word}
