"""Lists what follows from a sentence of the evidence by leaving out what only adds to it.

"The calculator maker Busicom placed an order with Intel in 1969" says that Busicom placed one, and
that an order was placed with Intel. Only what no reader would dispute follows here: a part of
"A, B and C" did what all did, a thing that somebody made was made, and what happened at a place
happened. Nothing is left out below a word that limits what is said ("only", "nearly", "planned"),
and never the qualities of things: a strong guilder is not the guilder.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from eval.synthlink.claims.lexicon import LIGHT, RELATION_BY_WORD, SCOPES, UNTELLING_NAMES
from eval.synthlink.claims.mutual_verbs import COLLECTIVE
from eval.synthlink.claims.verb_forms import IRREGULAR_PASTS
from eval.synthlink.claims.words import Word, is_noun_of_lexicon
from kg.base.plain_text import list_words

_MAX_FOLLOWING: Final = 40
"""Maximum number of sentences that are derived from one."""
_MAX_PHRASES: Final = 3
"""Maximum number of phrases of place and time that are left out of a sentence."""
_INTENSIFIERS: Final = frozenset(
    list_words(
        "far sharply greatly steeply strongly vastly considerably significantly rapidly "
        "quickly dramatically steadily downriver upriver downstream upstream"
    )
)
_AMOUNTS: Final = frozenset(("dozens", "scores", "hundreds", "thousands", "millions"))
_ARTICLES: Final = frozenset(("the", "a", "an", "its", "their", "his", "her"))
_PREPOSITIONS: Final = frozenset(
    list_words("at in on from to during through within near off along across")
)
_FOR: Final = frozenset(
    list_words("for as by after before until since around with into onto against upon")
)
"""Words that begin a phrase, too, which is only left out at the end."""
_ENDS: Final = frozenset(
    list_words(
        "that which who whose whom where when while because if so than not nor or whether and but"
    )
)
"""Words at which the part of a sentence ends in which phrases are found."""
_AND: Final = "and"
_OF: Final = frozenset(("of", "between", "among", "amongst"))
"""Words after which "A and B" belong to a noun as one: "the union of A and B"."""
_OF_SUBJECTS: Final = _OF | frozenset(("from", "with", "against", "to", "for", "by", "in"))
"""As before, where they belong to the subject: "a treaty with A and B ended it"."""
_QUANTITIES: Final = frozenset(
    list_words(
        "hundred thousand million billion trillion dozen score hundreds thousands millions "
        "billions dozens scores half third thirds quarter quarters percent double twice triple "
        "most majority total average sum altogether"
    )
)
"""Words of amounts that hold for several things together."""
_BE: Final = frozenset(("is", "are", "was", "were", "been", "be", "being"))
_AUXILIARIES: Final = _BE | {"has", "have", "had", "do", "does", "did", "became", "become"}
_INTRANSITIVE: Final = frozenset(
    list_words(
        "became become remained came went rose fell grew died arose appeared collapsed lasted "
        "seemed stayed happened occurred existed belonged descended lived sailed walked marched"
    )
)
_EXCEPTIONAL: Final = frozenset(
    list_words(
        "first last second third only most least best worst all every each any most nobody none "
        "always mainly largely chiefly earliest latest"
    )
)
"""Words that may say less of a whole than of a part: "first in Britain" is not "first"."""
_OCCUPATIONS: Final = frozenset(
    list_words(
        "maker manufacturer company firm airline publisher retailer brewer carmaker shipbuilder "
        "clockmaker watchmaker chemist biochemist physicist biologist engineer "
        "inventor scientist researcher mathematician astronomer physician doctor surgeon botanist "
        "zoologist geologist meteorologist oceanographer entomologist economist historian "
        "archaeologist philosopher writer novelist poet author playwright painter sculptor "
        "composer architect journalist photographer merchant trader industrialist businessman "
        "entrepreneur banker lawyer politician statesman activist reformer campaigner teacher "
        "carpenter mechanic printer farmer explorer navigator pharmacologist virologist "
        "psychologist linguist trucker planter"
    )
)
"""Nouns before a name that say what somebody is, so that the name alone means the same."""
_TELLING_APART: Final = frozenset(
    list_words(
        "former future alleged fictional fictitious fake supposed later rival "
        "other another new old younger elder older junior senior original same wrong second third "
        "next previous real true unknown imaginary"
    )
)
"""Words before a name that say that it was not, or not then, what is said of it, or which one."""
_WAS: Final = Word("was", "was", "light", 0)


def list_consequences(words: Sequence[Word]) -> list[list[Word]]:
    """Returns what follows from a sentence, as words; the sentence itself comes first.

    Args:
        words: words of the sentence.
    """
    plain = _drop_amounts([word for word in words if word.key not in _INTENSIFIERS])
    found: dict[tuple[int, ...], list[Word]] = {}

    def add(following: list[Word]) -> None:
        found.setdefault(tuple(map(id, following)), following)

    add(list(words))
    add(plain)
    n_verbs = sum(map(_is_past, words))
    if n_verbs > 1 or any(
        word.key in SCOPES or word.kind in ("negation", "hedge") for word in words
    ):
        return list(found.values())
    for one in _drop_descriptions(plain):
        for conjuncts in _iter_conjuncts(one):
            for phrases in _iter_phrases(conjuncts):
                add(phrases)
                passive = make_passive(phrases)
                if passive:
                    add(passive)
                if len(found) >= _MAX_FOLLOWING:
                    return list(found.values())
    return list(found.values())


def _drop_amounts(words: Sequence[Word]) -> list[Word]:
    """Leaves out "dozens of", which says more than that there were some."""
    return [
        word
        for place, word in enumerate(words)
        if not (
            (word.key in _AMOUNTS and place + 1 < len(words) and words[place + 1].key == "of")
            or (word.key == "of" and place and words[place - 1].key in _AMOUNTS)
        )
    ]


def find_verb(words: Sequence[Word]) -> int | None:
    """Returns the place of the verb of a simple sentence; None if it is not sure."""
    for place, word in enumerate(words[1:], 1):
        if word.key in _ENDS - {_AND, "that"}:
            return None
        if _is_past(word) or word.key in _AUXILIARIES:
            return place
    return None


def _is_past(word: Word) -> bool:
    return word.kind in ("content", "light") and (
        word.key in IRREGULAR_PASTS
        or word.key in ("put", "set", "cut")
        or (len(word.key) > len("aged") and word.key.endswith("ed"))
        or (
            word.key in RELATION_BY_WORD
            and not is_noun_of_lexicon(word)
            and word.key.endswith(("ed", "de", "ew", "ld", "ve"))
        )
    )


def _drop_descriptions(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yields a sentence, and without what is said of a name before it: "the maker Busicom".

    "A new Rome" is not Rome: only nouns that say what somebody is are left out.
    """
    yield list(words)
    for place, word in enumerate(words):
        if word.key != "the":
            continue
        after = place + 1
        while after < len(words) and _is_common(words[after]):
            after += 1
        end = after
        while end < len(words) and words[end].kind == "name":
            end += 1
        if end == after or words[after - 1].key not in _OCCUPATIONS:
            continue
        # "the Swiss industry" names no Swiss: a name that belongs to a noun is no name alone.
        following = words[end] if end < len(words) else None
        if following is None or following.kind == "light" or _is_past(following):
            yield [*words[:place], *words[after:]]


def _is_common(word: Word) -> bool:
    return word.kind == "content" and not _is_past(word) and word.key not in _TELLING_APART


def _is_exceptional(word: Word) -> bool:
    return word.key in _EXCEPTIONAL or (len(word.key) > len("test") and word.key.endswith("est"))


def _iter_conjuncts(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yields a sentence, and with a part only of each "A, B and C"."""
    yield list(words)
    if _is_of_all(words):
        return
    for place, word in enumerate(words):
        if word.key != _AND or place == 0 or place + 1 >= len(words):
            continue
        if any(one.key == _AND for one in words if one is not word):
            continue
        # "Its authors are A and B" does not say that they are A.
        if any(one.key in _BE for one in words[:place]) and not any(map(_is_past, words)):
            continue
        if _belong_to_noun(words, place):
            continue
        if _shares_noun(words, place):
            yield [*words[:place], *words[place + 2 :]]
            yield [*words[: place - 1], *words[place + 1 :]]
        first = _find_start(words, place)
        end = _find_end(words, place + 1)
        if first is None or end is None:
            continue
        before, after = words[first:place], words[place + 1 : end]
        # "The Food and Drug Act" is one act.
        is_one = len(after) > len(before) or (
            after[-1].key in UNTELLING_NAMES and before[-1].key not in UNTELLING_NAMES
        )
        if is_one and first and words[first - 1].key == "the":
            continue
        items = [*_split_items(before), list(after)]
        for size in range(len(items) - 1, 0, -1):
            for kept in itertools.combinations(items, size):
                joined: list[Word] = []
                for index, item in enumerate(kept):
                    joined += [word, *item] if index and index == len(kept) - 1 else item
                yield [*words[:first], *joined, *words[end:]]


def _is_of_all(words: Sequence[Word]) -> bool:
    """Returns whether what a sentence says may hold only of several things together."""
    return any(
        word.key in COLLECTIVE
        or word.key in _QUANTITIES
        or (word.kind == "number" and not _is_year(words, place))
        for place, word in enumerate(words)
    )


def _is_year(words: Sequence[Word], place: int) -> bool:
    """Returns whether a number is surely a year: not that of "they lost 1900 men"."""
    if not words[place].number.is_year:
        return False
    is_of_name = place > 1 and words[place - 1].key == "of" and words[place - 2].kind == "name"
    return is_of_name or place + 1 == len(words) or words[place + 1].kind != "content"


def _belong_to_noun(words: Sequence[Word], place: int) -> bool:
    """Returns whether what "and" joins belongs to a noun: "a mixture of copper and tin"."""
    verb = find_verb(words)
    is_subject = verb is not None and place < verb
    start = place - 1
    while start >= 0 and (
        words[start].key in _ARTICLES
        or (words[start].kind in ("name", "content") and not _is_past(words[start]))
    ):
        start -= 1
    return start > 0 and words[start].key in (_OF_SUBJECTS if is_subject else _OF)


def _shares_noun(words: Sequence[Word], place: int) -> bool:
    """Returns whether "and" joins two nouns before one: "safety and labour laws"."""
    if place + 2 >= len(words):
        return False
    around = (words[place - 1], words[place + 1], words[place + 2])
    return all(word.kind == "content" and not _is_past(word) for word in around) and words[
        place + 2
    ].key.endswith("s")


def _find_start(words: Sequence[Word], place: int) -> int | None:
    """Returns where the things before "and" begin: names, or one noun."""
    start = place
    while start and words[start - 1].kind == "name":
        start -= 1
    if start < place:
        return start
    if words[place - 1].kind == "content" and not _is_past(words[place - 1]):
        is_alone = place < 2 or words[place - 2].kind == "light" or _is_past(words[place - 2])
        return place - 1 if is_alone else None
    return None


def _find_end(words: Sequence[Word], start: int) -> int | None:
    end = start
    while end < len(words) and words[end].kind == "name":
        end += 1
    if end > start:
        is_end = end == len(words) or words[end].kind in ("light", "number") or _is_past(words[end])
        return end if is_end else None
    if start < len(words) and words[start].kind == "content" and not _is_past(words[start]):
        end = start + 1
        is_end = end == len(words) or words[end].kind in ("light", "number") or _is_past(words[end])
        return end if is_end else None
    return None


def _split_items(words: Sequence[Word]) -> list[list[Word]]:
    """Splits "Florey, Chain" at its commas, which show as more than a space between words."""
    items: list[list[Word]] = []
    for word in words:
        last = items[-1][-1] if items else None
        gap = word.start - last.start - len(last.text) if last is not None else 0
        if last is None or gap > 1:
            items.append([word])
        else:
            items[-1].append(word)
    return items


def _iter_phrases(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yields a sentence, and without phrases of place and time after its verb."""
    verb = find_verb(words)
    if verb is None or any(_is_exceptional(word) for word in words):
        yield list(words)
        return
    starts = []
    for place in range(verb + 2, len(words)):
        if words[place].key in _ENDS - {_AND}:
            break
        following = words[place + 1] if place + 1 < len(words) else None
        is_verb_next = words[place].key == "to" and (
            following is None or following.kind == "content"
        )
        if words[place].key in _PREPOSITIONS | {"for"} and not is_verb_next:
            starts.append(place)
    spans = []
    for place in starts[-_MAX_PHRASES:]:
        end = place + 1
        while end < len(words) and words[end].key not in _PREPOSITIONS | _FOR | _ENDS:
            end += 1
        # "to Fleming and Florey": what follows "and" would be left without its preposition.
        goes_on = end < len(words) and words[end].key == _AND
        if not goes_on and not any(
            _is_past(word) or word.kind == "number" for word in words[place:end]
        ):
            spans.append((place, end))
    for size in range(len(spans) + 1):
        for dropped in itertools.combinations(spans, size):
            yield [
                word
                for place, word in enumerate(words)
                if not any(start <= place < end for start, end in dropped)
            ]


def make_passive(words: Sequence[Word]) -> list[Word] | None:
    """Returns what was done, for a sentence that says who did it; None if it is not sure.

    "Bardeen built the transistor at Bell Labs" becomes "the transistor was built at Bell Labs".
    """
    verb = find_verb(words)
    if verb is None or not _is_past(words[verb]) or words[verb].key in _INTRANSITIVE | _AUXILIARIES:
        return None
    if any(word.key in LIGHT - _ARTICLES - {"of", "and", "s"} for word in words[:verb]):
        return None
    end = verb + 1
    while end < len(words) and (
        words[end].key in _ARTICLES
        or words[end].key in ("of", "and")
        or (words[end].kind in ("name", "content", "number") and not _is_past(words[end]))
    ):
        end += 1
    thing = words[verb + 1 : end]
    if not any(word.kind in ("name", "content") for word in thing):
        return None
    if end < len(words) and words[end].key not in _PREPOSITIONS | _FOR:
        return None
    return [*thing, _WAS, words[verb], *words[end:]]


def complete_passive(words: Sequence[Word]) -> list[Word] | None:
    """Returns "X was displaced" for the headline "X displaced"; None for other sentences."""
    last = words[-1] if words else None
    if (
        last is None
        or len(words) < len(("X", "displaced"))
        or not _is_past(last)
        or last.key in _INTRANSITIVE | _AUXILIARIES
        or any(_is_past(word) or word.key in _AUXILIARIES for word in words[:-1])
    ):
        return None
    return [*words[:-1], _WAS, last]
