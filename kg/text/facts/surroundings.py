"""Tells by the words around a fact whether a sentence states it or orders or supposes it.

These words also occur in true statements ("Save the Children", "a test match", "Ann, when she was
20, …"), so it counts where they stand: before the subject, before the object, or after it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from kg.text.facts.relation_words import stem_verb

_ARTICLE: Final = r"(?: (?:the|an?|all|any|der|die|das|den|dem))?"
_EXCLUSIONS: Final = (
    r"other than|apart from|aside from|save(?: for)?|barring|excepting|excluding|"
    r"with the exception of|as opposed to|in contrast to|in (?:place|lieu) of|abgesehen von|"
    r"mit ausnahme (?:von|des|der)|im (?:unterschied|gegensatz) zu[mr]?|ausgenommen"
)
_EXCLUDED_SUBJECT: Final = re.compile(rf" (?:{_EXCLUSIONS}|except){_ARTICLE} $")
# "Ann wrote besides novels" adds something, but "all besides Bo" leaves something out.
_EXCLUDED_OBJECT: Final = re.compile(rf" (?:{_EXCLUSIONS}|besides|bar|minus|bis auf){_ARTICLE} $")
_EXCLUDED_AFTER: Final = re.compile(r" (?:aside|excepted|excluded|ausgenommen) ")
_COMPARED: Final = re.compile(r"(?<! more)(?<! less)(?<! fewer) than (?:\w+ )?$")

_ORDER_START: Final = re.compile(
    r" (?:(?:please|always|then|now|first|also|next|bitte) )*"
    r"(?:make sure|be sure|ensure|verify|check (?:that|whether)|confirm|"
    r"test (?:that|whether)|avoid|beware|imagine|pretend|learn how|getting|"
    r"(?:stell\w*|achte\w*|pruf\w*|uberpruf\w*|vergewisser\w*|vermeide\w*|sorg\w*)"
    r"(?= (?:sie |bitte |sich |sicher |darauf |dafur )*(?:dass|ob|$))) "
)
_ORDERED: Final = re.compile(
    r" (?:make sure|ensures?|verify|check|confirm|test|avoid|imagine|pretend|say|how|sicherstellen)"
    rf"(?: that| dass)?{_ARTICLE} $"
)
_REPORTED: Final = re.compile(
    r" (?:thinks?|thought|believes?|believed|assumes?|assumed|says?|said|hopes?|hoped|guess(?:es)?|"
    r"suggests?|feels?|wish(?:es)?|expects?|glaub(?:t|en)|mein(?:t|en)|denk(?:t|en)|sag(?:t|en)|"
    rf"hoff(?:t|en))(?: that| dass)?{_ARTICLE} $"
)
_CONDITION: Final = re.compile(
    rf" (?:in case|as long as|so long as|provided|sobald|solange)(?: that)?{_ARTICLE} $"
)
_TIME: Final = re.compile(
    r" (?:until|till|before|after|once|as soon as|when|whenever|bevor|ehe|nachdem|sobald)"
    rf"{_ARTICLE} $"
)
_PRESENT: Final = re.compile(
    r" (?:\w+ly |also |auch )?(?:is|are|has|have|\w{2,}s|\w+(?:iest|auft|elt|iert|agt|utzt|etzt)) "
)
_PAST: Final = re.compile(r" (?:was|were|had|did|\w{2,}ed|wurden?|waren?|hatten?|\w{2,}te) ")
_PRESENT_CONDITION: Final = re.compile(
    r" (?:when|whenever|provided|as soon as|once(?! (?:an?|every|in|per) )|until) (?:that )?"
    r"(?:(?!was |were |had )\w+ ){1,3}?(?:is|are|has been|have been|exists?) "
)
_ENDED: Final = re.compile(
    r" (?:is|are|was|were|has been|have been|has|have|got|ist|wird|wurde) "
    r"(?:now |since |then |already |later )?"
    r"(?:dropped|deprecated|discontinued|ended|abandoned|obsolete|broken|untested|retired|"
    r"withdrawn|disabled|discouraged|veraltet|eingestellt|abgekundigt) "
)
_SUPPORT: Final = re.compile(r" (?:support|unterstutzung) (?:for|of|fur|von) ")
_BEFORE_ORDER: Final = re.compile(
    r"to|please|always|then|now|next|first|just|simply|never|you|we|who|users|people|and|or|not|only"
)
_WISHES: Final = re.compile(
    r"want(?:s|ed)?|like|needs?|ask(?:s|ed)?|allow(?:s|ed)?|let|gets?|getting|got|mak(?:e|ing)|for|"
    r"urged?|tell|told"
)
_ARTICLES: Final = (" the ", " a ", " an ")


def is_only_mentioned(
    before: str, between: str, after: str, claim: tuple[str, str], stems: Collection[str]
) -> bool:
    """Returns whether a sentence orders, excludes or supposes a fact, or says that it is over.

    Args:
        before: the words before the subject, between spaces, as all these.
        between: those between subject and object.
        after: those after the object.
        claim: relation and object, in words.
        stems: the stems of the relation's content words.
    """
    relation, target = claim
    return (
        _is_excluded(before, between, after, relation)
        or _is_less(between, relation, target)
        or _is_ordered(before, between, relation, stems)
        or _REPORTED.search(before) is not None
        or _CONDITION.search(before) is not None
        or (_TIME.search(before) is not None and _is_present(between, after))
        or _PRESENT_CONDITION.match(after) is not None
        or (_ENDED.match(after) is not None and _is_noun(before, between, stems))
    )


def _is_excluded(before: str, between: str, after: str, relation: str) -> bool:
    if _EXCLUDED_SUBJECT.search(before) or _EXCLUDED_AFTER.match(after):
        return True
    return bool(_EXCLUDED_OBJECT.search(between) and not _EXCLUDED_OBJECT.search(relation))


def _is_less(between: str, relation: str, target: str) -> bool:
    """Returns whether the object is what something is compared with: "better than on Windows"."""
    is_number = target[1:2].isdigit()
    return not is_number and " than " not in relation and bool(_COMPARED.search(between))


def _is_present(between: str, after: str) -> bool:
    """Returns whether a time clause is about what is not past: "Until Redis runs on Windows"."""
    if not between.strip():
        return _PRESENT.match(after) is not None  # "Bevor Redis Windows nutzt"
    return _PRESENT.match(between) is not None and _PAST.search(between) is None


def _is_ordered(before: str, between: str, relation: str, stems: Collection[str]) -> bool:
    """Returns whether a sentence is an order, a purpose, or a heading in their place."""
    if _ORDER_START.match(before) or _ORDERED.search(before):
        return True
    words = before.split()
    following = between.split()[:2]
    if words and len(following) > 1 and following[0] == "to" and _WISHES.fullmatch(words[-1]):
        return stem_verb(following[1]) in stems and not relation.startswith(" to ")
    if before.endswith(_ARTICLES):
        words.pop()
    if not words or stem_verb(words[-1]) not in stems or words[-1].endswith("ed"):
        return False
    # "Run Redis on Windows", "To run …", "Avoid running …", but "the ruling …", "went on to found"
    previous = words[-2:-1]
    if not previous or (_BEFORE_ORDER.fullmatch(previous[0]) and words[-3:-2] != ["on"]):
        return True
    return words[-1].endswith("ing") and previous[0] not in ("the", "a", "an", "its", "by")


def _is_noun(before: str, between: str, stems: Collection[str]) -> bool:
    """Returns whether a sentence speaks of the fact as a thing: "Redis running on Windows is …"."""
    first = between.split()[:1]
    is_gerund = bool(first) and first[0].endswith("ing") and stem_verb(first[0]) in stems
    return is_gerund or _SUPPORT.search(before) is not None
