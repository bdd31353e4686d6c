"""Tells what a sentence states from what it asks, supposes, reports or denies, by lists of words.

The lists are English and German, and in doubt a word is in them: a sentence that is not believed
costs a card, one that is wrongly believed gives a card a wrong answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from kg.text.facts.evidence import pad_words

LANGUAGES: Final = ("en", "de")
"""Languages that there are lists for. With an empty language, all lists are used."""

_NUMBER_SIGN: Final = re.compile(r"\b(?:Nos?|Nr)\.(?=\s*\d)")
# Told from the month, the name "Will" and the German past by their letters, which ``pad_words``
# does not keep.
_MODAL: Final = re.compile(
    r"\b(?:may|MAY|will|WILL|(?i:würden?|hätten?|wären?|könnten?|dürften?|müssten?|möchten?))\b"
)

_NOT_NEGATING: Final = r"(?!only |just |merely |least |until |later |less |fewer |nur )"
_NEGATIONS: Final = {
    "en": r"not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without|hardly|scarcely|"
    r"barely|rarely|seldom|unable|impossible|incapable|false|untrue|unsupported|unavailable|"
    r"(?:is|are|was|were|do|does|did|has|have|had|wo|would|ca|could|should|must|might|need|ought|"
    r"sha|ai) ?n ?t|lack(?:s|ed|ing)?|fail(?:s|ed|ing|ure|ures)?|refus(?:e|es|ed|al|ing)|"
    r"den(?:y|ies|ied|ying|ial)|reject(?:s|ed|ing|ion)?|declin(?:e|es|ed|ing) to|"
    r"exclud(?:e|es|ed|ing)|except|omit(?:s|ted|ting)?|prevent(?:s|ed|ing)?|"
    r"prohibit(?:s|ed|ing)?|forb(?:id|ids|ade|idden)|cancel(?:s|led|ed|ling|ing|lation)?|"
    r"abort(?:s|ed)?|scrapped|shelved|drop(?:s|ped|ping) support|remov(?:e|es|ed|al|ing)|"
    r"ceas(?:e|es|ed)|stop(?:s|ped|ping)?|far from|(?:all|any|every|no)(?:thing|one|body)? but|"
    r"n a",
    "de": r"nicht|nie|niemals|nirgends|nirgendwo|nichts|niemand\w*|kein\w*|mitnichten|weder|ohne|"
    r"kaum|fehl(?:t|en|te|ten|ende\w*)|mangel\w*|unmoglich|verweiger\w*|scheiter\w*|gescheitert\w*|"
    r"bestr(?:eitet|eiten|itt|itten)|leugne\w*|falsch\w*|auss?er",
}
"""Words that deny, between the spaces of ``pad_words``: "didn't" is "didn t" there."""

_HEDGES: Final = {
    "en": r"if|unless|whether|supposing|suppos(?:e|ed|edly)|assum(?:e|es|ed|ing)|provided that|"
    r"hypothetical(?:ly)?|perhaps|maybe|possibly|probab(?:le|ly)|likely|unlikely|presumabl[ey]|"
    r"apparently|seem(?:s|ed|ingly)?|appear(?:s|ed)? to|"
    r"alleg(?:e|es|ed|edly|ation|ations)|reportedly|purported(?:ly)?|rumou?r(?:s|ed)?|"
    r"claim(?:s|ed|ing)?|so called|accus(?:e|es|ed|ation|ations)|"
    r"(?:is|are|was|were|been|being) (?:\w+ )?(?:said|believed|thought|considered|held|reported) "
    r"(?:to|that)|(?:say|says|said|think|thinks|thought|believe|believes|believed|argue|argues|"
    r"argued|suggest|suggests|suggested|insist|insists|insisted|predict|predicts|predicted) that|"
    r"doubt(?:s|ed|ful)?|disput(?:e|es|ed)|debat(?:e|es|ed)|speculat\w+|uncertain|unclear|"
    r"unconfirmed|disprove[dn]?|myths?|misconceptions?|hoax|wrong(?:ly)?|incorrect(?:ly)?|"
    r"mistak(?:en|enly|e)|erroneous(?:ly)?|falsely|unlike (?!(?:its?|his|her|their|most|other) )|"
    r"(?:some|many|several|most|writers|authors|scholars|historians|critics|experts|sources) "
    r"(?:\w+ ){0,2}(?:argued?|claim(?:ed)?|sa(?:y|id)|suggest(?:ed)?|believed?|think|thought|"
    r"maintain(?:ed)?|contend(?:ed)?)|"
    r"in theory|theoretically|on paper|(?:as|so) long as(?= \D)|in case(?! of)",
    "de": r"wenn|falls|sofern|ob|angeblich\w*|vermeintlich\w*|vermutlich\w*|mutmasslich\w*|"
    r"wahrscheinlich\w*|moglicherweise|womoglich|vielleicht|anscheinend|scheinbar|"
    r"schein(?:t|en)|offenbar|falschlich\w*|irrtumlich\w*|irrtum|mythos|gerucht\w*|legende|"
    r"behaupt\w*|umstritten\w*|zweifel\w*|anders als|im gegensatz|gilt als|"
    r"in der theorie|theoretisch|sobald|solange|vorausgesetzt",
}
"""Words of what is supposed, reported or disputed."""

_INTENTIONS: Final = {
    "en": r"would|might|could|should|must|shall|ought|to have been|"
    r"(?:is|are|was|were|had|have|has) (?:yet )?to|possible|potential(?:ly)?|almost(?= \D)|"
    r"nearly(?= \D)|plan(?:s|ned|ning)?|inten(?:d|ds|ded|tion)|expect(?:s|ed)|scheduled|"
    r"propos(?:e|es|ed|al)|attempt(?:s|ed|ing)?|tr(?:y|ies|ied|ying) to|want(?:s|ed)|"
    r"wish(?:es|ed)?|hop(?:es|ed|ing)|hope (?:to|that)|aim(?:s|ed)? to|s(?:eek|eeks|ought) to|"
    r"threaten(?:s|ed)? to|instead|rather than|former(?:ly)?|either|"
    r"(?<! is)(?<! are)(?<! was)(?<! were)(?<! be)(?<! been) used to",
    "de": r"might|soll(?:en|te|ten)?|will|wollten?|plan(?:t|te|ten|en)|geplant\w*|beabsichtig\w*|"
    r"versuch\w*|vorgesehen\w*|statt|anstatt|ehemalig\w*|fruhere\w?|entweder|beinahe|fast",
}
"""Words of what is planned, possible or over; what they govern follows them."""

_QUESTION_STARTS: Final = {
    "en": r"is|are|was|were|do|does|did|has|have|had|can|could|should|would|must|might|shall|how|"
    r"why|what|where|who|"
    # But "When she was 20, Ann …", "When founded in 1912, …"
    r"when(?! (?:(?:it|he|she|they) (?:was|were|had|began|became|\w+ed)|\w+ed) )|"
    r"whom|whose|which|let",
    "de": r"ist|sind|war|waren|hat|haben|hatte|kann|konnen|muss|wird|werden|wurde|might|wie|warum|"
    r"wer|wen|wem|wo|wann|welche\w?|was",
}
_DRAFT_SIGN: Final = re.compile(r"\b(?:TODO|FIXME|TBD)\b")
# What says "no" in a cell of a table, or beside an item of a list.
_REFUSAL_SIGN: Final = re.compile(r"[?？؟✗✘❌☒✖⛔🚫]|\|\s*[-–—−]+\s*(?:\||$)")
_CUT: Final = re.compile(r"(?<=[\w)]);\s|,\s(?=(?:and|while|whereas|und)\s|not [A-Z\d])")


def _compile(languages: Iterable[str], words: dict[str, str], end: str = "") -> re.Pattern[str]:
    return re.compile(rf" ({'|'.join(words[language] for language in languages)})(?= {end})")


_BY_LANGUAGE: Final = {"": LANGUAGES} | {language: (language,) for language in LANGUAGES}
_NEGATION: Final = {
    language: _compile(group, _NEGATIONS, _NOT_NEGATING) for language, group in _BY_LANGUAGE.items()
}
_HEDGE: Final = {language: _compile(group, _HEDGES) for language, group in _BY_LANGUAGE.items()}
_INTENTION: Final = {
    language: _compile(group, _INTENTIONS) for language, group in _BY_LANGUAGE.items()
}
_QUESTION_START: Final = {
    language: _compile(group, _QUESTION_STARTS) for language, group in _BY_LANGUAGE.items()
}


def mark_modals(text: str) -> str:
    """Tells "No. 5" and what may be from other words, by others for them."""
    return _MODAL.sub("might", _NUMBER_SIGN.sub("number", text))


def pad_statement(text: str) -> str:
    """Returns the words of a text like ``pad_words``, after ``mark_modals``."""
    return pad_words(mark_modals(text))


def split_clauses(text: str) -> list[str]:
    """Splits a sentence before what a denial of the rest would not be about; joined it is whole.

    "Ann met Bo; she never met Cy", "Ann met Bo, and Cy did not", "Ann met Bo, not Cy".
    """
    borders = [0, *(match.end() for match in _CUT.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(borders)]


def list_markers(words: str, language: str, said: str | None = None) -> list[str]:
    """Lists the words that make a sentence no plain statement: "not" for each that denies.

    Args:
        words: the sentence.
        language: its language.
        said: the part that says everything already, if there is one. What is planned in the rest is
            something else: "Ann founded Bo to have a home that would last".
    """
    return sorted(
        [
            *("not" for _ in _NEGATION[language].finditer(words)),
            *_HEDGE[language].findall(words),
            *_INTENTION[language].findall(words if said is None else said),
        ]
    )


def remove_markers(words: str, language: str) -> str:
    """Returns words without those that ``list_markers`` finds."""
    for patterns in (_NEGATION, _HEDGE, _INTENTION):
        words = patterns[language].sub("", words)
    return words


def may_state(text: str) -> bool:
    """Returns whether a sentence has no sign of a question, a "no" in a table or a draft."""
    return not (_REFUSAL_SIGN.search(text) or _DRAFT_SIGN.search(text))


def asks(words: str, language: str) -> bool:
    """Returns whether a sentence begins as a question, or as a heading in the place of one."""
    return _QUESTION_START[language].match(words) is not None
