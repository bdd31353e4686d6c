"""Takes out of a reply what is not the reply: thoughts, quotations, markup, control tokens."""

from __future__ import annotations

import re
import unicodedata

_FINAL_CHANNEL = "<|channel|>final<|message|>"
_THOUGHT = re.compile(
    r"<(?P<close>/?)\s*(?:think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad)\s*>",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"<\|[^|<>\n]{0,40}\|>|</?s>|\[/?INST\]|<(?:end|start)_of_turn>")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s{0,3}\{([^{}\n]{0,100})\}")
# A quotation is the text between marks of one kind on one line.
_QUOTATIONS = re.compile(
    r"\"([^\"\n]{1,600})\"|“([^“”\n]{1,600})”|«([^«»\n]{1,600})»|„([^„“”\n]{1,600})[“”]"
    r"|「([^「」\n]{1,600})」|『([^『』\n]{1,600})』|‹([^‹›\n]{1,600})›"
)
_QUOTED_LINE = re.compile(r"^[ \t]{0,3}>[^\n]*$", re.MULTILINE)
_SHORT_MARK = re.compile(r"^[ \t]{0,9}(?:A|Ans\.?)[ \t]{0,3}:", re.MULTILINE)
_EMPHASIS = re.compile(r"[*_`#~]{1,3}")
_MAX_QUOTED_ANSWER = 3
"""Words a quotation may have and still be the answer itself ("no", "I don't know")."""


def normalised(text: str) -> str:
    """NFKC (full-width letters become plain ones), without invisible characters."""
    text = unicodedata.normalize("NFKC", text)
    if text.isascii():
        return text.replace("\r", "\n")
    text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cf", "Cs"))
    for mark in "’ʼ‘′`´":
        text = text.replace(mark, "'")
    return text.replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")


def without_thoughts(text: str) -> str:
    """The reply without what the model thought aloud.

    A closing tag without an opening one ends a thought that began with the prompt; an opening one
    without a closing one begins a thought that was cut off, so that nothing follows it.
    """
    channel = text.rfind(_FINAL_CHANNEL)
    if channel >= 0:
        text = text[channel + len(_FINAL_CHANNEL) :]
    kept: list[str] = []
    start, thinking = 0, False
    for tag in _THOUGHT.finditer(text):
        if tag["close"]:
            if not thinking:
                kept.clear()
            start, thinking = tag.end(), False
        elif not thinking:
            kept.append(text[start : tag.start()])
            thinking = True
    if not thinking:
        kept.append(text[start:])
    return _CONTROL.sub(" ", "\n".join(kept))


def without_quotations(text: str) -> str:
    """The reply in its own words: quoted lines and longer or asking quotations left out."""
    return _QUOTATIONS.sub(_quoted, _QUOTED_LINE.sub("", text))


def _quoted(match: re.Match[str]) -> str:
    inside = match.group(match.lastindex or 0)
    if len(inside.split()) > _MAX_QUOTED_ANSWER or any(mark in inside for mark in "?？؟"):
        return " … "
    return f" {inside} "


def without_markup(text: str) -> str:
    """The reply without emphasis, headings and code marks, and with "A:" written out."""
    return _SHORT_MARK.sub("Answer:", _EMPHASIS.sub("", text))


def without_latex(text: str) -> str:
    """The reply without LaTeX's text commands."""
    return _LATEX_TEXT.sub(r"\1", text)
