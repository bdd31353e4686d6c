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
    r"|extract|extracts|note"
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
_SHOWN = r"(?:given|stated|mentioned|specified|provided|indicated|named|covered)"
"""What sources do to a date or name; "found" and "recorded" may be said of the world."""
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
            # The writer is not named: "Unable to determine". No clause with a subject may follow,
            # as it does in "Unable to find work, he left".
            rf"^(?:still |simply )?(?:(?:unable|not able|not possible|impossible) to|could not"
            rf"|can not){_WORD}{{0,1}} (?:know|tell|say|determine|decide|answer|infer|establish"
            rf"|conclude|confirm|verify|judge|ascertain|deduce|identify|specify)\b(?! no\b)[^,]*"
            rf"(?:$| , (?:because|since|as|given|due)\b)",
            rf"^(?:(?:unable|not able|not possible|impossible) to|could not|can not){_WORD}{{0,1}}"
            rf" {_KNOW}\b[^,]* (?:in|from|with|on)\b[^,]* {_SOURCE}\b",
            # Impersonal: it cannot be known.
            rf"\bit is (?:not possible|impossible|not feasible)(?: for (?:me|us))? to"
            rf"{_WORD}{{0,2}} {_KNOW}\b",
            rf"\b(?:is|are|be) impossible to {_KNOW}\b(?! when| if)",
            rf"\bthere is no way (?:to|of){_WORD}{{0,2}} (?:{_KNOW}|knowing|telling)\b",
            r"(?<!\bwhat )(?<!\bthat )(?<!\bwhich )(?<!\bwho )"
            rf"\bcan not{_WORD}{{0,1}} be{_WORD}{{0,1}} {_KNOWN}{_END}",
            r"\bno (?:conclusion|answer|inference|judgement|judgment|decision|statement)"
            r" (?:is|seems) possible\b",
            rf"^(?:unclear|unknown|uncertain|undetermined|undecidable|unanswerable"
            rf"|not (?:clear|known|answerable|determinable|deducible|inferable|decidable))"
            rf"(?:$| (?:in|from|by|on|based|given)\b.* {_SOURCE}\b)",
            rf"\bquestion{_WORD}{{0,3}} (?:is|remains|goes|stays)"
            rf" (?:not answered|unanswered|open)\b",
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
            rf"|provide|provides|offer|offers|include|includes|tell|tells|make|makes) (?:us |me )?"
            rf"(?:nothing|no|little|none)\b",
            r"\bsay nothing (?:about|of|on)\b|\bsays nothing\b",
            rf"\bnothing in (?:the|these|any){_WORD}{{0,3}} {_SOURCE}\b",
            rf"\b{_SOURCE}{_WORD}{{0,6}}? (?:lack|lacks|lacked|omit|omits"
            rf"|(?:is|are|stay|stays|remain|remains) silent)\b",
            rf"\b{_SOURCE}{_WORD}{{0,3}} (?:leave|leaves){_WORD}{{1,4}}"
            rf" (?:open|unanswered|unclear|undecided|unsaid|unspecified)\b",
            rf"\b{_SOURCE}{_WORD}{{0,3}} (?:leave|leaves) (?:open|unclear)\b",
            rf"\b{_SOURCE}{_WORD}{{0,3}} (?:fail|fails|failed) to {_SAY}\b",
            # Without a verb: "Not in the notes", "Nothing about it in the notes".
            rf"^(?:(?:it|that|this|answer|the answer|{_INFORMATION})(?: is| are)? )?"
            rf"(?:not|nowhere)(?: {_SAID})?(?: anywhere)? (?:in|by|from){_WORD}{{0,3}} {_SOURCE}\b",
            rf"^(?:[^ ,]+ ){{0,2}}not {_SHOWN}(?: ,|$| anywhere\b| here\b)",
            rf"^(?:[^ ,]+ ){{1,4}}not {_SAID} (?:in|by|from){_WORD}{{0,3}} {_SOURCE}\b",
            rf"^(?:there is |i (?:can )?(?:found|find|saw|see) )?(?:nothing|no [^ ,]+)"
            rf" (?:about|on|regarding|concerning|to|of)\b.* (?:in|from){_WORD}{{0,3}} {_SOURCE}\b",
            rf"^no{_WORD}{{1,4}} (?:is|are) {_SHOWN}{_END}",
            rf"\b(?:absent|missing) from{_WORD}{{0,3}} {_SOURCE}\b",
            rf"\bnone of (?:the|these|them){_WORD}{{0,4}} (?:{_SAY}|is about|are about)\b",
            rf"\b(?:is|are|was|were|been) not{_WORD}{{0,1}} {_SAID}(?: ,|$| anywhere\b"
            rf"| (?:in|by|from){_WORD}{{0,3}} {_SOURCE}\b)",
            rf"\b(?:do|does|did) not (?:appear|occur|exist) in{_WORD}{{0,4}} {_SOURCE}\b",
            rf"\bnot (?:something|anything) (?:that )?(?:the|these|any){_WORD}{{0,2}} {_SOURCE}"
            rf" {_SAY}\b",
            rf"\b(?:{_SOURCE}|claim|claims){_WORD}{{0,4}}? (?:is|are) (?:all )?"
            r"(?:unrelated|irrelevant|not related|not relevant)\b",
            # Information is missing.
            r"\bthere (?:is|are) (?:simply |just )?"
            rf"(?:no|not (?:enough|any|sufficient)|too little|insufficient){_WORD}{{0,3}}"
            rf" (?:{_INFORMATION}|mention|answer|indication)\b(?! (?:desk|office|board|centre))",
            rf"\bthere (?:is|are|was|were) (?:no|not (?:enough|any)|too little|insufficient)"
            rf"{_WORD}{{1,8}} (?:in|from){_WORD}{{0,3}} {_SOURCE}\b",
            rf"\b(?:i|we) (?:do not have|lack){_WORD}{{0,2}} (?:access|{_INFORMATION})\b",
            # In the past it is an answer: "There was insufficient evidence to convict".
            r"(?:^|, |\b(?:is|are|with|which|i have|we have|contain|contains|provide|provides|give"
            r"|gives|offer|offers|due to|because of|simply|just|found|find) )"
            r"(?:no|not enough|not sufficient|too little|insufficient|inadequate)"
            r"(?: (?:relevant|specific|public|further|such|reliable|clear|useful|internal))?"
            rf" {_INFORMATION}(?: ,|$| (?:is|are|to|for|about|on|in|available|found|given|here"
            rf"|provided|exists|exist|regarding|concerning|from)\b"
            rf"| (?:was|were) {_SAID}\b)",
            rf"\bno{_WORD}{{0,1}} mention (?:is|was|of)\b",
            rf"\b{_SOURCE}(?: (?:about|on|of|for|needed|given|provided|available|here|supplied)"
            rf"{_WORD}{{0,5}})? (?:is|are|was)"
            rf" (?:simply |clearly )?(?:missing|absent|lacking|insufficient|inadequate|not there"
            rf"|not available|not sufficient|not enough|too thin|too scarce)\b",
            rf"\b(?:more|further|additional) {_INFORMATION}{_WORD}{{0,2}}"
            r" (?:is|are|would be|will be) (?:needed|required|necessary)\b",
            r"\bwould (?:need|require)\b.{0,120}\bwhich (?:i|we) do not have\b",
            r"\b(?:i|we) would (?:need|require) (?:more|further|additional|access)\b",
            r"(?:^|\b(?:due to|because of|owing to|given|is|with) )(?:a |the )?lack of"
            rf"{_WORD}{{0,2}} {_INFORMATION}(?: ,|$| (?:in|from|about|on)\b)",
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
        *("unspecified", "undetermined", "no data", "information not available"),
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

_REPORTED = re.compile(
    r"\b(?:said|replied|answered|claimed|wrote|testified|admitted|explained|declared)(?: that| ,)"
    r"|\b(?:view|idea|belief|doctrine|theory|thesis|principle|motto)(?: that| ,)"
)
"""What follows is said by others, not by the writer of the answer."""

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
    r"\b(?:the|is|are|of|to|and|not|it|i|this|for|does|unknown|unspecified|answer"
    r"|insufficient)\b"
)
_SHARED = re.compile(r"\b(?:no|can|in|a|an|do|information|info)\b")
"""A text without any word of both is in another language; with one of these alone, it may be."""


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
    folded = unquoted.casefold()
    if not _ENGLISH.search(folded):
        signs = find_signs(unquoted)
        is_silent = (signs.abstains or signs.silent) and not (signs.yes or signs.no)
        if is_silent or not _SHARED.search(folded):
            return is_silent
    has_abstention = False
    for part in _split_main_clauses(unquoted):
        if _REVERSAL.search(part):
            return False
        if part in _BARE_ABSTENTIONS or find_clause_sign(part) == "UNKNOWN" or _declines(part):
            has_abstention = True
        elif _gives_answer(part):
            return False
    return has_abstention


def _declines(part: str) -> bool:
    """Returns whether a part says, in the writer's own words, that the answer is not known."""
    match = _ABSTENTION.search(part)
    if match is None:
        return False
    reported = _REPORTED.search(part)
    return reported is None or reported.start() >= match.start()


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
