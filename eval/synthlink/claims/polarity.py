"""Reads whether a claim is asserted or denied."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from eval.synthlink.claims.verb_forms import form_past
from eval.synthlink.claims.words import split_text

Polarity = Literal["asserted", "denied", "unclear"]

_ADJECTIVES = r"(?:[\w-]+\s+){0,3}"
_MYTH = (
    r"(?:myth|legend|misconception|fallacy|fiction|lie|hoax|falsehood|untruth|error|mistake|"
    r"misunderstanding|fairy tale|old wives' tale|fabrication)"
)
_FALSE = (
    r"(?:not true|not the case|not so|not correct|not right|false|untrue|wrong|incorrect|"
    r"mistaken|a mistake|an error)"
)
_UNWAHR = r"(?:falsch|unwahr|nicht wahr|nicht richtig|nicht der fall|unzutreffend|ein irrtum)"
_MYTHOS = r"(?:mythos|legende|irrtum|irrglaube|märchen|lüge|missverständnis|fehler)"
# Frames of a whole sentence that deny what follows; each with its claim as the group "claim".
_FRAMES: Final = tuple(
    re.compile(rf"\s*{frame}(?P<claim>.+)", re.IGNORECASE | re.DOTALL)
    for frame in (
        rf"(?:it|this|that)\s*(?:is|was|'s)\s+(?:\w+ly |just |also )?an?\s+{_ADJECTIVES}"
        rf"{_MYTH}(?:,[^,]{{1,60}},)?\s+(?:that|to (?:say|think|believe|claim) that)\s+",
        rf"(?:it|this|that)\s*(?:is|was|'s)\s+(?:simply |just |quite |plainly )?{_FALSE}"
        r"(?: to (?:say|think|believe|claim))?\s+that\s+",
        rf"(?:the (?:claim|idea|notion|story|belief|view)) that\s+(?=.+\s(?:is|was)\s(?:an?\s)?"
        rf"{_ADJECTIVES}(?:{_FALSE}|{_MYTH})[\s.]*$)",
        r"there (?:is|was) (?:no|little) truth (?:in|to) (?:the )?(?:claim|story|idea|notion|"
        r"legend|view|belief) that\s+",
        r"there (?:is|was) no(?:t any)? (?:evidence|proof|sign|indication|record)"
        r"(?: whatsoever| at all)? that\s+",
        r"nothing (?:supports|confirms|shows|proves) (?:the (?:claim|idea|story|view) )?that\s+",
        r"es gibt keine(?:n|rlei)? (?:belege?|beweise?|hinweise?)(?: dafür)?\s*,?\s*da(?:ss|ß)\s+",
        rf"es (?:ist|war) (?:{_UNWAHR}|(?:nur |bloß )?ein(?:e)?\s+{_ADJECTIVES}{_MYTHOS})\s*,?\s*"
        r"da(?:ss|ß)\s+",
        r"es (?:stimmt|trifft) (?:ganz |einfach |überhaupt )?nicht(?: zu)?\s*,?\s*da(?:ss|ß)\s+",
        rf"dass\s+(?=.+\sist\s(?:ein(?:e)?\s)?{_ADJECTIVES}(?:{_UNWAHR}|{_MYTHOS})[\s.]*$)",
    )
)
# The end of a sentence that is no part of the claim: "The idea that A is a myth".
_PREDICATE: Final = re.compile(
    rf",?\s(?:is|was|ist|war)\s(?:an?\s|ein(?:e)?\s)?{_ADJECTIVES}"
    rf"(?:{_FALSE}|{_MYTH}|{_UNWAHR}|{_MYTHOS})[\s.]*$",
    re.IGNORECASE,
)
# What somebody else says, before or after what the sentence itself says.
_BELIEF = r"(?:belief|opinion|legend|myth|tradition|wisdom|assumption|view)"
_SAY = r"(?:sa(?:y|ys|id)|claim(?:s|ed)?|believed?|thought|think|taught|teach|told|tell|heard)"
_CONTRARY: Final = re.compile(
    rf"\s*(?:contrary to (?:(?:popular|common|general|widespread|received)\s+)?{_BELIEF}|"
    rf"contrary to what [^,.;]{{0,40}}\b{_SAY}|"
    r"entgegen (?:der|einer) (?:landläufigen|verbreiteten|weit verbreiteten|gängigen) "
    r"(?:meinung|annahme|ansicht))\s*,\s*",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(
    rf",\s*(?:whatever|contrary to what) [^,.;]{{0,40}}\b{_SAY}(?: at school)?(?=[\s.]*$)",
    re.IGNORECASE,
)
# A word between "did not" and its verb, which is left beside the verb: "did not only reach".
_ADVERB = (
    r"(?P<adverb>(?:(?!(?:apply|supply|rely|reply|comply|multiply|fly|ally|imply|rally)\b)[a-z]+ly|"
    r"just|even|also|always|quite|yet|first|then|once|again|soon|still|often|much)\s+)?"
)
# A plain negation of the verb, which denies the sentence without it.
_NOT: Final = re.compile(
    r"^nor\s+(?:did|does|do|is|are|was|were|has|have|had)\b|"
    r"\b(?:(?P<do>(?:did|does|do)\s+not|(?:did|does|do)n['’]t)|"
    r"(?P<other>is|are|was|were|has|have|had|can|could|will|would)\s+not|cannot|never|"
    r"at no time|by no means|in no way|"
    r"(?P<short>is|are|was|were|has|have|had|ca|could|would)n['’]t)\b(?:\s+(?:ever|really|actually))?"
    rf"(?(do)(?:\s+{_ADVERB}(?P<base>[a-z]+)\b)?)",
    re.IGNORECASE,
)
_NEITHER: Final = re.compile(r"^neither\s+(?P<first>[^,;]+?)\s+nor\s+(?=[^\W\d_])", re.IGNORECASE)
# "No works were built", "it offered no rewards": the noun is the subject, or follows a verb.
_NO_NOUN: Final = re.compile(
    r"(?:(?<=^)|(?<=^and )|(?<=ed )|(?<= won )|(?<= had )|(?<= has )|(?<= made )|(?<= held ))"
    r"no\s+(?!longer|one|doubt|other|more|less|fewer|sooner|matter|such|wonder|small|means)(?=[a-z])",
    re.IGNORECASE,
)
_ANY: Final = re.compile(r"\s(?:any|ever|whatsoever|at all)(?=[\s.,])", re.IGNORECASE)
# "Nobody has ever found X": somebody did, or X was found.
_NOBODY: Final = re.compile(
    r"^(?:nobody|no one|no-one)\s+(?:(?:has|had)\s+)?(?:ever\s+)?(?=[a-z]+(?:ed|t|d|n|e|w)\s)",
    re.IGNORECASE,
)
_DID_NOTHING: Final = re.compile(
    rf"\b(?:did|does|do)\s+nothing\s+to\s+{_ADVERB}(?P<base>[a-z]+)\b", re.IGNORECASE
)
# Why something is denied, which does not count if it is true.
_REASON: Final = re.compile(
    r",\s+(?:since|for|because|as|although|though|even though|least of all|denn|weil|da)\s.+",
    re.IGNORECASE | re.DOTALL,
)
_OR: Final = re.compile(r"\s(?:or|nor|oder)\s", re.IGNORECASE)
_NOTHING_TO_DO: Final = re.compile(r"\b(?:had|has|have) nothing to do with\b", re.IGNORECASE)
_NICHT: Final = re.compile(r"\b(?:nicht|nie|niemals|keineswegs)\b", re.IGNORECASE)
_IS_NO: Final = re.compile(r"\b(?:is|was|are|were)\s+no\b", re.IGNORECASE)
_AFFIRMING: Final = re.compile(
    r"\s*(?:(?:it is|it's) (?:well |widely |generally )?(?:known|clear|true|certain|established|"
    r"documented|a fact)(?: fact)? that|in fact,?|es ist (?:bekannt|wahr|klar|richtig),? dass)\s+",
    re.IGNORECASE,
)


SOMEBODY: Final = "Somebody"
"""Who did it, in a claim that says that nobody did."""


class Reading(NamedTuple):
    """A claim without the words that deny it."""

    polarity: Polarity
    text: str
    """The claim as if it was asserted."""


def read_polarity(text: str) -> Reading:
    """Reads whether a claim is asserted or denied; it is unclear if anything is denied twice."""
    claim = _ASIDE.sub("", _CONTRARY.sub("", text, count=1))
    claim = _AFFIRMING.sub("", claim, count=1)
    n_denials = 0
    for frame in _FRAMES:
        match = frame.fullmatch(claim)
        if match:
            claim = _PREDICATE.sub(".", match["claim"])
            n_denials += 1
            break
    for pattern, instead in (
        (_NOTHING_TO_DO, "caused"),
        (_NEITHER, r"\g<first> and "),
        (_NOBODY, f"{SOMEBODY} "),
        (_DID_NOTHING, _assert_verb),
        (_NOT, _assert_verb),
        (_IS_NO, "is"),
        (_NICHT, ""),
        (_NO_NOUN, ""),
    ):
        claim, n_found = pattern.subn(instead, claim)
        n_denials += n_found
    if n_denials:
        # Who denies "A or B" denies both.
        claim = _OR.sub(" and ", _ANY.sub("", claim))
    if n_denials > 1 or any(word.kind == "negation" for word in split_text(claim)):
        return Reading("unclear", claim)
    return Reading("denied" if n_denials else "asserted", claim)


def drop_reason(text: str) -> str:
    """Returns a claim without what it gives as reason of a denial; empty if there is none.

    "The canal never opened, since it was dry" is wrong if the canal opened, wet or dry.
    """
    head = _REASON.sub("", text)
    return head if head != text and read_polarity(head).polarity == "denied" else ""


def _assert_verb(match: re.Match[str]) -> str:
    """Returns what a negated verb says without its negation: "did not reach" is "reached"."""
    base = match["base"]
    if base:
        return f"{match['adverb'] or ''}{form_past(base)}"
    return match["other"] or match["short"] or ""
