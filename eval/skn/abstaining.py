"""Whether an answer in free text declines to answer: by what it says, and by the seed's words.

Used only where a reply has no field that says so. An answer abstains if some part of it declines
(the writer cannot tell, the sources do not say) and no part of it answers. Parts are what stands
between full stops, semicolons, ``but`` and ``so``. Quotations, code, questions and conditions say
nothing about the writer; "it is not true that the cause is unknown" declines nothing. That a
*program* cannot determine something is an answer: only the writer, everyone, nobody or the sources
can be what does not know. The labelled answers are in ``tests/data/skn_abstentions.jsonl``, and
how often either reading errs on them is in ``docs/metrics.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eval.replies.cleaning import normalised, without_latex, without_markup, without_thoughts
from eval.replies.prose import bare, signs_of
from eval.replies.wording import Sentence, sentences_of

PUBLISHED_PHRASES = (
    "insufficient information",
    "not enough information",
    "cannot determine",
    "cannot be determined",
    "unable to determine",
    "not specified",
    "not provided",
    "not enough data",
    "insufficient data",
    "no information",
    "cannot answer",
    "impossible to determine",
    "not available",
    "lack of information",
    "missing information",
    "does not contain",
    "do not contain",
    "cannot provide",
    "unable to provide",
    "cannot identify",
    "unable to identify",
    "no relevant information",
    "no specific information",
    "not contain any information",
    "i cannot",
    "i'm unable",
    "i am unable",
    "no details about",
    "no mention of",
    "does not include",
    "does not reference",
)
"""The 31 substrings by which the published benchmark reads an abstention."""

MAX_READ = 20_000
"""Characters that are read; who writes more answers something."""

_QUOTED = re.compile(
    r"```.{0,4000}?(?:```|\Z)|`[^`\n]{1,600}`|\{[^{}]{1,600}\}"
    r"|\"[^\"\n]{1,600}\"|“[^“”\n]{1,600}”|«[^«»\n]{1,600}»|(?<!\w)'[^'\n]{1,600}'(?!\w)"
    r"|^[ \t]{0,3}>[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_UNDERSCORE = re.compile(r"(?<=[A-Za-z])_(?=[A-Za-z])")
_ENOUGH_BESIDE = 4
"""Words outside a quotation from which on it is one, and not the answer itself in quotes."""
_SHORT = 3
"""Words up to which a part answers nothing: "Sorry", "Short answer"."""

_SOURCE = (
    r"(?:context|contexts|source|sources|text|texts|results|documents|fact|facts|information|info"
    r"|material|materials|article|articles|passage|passages|excerpt|excerpts|snippet|snippets"
    r"|documentation|extraction|notes|gap|gaps|summary|details"
    r"|(?:provided|given|available|supplied|retrieved) (?:data|page|pages|evidence|document))"
)
_NEWS = r"(?:information|info|data|details|detail|evidence|context|documentation|knowledge|facts)"
_SAY = (
    r"(?:mention|mentions|say|says|state|states|specify|specifies|contain|contains|include|includes"
    r"|provide|provides|cover|covers|describe|describes|address|addresses|give|gives|tell|tells"
    r"|name|names|discuss|discusses|reveal|reveals|disclose|list|indicate|indicates|explain"
    r"|explains|answer|answers|clarify|identify|identifies|support|concern|concerns|let|allow"
    r"|permit|suffice|hold|have|show|shows|report|reports)"
)
_SAID = (
    r"(?:mentioned|said|stated|specified|provided|covered|described|addressed|given|named|discussed"
    r"|revealed|disclosed|listed|indicated|explained|documented|known|recorded|reported|included"
    r"|available|present|found)"
)
_KNOW = (
    r"(?:know|tell|say|determine|decide|answer|identify|infer|establish|conclude|find|locate"
    r"|provide|confirm|verify|judge|ascertain|deduce|name|give|state|specify|guess)"
)
_KNOWN = (
    r"(?:known|told|said|determined|decided|answered|identified|inferred|established|concluded"
    r"|drawn|given|confirmed|verified|judged|ascertained|deduced|stated|specified|found)"
)
_END = r"(?: ,|$| (?:in|from|by|with|without|based|because|since|as|here|using|on|for|at all)\b)"
_SOME = r"(?: [^ ,]+)"

_DECLINES = re.compile(
    "|".join(
        (
            # The writer, everyone, nobody.
            rf"\b(?:i|we|one) (?:really |simply |just |therefore |honestly |also )*"
            rf"(?:can|could|may|do|did|would|was|were|am|are) (?:really |simply )?not"
            rf"(?: be)?(?: able to)?{_SOME}{{0,2}} {_KNOW}\b",
            rf"\b(?:i|we) (?:therefore |really |simply )*can not\b(?= {_KNOW}|$)",
            r"\b(?:i|we) (?:really |still )?(?:do|did) not (?:really |actually )?know\b",
            r"\b(?:do|did) not know$",
            r"^(?:sorry ,? ?)?(?:do not know|can not (?:tell|say|determine|answer|know))\b",
            rf"\b(?:i|we) (?:am|are|was|were|remain)(?: (?:not able|unable|not in a position)) to"
            rf"{_SOME}{{0,2}} {_KNOW}\b",
            rf"\b(?:nobody|no one)(?: outside{_SOME}{{1,3}})? (?:knows\b|(?:can|could|would)"
            rf" (?:possibly |really )?{_KNOW}\b)",
            r"\b(?:i|we) (?:am|are) (?:really |quite )?(?:not sure|not certain|unsure|uncertain)\b",
            r"\b(?:i|we) (?:really |simply )?have (?:absolutely )?no"
            rf" (?:idea|clue|way|{_NEWS}|answer|means|basis)\b",
            r"\b(?:i|we) (?:(?:must|have to|will|would|choose to|prefer to) )?(?:therefore )?"
            r"abstain\b",
            r"\b(?:prefer|choose|decide) not to answer\b|\bdecline to answer\b",
            r"\bonly be (?:speculating|guessing)\b|\bwould (?:only )?be (?:pure )?speculation\b",
            r"\b(?:would|could) (?:only|just|have to|only have to) (?:guess|speculate)\b",
            r"\bnothing to go on\b",
            # Nobody in particular.
            rf"\bit is (?:not possible|impossible|not feasible)(?: for (?:me|us))? to"
            rf"{_SOME}{{0,2}} {_KNOW}\b",
            rf"\b(?:is|are|be) impossible to {_KNOW}\b(?! when| if)",
            rf"\bthere is no way (?:to|of){_SOME}{{0,2}} (?:{_KNOW}|knowing|telling)\b",
            rf"\bcan not{_SOME}{{0,1}} be{_SOME}{{0,1}} {_KNOWN}{_END}",
            rf"\bcan not be {_KNOWN} (?:what|which|whether|who|how|when|where|why|if)\b",
            rf"\b(?:none|nothing|neither|no{_SOME}{{1,3}})(?: of{_SOME}{{1,4}})? can"
            rf" (?:be {_KNOWN}|{_KNOW})\b",
            r"\b(?:is|are|remain|remains|stay|stays) (?:still |therefore |thus |simply |entirely )?"
            rf"(?:unknown|unclear|undetermined|unspecified|not known|not clear|unanswered){_END}",
            r"^(?:it|this|that) is (?:unknown|unclear|not known|not clear)\b",
            # The sources.
            rf"\b(?:the|this|these|those|given|provided|available|supplied|any|all|search|of)"
            rf"{_SOME}{{0,3}} {_SOURCE}{_SOME}{{0,8}}?"
            rf" (?:do|does|did|can|could) not{_SOME}{{0,1}} {_SAY}\b",
            r"\b(?:it|they|this|that|these|and) (?:do|does|did) not(?: [^ ,]+)?"
            r" (?:mention|say|specify|tell|state|give|name|reveal|disclose|describe|cover)\b",
            rf"\b(?:none|neither|nor|no)\b(?: of)?{_SOME}{{0,4}} {_SOURCE}{_SOME}{{0,6}}? {_SAY}\b",
            rf"\b{_SOURCE}{_SOME}{{0,6}}? (?:say|says|contain|contains|give|gives|has|have|hold"
            rf"|provide|provides|offer|offers|include|includes|tell|tells) (?:us |me )?"
            rf"(?:nothing|no|little|none)\b",
            r"\bsay nothing (?:about|of|on)\b|\bsays nothing\b",
            rf"\bnothing in (?:the|these|any){_SOME}{{0,3}} {_SOURCE}\b",
            rf"\b{_SOURCE}{_SOME}{{0,6}}? (?:lack|lacks|lacked|omit|omits|is silent|are silent)\b",
            rf"\bnone of (?:the|these|them){_SOME}{{0,4}} (?:{_SAY}|is about|are about)\b",
            rf"\b(?:is|are|was|were|been) not{_SOME}{{0,1}} {_SAID}(?: ,|$| anywhere\b"
            rf"| (?:in|by|from){_SOME}{{0,3}} {_SOURCE}\b)",
            rf"\b(?:do|does|did) not (?:appear|occur|exist) in{_SOME}{{0,4}} {_SOURCE}\b",
            rf"\bnot (?:something|anything) (?:that )?(?:the|these|any){_SOME}{{0,2}} {_SOURCE}"
            rf" {_SAY}\b",
            rf"\b(?:{_SOURCE}|claim|claims){_SOME}{{0,4}}? (?:is|are) (?:all )?"
            r"(?:unrelated|irrelevant|not related|not relevant)\b",
            # What is missing.
            r"\bthere (?:is|are|was) (?:simply |just )?"
            rf"(?:no|not (?:enough|any|sufficient)|too little|insufficient){_SOME}{{0,3}}"
            rf" (?:{_NEWS}|mention|answer|indication)\b",
            rf"\b(?:i|we) do not have{_SOME}{{0,2}} (?:access|{_NEWS})\b",
            r"(?<!has )(?<!have )(?<!had )"
            r"\b(?:no|not enough|not sufficient|insufficient|inadequate)"
            r"(?: (?:relevant|specific|public|further|such|reliable|clear|useful|internal))?"
            rf" {_NEWS}(?: ,|$| (?:is|are|was|were|to|for|about|on|in|available|found|given|here"
            rf"|provided|exists|exist|regarding|concerning|from|was)\b)",
            rf"\bno{_SOME}{{0,1}} mention (?:is|was|of)\b",
            rf"\b{_SOURCE}(?: (?:about|on|of|for|needed|given|provided|available|here|supplied)"
            rf"{_SOME}{{0,5}})? (?:is|are|was)"
            rf" (?:simply |clearly )?(?:missing|absent|lacking|insufficient|inadequate|not there"
            rf"|not available|not sufficient|not enough|too thin|too scarce)\b",
            rf"\b(?:more|further|additional) {_NEWS}{_SOME}{{0,2}} (?:is|are|would be|will be)"
            r" (?:needed|required|necessary)\b",
            r"\bwould (?:need|require)\b.{0,120}\bwhich (?:i|we) do not have\b",
            r"\b(?:i|we) would (?:need|require) (?:more|further|additional|access)\b",
            rf"\black of{_SOME}{{0,2}} {_NEWS}\b",
            rf"\b(?:context|sources|results){_SOME}{{0,3}} (?:has|have|had) no{_SOME}{{0,2}}"
            rf" {_NEWS}\b",
        )
    )
)
_WHOLE = frozenset(
    (
        *("n , a", "na", "none", "no answer", "insufficient info", "insufficient information"),
        *("insufficient", "not enough info", "insufficient data", "not available", "abstain"),
        *("no information available", "no answer possible", "not answerable", "can not determine"),
    )
)
"""What declines if it is all that a part says; other such words are in ``languages.toml``."""

_TAKEN_BACK = re.compile(
    r"\bnot (?:the case|true|correct|right|that)\b|\b(?:wrong|false|incorrect|untrue) to\b"
    r"|\bis (?:wrong|false|incorrect|untrue)\b|\bwould be (?:wrong|false|incorrect)\b"
    r"|\b(?:can|could) not say that\b|\bdo not (?:think|believe) (?:that |the )"
    r"|\bno lack of\b|\bnot lack\b|\bnot unknown\b|\bnot unclear\b|\bno means\b|\bhardly unknown\b"
    r"|\bnot (?:silent|missing)\b"
)
"""What turns the words for not knowing round."""

_LEADS = (
    r"(?:although|though|even though|while|whereas|even if|despite|since|because|as|if|when|unless"
    r"|where|whenever|once|without)"
)
_SUBORDINATE = re.compile(rf"^{_LEADS}\b[^,]*,\s*(?=\S)")
_AFTERTHOUGHT = re.compile(r"\s,\s(?:although|though|even though|whereas|while)\s.*$")
_CONDITION = re.compile(r"^(?:if|when|unless|whenever|once|where)\b")
_PART = re.compile(
    r"\s(?:but|however|yet|nevertheless|nonetheless)\s|\s,\s(?:so|therefore|thus|hence|and so)\s"
)
_ABOUT_SOURCES = re.compile(
    rf"^(?:[^ ,]+ ){{0,7}}(?:{_SOURCE}|question|answer)\b"
    r"|^(?:they|these|those|it) (?:discuss|describe|cover|concern|explain|are about)\b"
    r"|^(?:it|this|that) (?:appears|seems) to be (?:a |an )?"
    r"(?:proprietary|internal|private|fictional|fictitious|unreleased)\b"
)
"""What speaks of the sources alone answers nothing: "the facts are about Kafka in general"."""
_ENGLISH = re.compile(
    r"\b(?:the|is|are|of|to|and|not|it|i|no|can|in|this|for|a|an|do|does|unknown|information|info"
    r"|answer|insufficient)\b"
)


def published_abstained(answer: str) -> bool:
    """Whether one of the 31 substrings stands in the answer, however it is meant."""
    lowered = answer.lower()
    return any(phrase in lowered for phrase in PUBLISHED_PHRASES)


def abstained(answer: str) -> bool:
    """Whether an answer in free text says that it cannot tell, and answers nothing besides.

    Args:
        answer: in English; of other languages only plain words for not knowing are understood.

    Returns:
        False for an empty answer: who says nothing has not abstained. Takes time linear in the
        length of the text, of which ``MAX_READ`` characters are read.
    """
    text = without_latex(without_thoughts(normalised(answer[:MAX_READ])))
    text = _UNDERSCORE.sub(" ", text)
    own = without_markup(_without_quotations(text))
    if not own.strip():
        return False
    if bare(own) == "UNKNOWN":
        return True
    if not _ENGLISH.search(own.casefold()):
        signs = signs_of(own)
        return (signs.abstains or signs.silent) and not (signs.yes or signs.no)
    declines = False
    for part in _parts(own):
        if _TAKEN_BACK.search(part):
            return False
        if part in _WHOLE or bare(part) == "UNKNOWN" or _DECLINES.search(part):
            declines = True
        elif _answers(part):
            return False
    return declines


def _without_quotations(text: str) -> str:
    rest = _QUOTED.sub(" … ", text)
    return rest if len(re.findall(r"\w+", rest)) >= _ENOUGH_BESIDE else text


def _parts(text: str) -> Iterator[str]:
    """What a text says, part by part; folded words with ``,`` for each pause."""
    for sentence in sentences_of(text):
        for part in _PART.split(f" {_said(sentence)} "):
            told = _SUBORDINATE.sub("", _AFTERTHOUGHT.sub("", part.strip(" ,")))
            if told and not _CONDITION.match(told):
                yield told


def _said(sentence: Sentence) -> str:
    return " , ".join(" ".join(clause.words) for clause in sentence.clauses)


def _answers(part: str) -> bool:
    """Whether a part that declines nothing answers something."""
    return len(part.split()) > _SHORT and not _ABOUT_SOURCES.match(part)
