"""Removes thoughts, quotations, markup and control tokens from a reply."""

from __future__ import annotations

import re
import unicodedata

_THOUGHT_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
# Most models write tags, Mistral's brackets, and OpenAI's gpt-oss names of channels.
_FINAL_CHANNEL = (
    r"<\|channel\|>\s{0,3}final\b[^<\n]{0,80}(?:<\|constrain\|>[^<\n]{0,40})?<\|message\|>"
)
THOUGHT_START = (
    rf"<\s{{0,3}}(?:{_THOUGHT_NAMES})\s{{0,3}}>|\[THINK\]"
    r"|<\|channel\|>\s{0,3}analysis\b[^<\n]{0,80}<\|message\|>"
)
"""Pattern of what begins a thought, whatever the case of its letters."""
THOUGHT_END = rf"</\s{{0,3}}(?:{_THOUGHT_NAMES})\s{{0,3}}>|\[/THINK\]|{_FINAL_CHANNEL}"
"""Pattern of what ends a thought, whatever the case of its letters."""
_THOUGHT_TAG = re.compile(
    rf"(?P<final>{_FINAL_CHANNEL})|(?P<end>{THOUGHT_END})|{THOUGHT_START}", re.IGNORECASE
)
_CONTROL_TOKEN = re.compile(r"<\|[^|<>\n]{0,40}\|>|</?s>|\[/?INST\]|<(?:end|start)_of_turn>")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s{0,3}\{([^{}\n]{0,100})\}")
# A quotation is the text between quotation marks of one kind on one line.
_QUOTATIONS = re.compile(
    r"\"([^\"\n]{1,600})\"|“([^“”\n]{1,600})”|«([^«»\n]{1,600})»|„([^„“”\n]{1,600})[“”]"
    r"|「([^「」\n]{1,600})」|『([^『』\n]{1,600})』|‹([^‹›\n]{1,600})›"
)
_QUOTED_LINE = re.compile(r"^[ \t]{0,3}>[^\n]*$", re.MULTILINE)
_ABBREVIATED_ANSWER = re.compile(r"^[ \t]{0,9}(?:A|Ans\.?)[ \t]{0,3}:", re.MULTILINE)
_EMPHASIS = re.compile(r"[*_`#~]{1,3}")
_MAX_QUOTED_WORDS = 3
"""Maximum number of words of a quotation that may be the answer itself ("no", "I don't know")."""


def normalise_text(text: str) -> str:
    """Normalises to NFKC (full-width letters become plain ones) without invisible characters."""
    text = unicodedata.normalize("NFKC", text)
    if text.isascii():
        return text.replace("\r", "\n")
    text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cf", "Cs"))
    for mark in "’ʼ‘′`´":
        text = text.replace(mark, "'")
    return text.replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")


def remove_thoughts(text: str) -> str:
    """Removes the thoughts of reasoning models, and control tokens.

    If a model marks a final channel, everything before it is removed. A closing tag without an
    opening one ends a thought that began in the prompt, so everything before it is removed. An
    opening tag without a closing one begins a thought that was cut off, so everything after it is
    removed.
    """
    parts: list[str] = []
    start, in_thought = 0, False
    for tag in _THOUGHT_TAG.finditer(text):
        if tag["final"] or tag["end"]:
            if tag["final"] or not in_thought:
                parts.clear()
            start, in_thought = tag.end(), False
        elif not in_thought:
            parts.append(text[start : tag.start()])
            in_thought = True
    if not in_thought:
        parts.append(text[start:])
    return _CONTROL_TOKEN.sub(" ", "\n".join(parts))


def remove_quotations(text: str) -> str:
    """Removes quoted lines, and quotations that are long or contain a question."""
    return _QUOTATIONS.sub(_replace_quotation, _QUOTED_LINE.sub("", text))


def _replace_quotation(match: re.Match[str]) -> str:
    quoted_text = match.group(match.lastindex or 0)
    if len(quoted_text.split()) > _MAX_QUOTED_WORDS or any(mark in quoted_text for mark in "?？؟"):
        return " … "
    return f" {quoted_text} "


def remove_markup(text: str) -> str:
    """Removes marks of emphasis, headings and code, and writes out "A:" as "Answer:"."""
    return _ABBREVIATED_ANSWER.sub("Answer:", _EMPHASIS.sub("", text))


def remove_latex(text: str) -> str:
    """Replaces LaTeX's text commands by their content."""
    return _LATEX_TEXT.sub(r"\1", text)
