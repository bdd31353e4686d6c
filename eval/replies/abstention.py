"""Decides whether an answer in free text abstains; used for replies without a field for abstention.

An answer abstains if a part of it declines to answer (the writer cannot tell, the sources do not
say) and no part of it answers. Parts are separated by full stops, semicolons, ``but`` and ``so``.
Quotations, code, questions and conditions are ignored, because they do not describe what the writer
knows. A denial such as "it is not true that the cause is unknown" is not an abstention. Neither is
"The compiler cannot determine the type": an abstention says that the writer, everyone or the
sources do not know the answer. The labelled answers are in ``tests/data/skn_abstentions.jsonl``;
``docs/reference/skn.md`` gives the error rates on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eval.replies.cleaner import normalise_text, remove_latex, remove_markup, remove_thoughts
from eval.replies.prose import find_clause_sign, find_signs
from eval.replies.sentences import Sentence, split_sentences

MAX_CHARS_READ = 20_000
"""Maximum number of characters of an answer that are read; a longer text is not an abstention
anyway."""

# Code blocks, code spans, JSON objects, quotations in any quotes, and quoted lines in Markdown.
# The length limits keep the time linear if a closing quote is missing.
_QUOTATION = re.compile(
    r"```.{0,4000}?(?:```|\Z)|`[^`\n]{1,600}`|\{[^{}]{1,600}\}"
    r"|\"[^\"\n]{1,600}\"|“[^“”\n]{1,600}”|«[^«»\n]{1,600}»|(?<!\w)'[^'\n]{1,600}'(?!\w)"
    r"|^[ \t]{0,3}>[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_UNDERSCORE = re.compile(r"(?<=[A-Za-z])_(?=[A-Za-z])")
"""An underscore inside a word, as in ``insufficient_information``."""
_MIN_WORDS_OUTSIDE = 4
"""Quotations are removed only if at least this many words are left; otherwise the whole answer is
probably in quotes."""
_MAX_FILLER_WORDS = 3
"""A part of at most this many words does not answer anything: "Sorry", "Short answer"."""

# Building blocks of ``_ABSTENTION``. The texts that it is applied to are in lower case, with
# contractions resolved ("can not") and every pause written as " , ".
_SOURCE = (
    r"(?:context|contexts|source|sources|text|texts|results|documents|fact|facts|information|info"
    r"|material|materials|article|articles|passage|passages|excerpt|excerpts|snippet|snippets"
    r"|documentation|extraction|notes|gap|gaps|summary|details"
    r"|(?:provided|given|available|supplied|retrieved) (?:data|page|pages|evidence|document))"
)
_INFORMATION = (
    r"(?:information|info|data|details|detail|evidence|context|documentation|knowledge|facts)"
)
# What sources do, as a verb ("does not mention") and as a participle ("is not mentioned").
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
# What writers do, as a verb ("cannot tell") and as a participle ("cannot be told").
_KNOW = (
    r"(?:know|tell|say|determine|decide|answer|identify|infer|establish|conclude|find|locate"
    r"|provide|confirm|verify|judge|ascertain|deduce|name|give|state|specify|guess)"
)
_KNOWN = (
    r"(?:known|told|said|determined|decided|answered|identified|inferred|established|concluded"
    r"|drawn|given|confirmed|verified|judged|ascertained|deduced|stated|specified|found)"
)
_END = r"(?: ,|$| (?:in|from|by|with|without|based|because|since|as|here|using|on|for|at all)\b)"
"""The end of a clause, or a word that begins an addition to it."""
_WORD = r"(?: [^ ,]+)"
"""Any one word, with the space before it."""

_ABSTENTION = re.compile(
    "|".join(
        (
            # Subject: the writer, everyone or nobody.
            rf"\b(?:i|we|one) (?:really |simply |just |therefore |honestly |also )*"
            rf"(?:can|could|may|do|did|would|was|were|am|are) (?:really |simply )?not"
            rf"(?: be)?(?: able to)?{_WORD}{{0,2}} {_KNOW}\b",
            rf"\b(?:i|we) (?:therefore |really |simply )*can not\b(?= {_KNOW}|$)",
            r"\b(?:i|we) (?:really |still )?(?:do|did) not (?:really |actually )?know\b",
            r"\b(?:do|did) not know$",
            r"^(?:sorry ,? ?)?(?:do not know|can not (?:tell|say|determine|answer|know))\b",
            rf"\b(?:i|we) (?:am|are|was|were|remain)(?: (?:not able|unable|not in a position)) to"
            rf"{_WORD}{{0,2}} {_KNOW}\b",
            rf"\b(?:nobody|no one)(?: outside{_WORD}{{1,3}})? (?:knows\b|(?:can|could|would)"
            rf" (?:possibly |really )?{_KNOW}\b)",
            r"\b(?:i|we) (?:am|are) (?:really |quite )?(?:not sure|not certain|unsure|uncertain)\b",
            r"\b(?:i|we) (?:really |simply )?have (?:absolutely )?no"
            rf" (?:idea|clue|way|{_INFORMATION}|answer|means|basis)\b",
            r"\b(?:i|we) (?:(?:must|have to|will|would|choose to|prefer to) )?(?:therefore )?"
            r"abstain\b",
            r"\b(?:prefer|choose|decide) not to answer\b|\bdecline to answer\b",
            r"\bonly be (?:speculating|guessing)\b|\bwould (?:only )?be (?:pure )?speculation\b",
            r"\b(?:would|could) (?:only|just|have to|only have to) (?:guess|speculate)\b",
            r"\bnothing to go on\b",
            # Impersonal: it cannot be known.
            rf"\bit is (?:not possible|impossible|not feasible)(?: for (?:me|us))? to"
            rf"{_WORD}{{0,2}} {_KNOW}\b",
            rf"\b(?:is|are|be) impossible to {_KNOW}\b(?! when| if)",
            rf"\bthere is no way (?:to|of){_WORD}{{0,2}} (?:{_KNOW}|knowing|telling)\b",
            rf"\bcan not{_WORD}{{0,1}} be{_WORD}{{0,1}} {_KNOWN}{_END}",
            rf"\bcan not be {_KNOWN} (?:what|which|whether|who|how|when|where|why|if)\b",
            rf"\b(?:none|nothing|neither|no{_WORD}{{1,3}})(?: of{_WORD}{{1,4}})? can"
            rf" (?:be {_KNOWN}|{_KNOW})\b",
            r"\b(?:is|are|remain|remains|stay|stays) (?:still |therefore |thus |simply |entirely )?"
            rf"(?:unknown|unclear|undetermined|unspecified|not known|not clear|unanswered){_END}",
            r"^(?:it|this|that) is (?:unknown|unclear|not known|not clear)\b",
            # The sources do not say.
            rf"\b(?:the|this|these|those|given|provided|available|supplied|any|all|search|of)"
            rf"{_WORD}{{0,3}} {_SOURCE}{_WORD}{{0,8}}?"
            rf" (?:do|does|did|can|could) not{_WORD}{{0,1}} {_SAY}\b",
            r"\b(?:it|they|this|that|these|and) (?:do|does|did) not(?: [^ ,]+)?"
            r" (?:mention|say|specify|tell|state|give|name|reveal|disclose|describe|cover)\b",
            rf"\b(?:none|neither|nor|no)\b(?: of)?{_WORD}{{0,4}} {_SOURCE}{_WORD}{{0,6}}? {_SAY}\b",
            rf"\b{_SOURCE}{_WORD}{{0,6}}? (?:say|says|contain|contains|give|gives|has|have|hold"
            rf"|provide|provides|offer|offers|include|includes|tell|tells) (?:us |me )?"
            rf"(?:nothing|no|little|none)\b",
            r"\bsay nothing (?:about|of|on)\b|\bsays nothing\b",
            rf"\bnothing in (?:the|these|any){_WORD}{{0,3}} {_SOURCE}\b",
            rf"\b{_SOURCE}{_WORD}{{0,6}}? (?:lack|lacks|lacked|omit|omits|is silent|are silent)\b",
            rf"\bnone of (?:the|these|them){_WORD}{{0,4}} (?:{_SAY}|is about|are about)\b",
            rf"\b(?:is|are|was|were|been) not{_WORD}{{0,1}} {_SAID}(?: ,|$| anywhere\b"
            rf"| (?:in|by|from){_WORD}{{0,3}} {_SOURCE}\b)",
            rf"\b(?:do|does|did) not (?:appear|occur|exist) in{_WORD}{{0,4}} {_SOURCE}\b",
            rf"\bnot (?:something|anything) (?:that )?(?:the|these|any){_WORD}{{0,2}} {_SOURCE}"
            rf" {_SAY}\b",
            rf"\b(?:{_SOURCE}|claim|claims){_WORD}{{0,4}}? (?:is|are) (?:all )?"
            r"(?:unrelated|irrelevant|not related|not relevant)\b",
            # Information is missing.
            r"\bthere (?:is|are|was) (?:simply |just )?"
            rf"(?:no|not (?:enough|any|sufficient)|too little|insufficient){_WORD}{{0,3}}"
            rf" (?:{_INFORMATION}|mention|answer|indication)\b",
            rf"\b(?:i|we) do not have{_WORD}{{0,2}} (?:access|{_INFORMATION})\b",
            r"(?<!has )(?<!have )(?<!had )"
            r"\b(?:no|not enough|not sufficient|insufficient|inadequate)"
            r"(?: (?:relevant|specific|public|further|such|reliable|clear|useful|internal))?"
            rf" {_INFORMATION}(?: ,|$| (?:is|are|was|were|to|for|about|on|in|available|found|given"
            rf"|here|provided|exists|exist|regarding|concerning|from|was)\b)",
            rf"\bno{_WORD}{{0,1}} mention (?:is|was|of)\b",
            rf"\b{_SOURCE}(?: (?:about|on|of|for|needed|given|provided|available|here|supplied)"
            rf"{_WORD}{{0,5}})? (?:is|are|was)"
            rf" (?:simply |clearly )?(?:missing|absent|lacking|insufficient|inadequate|not there"
            rf"|not available|not sufficient|not enough|too thin|too scarce)\b",
            rf"\b(?:more|further|additional) {_INFORMATION}{_WORD}{{0,2}}"
            r" (?:is|are|would be|will be) (?:needed|required|necessary)\b",
            r"\bwould (?:need|require)\b.{0,120}\bwhich (?:i|we) do not have\b",
            r"\b(?:i|we) would (?:need|require) (?:more|further|additional|access)\b",
            rf"\black of{_WORD}{{0,2}} {_INFORMATION}\b",
            rf"\b(?:context|sources|results){_WORD}{{0,3}} (?:has|have|had) no{_WORD}{{0,2}}"
            rf" {_INFORMATION}\b",
        )
    )
)
_BARE_ABSTENTIONS = frozenset(
    (
        *("n , a", "na", "none", "no answer", "insufficient info", "insufficient information"),
        *("insufficient", "not enough info", "insufficient data", "not available", "abstain"),
        *("no information available", "no answer possible", "not answerable", "can not determine"),
    )
)
"""Parts that are an abstention if they are the whole answer; more are in ``languages.toml``."""

_REVERSAL = re.compile(
    r"\bnot (?:the case|true|correct|right|that)\b|\b(?:wrong|false|incorrect|untrue) to\b"
    r"|\bis (?:wrong|false|incorrect|untrue)\b|\bwould be (?:wrong|false|incorrect)\b"
    r"|\b(?:can|could) not say that\b|\bdo not (?:think|believe) (?:that |the )"
    r"|\bno lack of\b|\bnot lack\b|\bnot unknown\b|\bnot unclear\b|\bno means\b|\bhardly unknown\b"
    r"|\bnot (?:silent|missing)\b"
)
"""Phrases that deny that something is unknown; a text with one of them is not an abstention."""

_SUBORDINATORS = (
    r"(?:although|though|even though|while|whereas|even if|despite|since|because|as|if|when|unless"
    r"|where|whenever|once|without)"
)
# Subordinate clauses are removed; they are not the answer: "Although it is unknown why, it works".
_LEADING_CLAUSE = re.compile(rf"^{_SUBORDINATORS}\b[^,]*,\s*(?=\S)")
_TRAILING_CLAUSE = re.compile(r"\s,\s(?:although|though|even though|whereas|while)\s.*$")
_CONDITION = re.compile(r"^(?:if|when|unless|whenever|once|where)\b")
_CLAUSE_BREAK = re.compile(
    r"\s(?:but|however|yet|nevertheless|nonetheless)\s|\s,\s(?:so|therefore|thus|hence|and so)\s"
)
_ABOUT_SOURCES = re.compile(
    rf"^(?:[^ ,]+ ){{0,7}}(?:{_SOURCE}|question|answer)\b"
    r"|^(?:they|these|those|it) (?:discuss|describe|cover|concern|explain|are about)\b"
    r"|^(?:it|this|that) (?:appears|seems) to be (?:a |an )?"
    r"(?:proprietary|internal|private|fictional|fictitious|unreleased)\b"
)
"""A part that only describes the sources is not an answer: "the facts are about Kafka"."""
_ENGLISH = re.compile(
    r"\b(?:the|is|are|of|to|and|not|it|i|no|can|in|this|for|a|an|do|does|unknown|information|info"
    r"|answer|insufficient)\b"
)
"""A text without any of these words is taken to be in another language."""


def is_abstention(answer: str) -> bool:
    """Returns whether an answer in free text declines to answer, and no part of it answers.

    At most ``MAX_CHARS_READ`` characters are read, in time linear in their number.

    Args:
        answer: the answer, in English; in other languages only plain words for not knowing are
            recognised.

    Returns:
        False for an empty answer: that is a missing reply, not an abstention.
    """
    text = remove_latex(remove_thoughts(normalise_text(answer[:MAX_CHARS_READ])))
    text = _UNDERSCORE.sub(" ", text)
    unquoted = remove_markup(_strip_quotations(text))
    if not unquoted.strip():
        return False
    if find_clause_sign(unquoted) == "UNKNOWN":
        return True
    if not _ENGLISH.search(unquoted.casefold()):
        signs = find_signs(unquoted)
        return (signs.abstains or signs.silent) and not (signs.yes or signs.no)
    has_abstention = False
    for part in _split_main_clauses(unquoted):
        if _REVERSAL.search(part):
            return False
        if (
            part in _BARE_ABSTENTIONS
            or find_clause_sign(part) == "UNKNOWN"
            or _ABSTENTION.search(part)
        ):
            has_abstention = True
        elif _gives_answer(part):
            return False
    return has_abstention


def _strip_quotations(text: str) -> str:
    unquoted = _QUOTATION.sub(" … ", text)
    return unquoted if len(re.findall(r"\w+", unquoted)) >= _MIN_WORDS_OUTSIDE else text


def _split_main_clauses(text: str) -> Iterator[str]:
    """Yields the main clauses of a text as case-folded words, with ``,`` for each pause."""
    for sentence in split_sentences(text):
        for part in _CLAUSE_BREAK.split(f" {_join_clauses(sentence)} "):
            main_clause = _LEADING_CLAUSE.sub("", _TRAILING_CLAUSE.sub("", part.strip(" ,")))
            if main_clause and not _CONDITION.match(main_clause):
                yield main_clause


def _join_clauses(sentence: Sentence) -> str:
    return " , ".join(" ".join(clause.words) for clause in sentence.clauses)


def _gives_answer(part: str) -> bool:
    """Returns whether a part that does not abstain answers something."""
    return len(part.split()) > _MAX_FILLER_WORDS and not _ABOUT_SOURCES.match(part)
