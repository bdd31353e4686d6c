"""Finds sentences and headings by which an answer says that its other sentences are not true.

For example "None of the following statements is true.", "## Myths" and "I made all of this up."
Such a sentence is about the answer, not about the subject: it points at statements, or consists of
nothing but a word of falsity. What it concerns is uncertain and stays unjudged. English and German.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Literal

from eval.synthlink.claims.lexicon import LIGHT, QUALIFIERS
from eval.synthlink.claims.words import split_text
from kg.base.plain_text import list_words

Scope = Literal["none", "last", "all"]
"""Which sentences before one it takes back: none, the last, or all."""

_MAX_PRONOUN_WORDS: Final = 10
_MAX_TITLE_WORDS: Final = 12
_MAX_OTHER_WORDS: Final = 4
"""Maximum number of words of content beside a word of falsity in a title before a text."""
_MAX_ANSWER_WORDS: Final = 3
_ENDS: Final = (".", "!", "?", "…", "")

_FALSE: Final = frozenset(
    list_words(
        "false falsehood falsehoods falsely untrue untruth untruths wrong wrongly incorrect "
        "incorrectly inaccurate mistaken mistakenly erroneous erroneously lie lies lied lying myth "
        "myths mythical legend legends misconception misconceptions fallacy fallacies fiction "
        "fictional fictitious fabricated fabrication fabrications hoax hoaxes fake faked bogus "
        "nonsense rubbish debunk debunked refute refuted refutes disproved disproven discredited "
        "baseless unfounded madeup misinformation disinformation satire parody joke jokes joking "
        "kidding fools hallucinated hallucination hallucinations imaginary untrustworthy "
        "falsch falsche falschen falscher falsches unwahr unwahre unwahren gelogen lüge lügen "
        "mythos mythen legende legenden irrtum irrtümer irrtümern irrtümlich irrig missverständnis "
        "missverständnisse märchen falschmeldung falschmeldungen falschaussagen fiktion fiktiv "
        "widerlegt widerlegten widerlegte unzutreffend unsinn scherz witz aprilscherz ausgedacht"
    )
)
"""Words of falsity, wherever they stand."""
_REJECTING: Final = frozenset(
    list_words(
        "reject rejects rejected deny denies denied contradict contradicted contested disputed "
        "dispute doubt doubts doubtful dubious questionable unproven unverified invented "
        "exaggerated ignore disregard retract withdraw "
        "erfunden bestritten umstritten zweifelhaft fragwürdig unbewiesen zurückgewiesen ignoriere "
        "ignorieren verworfen"
    )
)
"""Words that take statements back, but say something else of other things."""
_BELIEF: Final = frozenset(
    list_words(
        "believe believed believes belief beliefs allegedly alleged supposedly supposed rumour "
        "rumours rumor rumors hearsay pretend imagine suppose assume hypothetical hypothetically "
        "angeblich angebliche vermeintlich vermeintliche gerücht gerüchte glauben glaubt "
        "angenommen hypothetisch"
    )
)
"""Words of a title below which nothing is asserted, unless it says of what the belief is."""
_NEGATIONS: Final = frozenset(
    list_words(
        "not no none nothing neither never nor cannot without hardly nicht kein keine keiner "
        "keines keinen keinem nichts nie niemals weder ohne kaum"
    )
)
_TRUE: Final = frozenset(
    list_words(
        "true truth truthful correct right accurate real factual fact valid trust trusted "
        "believe believed reliable credible happened hold holds supported evidence proof basis "
        "wahr wahrheit richtig korrekt stimmt stimmen zutreffend trifft treffen glauben glaube "
        "belegt haltbar beleg belege beweis beweise tatsache tatsachen"
    )
)
"""Words that are words of falsity beside a negation."""
_PLAINLY_TRUE: Final = frozenset(
    list_words(
        "true correct accurate believe trust wahr richtig korrekt stimmt stimmen glauben glaube"
    )
)
"""Those that are so in titles, too: "No evidence for steam" is a title of its subject."""
_TRUE_TITLE: Final = frozenset(
    list_words(
        "fact facts truth true reality real correct correction actual actually really answer "
        "wahr wahrheit fakt fakten tatsache tatsachen tatsächlich richtig wirklichkeit realität "
        "antwort"
    )
)
"""Words of a title below which it is asserted again."""
_NOUN: Final = (
    r"(?:statements?|claims?|assertions?|allegations?|propositions?|sentences?|paragraphs?|"
    r"answer|aussagen?|behauptungen?|sätzen?|satz|angaben?|antwort|absätzen?|absatz)"
)
_OWN_CLAIM: Final = r"(?! (?:that|whether|dass|daß|ob)\b)"
"""After a noun, these words begin what the sentence itself claims or denies."""
_POINTING: Final = re.compile(
    r"\b(?:this|these|those|both|all|none|neither|either|each|every|my|next|last|previous|"
    r"preceding|following|foregoing|above|diese[rsnm]?|beide[rn]?|alle[rn]?|"
    r"keine[rsn]?|jede[rs]?|meine[rn]?|folgende[rsnm]?|obige[rsnm]?|vorstehende[rn]?|"
    rf"nachstehende[rn]?|genannte[rn]?)(?: \w+){{0,2}} {_NOUN}\b"
    rf"(?: (?:above|below|oben|unten)\b)?{_OWN_CLAIM}"
    rf"|\b{_NOUN}(?: \w+){{0,2}} (?:above|below|oben|unten)\b"
    r"|\bthe (?:above|following|foregoing|preceding)(?= *$| :| (?:is|are|was|were|will|has|have|"
    r"should|must)\b)"
    r"|\b(?:what|everything|anything|nothing|all|none|word)(?: \w+){0,3} "
    r"(?:above|below|said|wrote|say|follows|next)\b"
    r"|\b(?:was|alles|nichts|das)(?: \w+){0,3} (?:oben|gesagt|geschrieben|folgt|folgende)\b"
    r"|\b(?:folgendes|obiges|das obige|das folgende)\b"
)
"""What refers to statements of the answer."""
_ONE: Final = re.compile(
    r"\b(?:this|that|last|previous|preceding|diese[rsm]?) (?:statement|claim|assertion|sentence|"
    r"allegation|aussage|behauptung|satz|angabe)\b"
)
_AHEAD: Final = re.compile(
    r"\b(?:following|below|next|follows|folgende[rsnm]?|folgt|nachstehende[rn]?|unten)\b"
)
_SPEAKER: Final = re.compile(
    r"\bi(?: \w+){0,4} (?:lie|lied|lying|joking|kidding|hallucinated|invented|fabricated)\b|"
    r"\b(?:i|we)(?: \w+){0,3} made(?: \w+){0,4} up\b|"
    r"\bich(?: \w+){0,4} (?:lüge|gelogen|scherze|erfunden|ausgedacht)\b|\bfrei erfunden\b"
)
"""Whoever answers says that it was invented."""
_LABEL: Final = re.compile(rf"\b(?:verdict|rating|ruling|urteil|bewertung|{_NOUN})\b{_OWN_CLAIM}")
_REFERRING: Final = frozenset(
    list_words("this that so it all everything none above these those das dies so alles nichts")
)
_EVERYTHING: Final = frozenset(
    list_words(
        "all any everything none nothing word above these those both neither alles nichts wort "
        "joke satire parody scherz witz aprilscherz"
    )
)
"""Words that show that more is meant than the last sentence."""
_NEUTRAL: Final = frozenset(
    list_words(
        "common popular frequent typical widespread old just only all everything totally complete "
        "completely utter utterly entirely absolutely pure simply both verdict rating ruling "
        "conclusion result fact check note claim claims statement statements answer news april "
        "sorry mostly well again two three some few more most each i you do don "
        "people many often following "
        "verbreitete häufige bekannte alles völlig komplett nur reine reiner urteil bewertung "
        "ergebnis fazit aussage aussagen behauptung nicht"
    )
)
"""Words beside which a word of falsity still says nothing but that."""
_PLAIN: Final = _FALSE | _NEUTRAL | LIGHT | _NEGATIONS | _TRUE
# "The causes lie in …", "what went wrong": not of statements.
_OTHER_SENSE: Final = re.compile(
    r"\b(?:went|go|goes|gone|going) wrong\b|\blies? (?=(?:in|on|at|between|within|with|behind|"
    r"under|beneath|near|off|along|to|north|south|east|west|deeper|the|not|inside|outside|beyond|around)\b)"
)
_TITLE: Final = re.compile(r"[^\n:]*(?::(?!\S)|:(?=[*_])|\n|$)")
_MARKED_TITLE: Final = re.compile(r"\*\*[^\n]+\*\*|__[^\n]+__|[^\n]+\n[ \t]*(?:=+|-+)")
_MADE_UP: Final = re.compile(r"\bmade up\b(?! of| by| from)")
_CONTRACTION: Final = re.compile(r"n['’]t\b")
_SEPARATORS: Final = re.compile(r"[^\w:]+|_+")
_WORD: Final = re.compile(r"[^\W\d_]+")


class RetractionReader:
    """Reads the sentences of an answer in order, and tells which of them are taken back.

    Args:
        topic: words, in lower case, of the question and its facts: with one of these, a sentence
            may be about the subject. Source pages are not asked, since they have nearly all words.
    """

    def __init__(self, topic: Collection[str] = ()) -> None:
        self._topic: Final = frozenset(topic)
        self._false: Final = _FALSE - self._topic
        # Level of the title that denies what is below it; 0 if it is no heading of Markdown.
        self._title_level: int | None = None
        self._denies_rest = False
        self._question = ""
        # Whether anything was said of the subject so far.
        self._has_begun = False

    @property
    def denies_following(self) -> bool:
        """Whether the sentence that was read last and those after it are taken back."""
        return self._denies_rest or self._title_level is not None

    def read_question(self, question: str) -> None:
        """Notes a question that the next sentence may answer: "Is any of this true? No."."""
        self._question = question

    def read(self, sentence: str) -> Scope:
        """Returns which sentences before a sentence it takes back."""
        is_title = self._read_title(sentence)
        question, self._question = self._question, ""
        if question and len(_WORD.findall(sentence)) <= _MAX_ANSWER_WORDS:
            sentence = f"{question} {sentence}"
        text = _fold(sentence)
        words = frozenset(_WORD.findall(text))
        scope = self._find_scope(sentence, text, words, is_title=is_title)
        self._has_begun |= not words.isdisjoint(self._topic or words - _PLAIN)
        return scope

    def _find_scope(
        self, sentence: str, text: str, words: frozenset[str], *, is_title: bool
    ) -> Scope:
        pointers = [match.group() for match in _POINTING.finditer(text)]
        speaks = _SPEAKER.search(text) is not None
        is_rejected = _is_false(words, _FALSE | _REJECTING, _TRUE)
        if speaks or (pointers and is_rejected):
            is_ahead = any(map(_AHEAD.search, pointers))
            # At the start of an answer, "these statements" are those that follow.
            self._denies_rest |= is_ahead or not self._has_begun
            if is_ahead:
                return "none"
            return "last" if _ONE.search(text) and not speaks else "all"
        # "It did not make labour scarce" is about the subject: two words of it show that.
        is_about_subject = len(words & self._topic - _PLAIN) > 1
        scope = "none" if is_about_subject else _read_pronouns(sentence, words)
        if scope == "none" and not is_title and self._says_nothing_else(sentence, text, words):
            return "all"
        return scope

    def _read_title(self, sentence: str) -> bool:
        """Reads the title that a sentence is or begins with; returns whether it denies the rest."""
        line = sentence.strip()
        level = len(line) - len(line.lstrip("#"))
        title = _TITLE.match(line)
        head = title.group() if title else line
        words = frozenset(_WORD.findall(_fold(head)))
        is_marked = level > 0 or head.endswith(":") or _MARKED_TITLE.fullmatch(line) is not None
        is_bare = line.rstrip("*_")[-1:] not in _ENDS and words <= _FALSE | _NEUTRAL | LIGHT
        # Before a text in the same line, a title is short: "Myths about the canal: …".
        is_inline = head.endswith(":") and line.removeprefix(head).lstrip("*_ \t")[:1] not in "\n"
        if is_inline and len(words - _PLAIN) > _MAX_OTHER_WORDS:
            return False
        if not words or len(words) > _MAX_TITLE_WORDS or not (is_marked or is_bare):
            return False
        is_belief = not words.isdisjoint(_BELIEF) and words <= _PLAIN | _BELIEF
        if is_belief or _is_false(words, self._false, _PLAINLY_TRUE):
            self._title_level = level
            return is_marked
        if self._title_level is not None and (
            not words.isdisjoint(_TRUE_TITLE) or 0 < level <= (self._title_level or level)
        ):
            self._title_level = None
        return False

    def _says_nothing_else(self, sentence: str, text: str, words: frozenset[str]) -> bool:
        """Returns whether a sentence says that something is false, and nothing of the subject."""
        if not _is_false(words, self._false, _PLAINLY_TRUE):
            return False
        others = words - _PLAIN
        return not others or (
            _LABEL.search(text) is not None
            and len(others) < _MAX_OTHER_WORDS
            and others.isdisjoint(self._topic)
            and all(word.kind != "name" for word in split_text(sentence)[1:])
        )


def _fold(text: str) -> str:
    """Writes a text in lower case, its words and colons with single spaces between them."""
    text = _CONTRACTION.sub(" not", text.casefold()).replace(":", " : ")
    text = _MADE_UP.sub("madeup", _SEPARATORS.sub(" ", text))
    return _OTHER_SENSE.sub("", text).strip()


def _is_false(words: frozenset[str], false: frozenset[str], true: frozenset[str]) -> bool:
    """Returns whether words have one of falsity, or a negation and one of truth."""
    return not false.isdisjoint(words) or not (
        _NEGATIONS.isdisjoint(words) or true.isdisjoint(words)
    )


def _read_pronouns(sentence: str, words: frozenset[str]) -> Scope:
    """Returns what a short sentence without names, such as "That is a myth.", takes back."""
    split = split_text(sentence)
    if (
        len(split) > _MAX_PRONOUN_WORDS
        or words.isdisjoint(_REFERRING)
        or any(word.kind in ("name", "number") for word in split)
    ):
        return "none"
    takes_back = not words.isdisjoint(_FALSE) or any(
        word.kind in ("negation", "hedge") and word.key not in QUALIFIERS for word in split
    )
    if not takes_back:
        return "none"
    return "last" if words.isdisjoint(_EVERYTHING) else "all"
