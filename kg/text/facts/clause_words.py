"""Lists the English and German words that tell where clauses begin and what they are about."""

from __future__ import annotations

import re
from typing import Final

from kg.base.plain_text import list_words


def _make_word_set(text: str) -> frozenset[str]:
    return frozenset(list_words(text))


JOINING: Final = _make_word_set("and but or then und aber sowie oder")
CONTRASTING: Final = _make_word_set(
    "while whereas when where because although though so if wahrend wohingegen weil obwohl"
)
"""What begins a clause that has a subject of its own."""
COMPARING: Final = _make_word_set("while whereas wohingegen")
"""What begins a clause about something else, to the end of the sentence."""
RELATIVES: Final = _make_word_set("who whom whose which that what")
AUXILIARIES: Final = _make_word_set(
    "is are was were be been being has have had do does did can could ist sind war waren "
    "wird werden wurde wurden hat haben hatte hatten kann konnen s"
)
ADVERBS: Final = _make_word_set(
    "also later then now first again once still only both often sometimes even originally soon "
    "previously formerly currently respectively auch spater dann erst wieder noch nur "
    "zuerst"
)
PREPOSITIONS: Final = _make_word_set(
    "inside outside opposite toward towards beside behind above below "
    "in on at of to by from for with as into onto near within under over during since "
    "through between against after before among about around along across off out until via "
    "auf bei von zu zum zur mit aus fur als im am seit unter uber nach vor durch"
)
TIMES: Final = _make_word_set("before after until since bevor nachdem bis seit")
LEADING_ELSEWHERE: Final = _make_word_set(
    "by to from near for with before after than against over outside beside behind above below "
    "von aus nach bei fur"
)
"""Prepositions whose noun is not that of another preposition."""
LEADING_FROM_VERB: Final = _make_word_set("from before over than near")
"""Those whose noun is no object of a verb."""
DETERMINERS: Final = _make_word_set(
    "the a an its his her their this these those some many most all other others another "
    "each every der die das den dem des ein eine einen einer ihr sein seine ihre andere"
)
ARTICLES: Final = _make_word_set("the a an der die das den dem des ein eine einem einer einen")
PLANNED: Final = _make_word_set(
    "designed meant supposed due set asked agreed decided offered invited ordered promised pledged"
)
CONSIDER: Final = ("consider", "explor", "discuss", "contemplat")
POSSESSIVES: Final = _make_word_set("his her its their ihr ihre sein seine")
UNSAID: Final = JOINING | ADVERBS | ARTICLES
PRONOUNS: Final = _make_word_set("it he she they er sie es")
OTHER_VERB: Final = re.compile(
    r"\w{2,}ed|sold|met|left|lost|won|led|became|wrote|made|built|bought|gave|took|grew|died|"
    r"chose|sang|rose|fell|held|kept|began|brought|taught|caught|drove|flew|spoke|told|found|paid|"
    r"said|went|came|saw|drew|threw|wore|broke|bore|beat|fought|sought|stood|spent|sent|lent|felt|"
    r"struck|shot|hid|fed|fled|laid"
)
FINITE_VERB: Final = re.compile(
    rf"\w{{2,}}(?:s|iest|auft|elt|iert|igt|agt|utzt|etzt|ommt)|ran|{OTHER_VERB.pattern}"
)
NAMING: Final = frozenset(["called", "named", "titled", "entitled", "nicknamed"])
MORE: Final = frozenset(["more", "less", "fewer"])
COPULAS: Final = frozenset(["is", "are", "was", "were"])
ORDERING: Final = _make_word_set("you use we one there install try see nutzen verwenden")
MARKS: Final = ",;:()[]–—-"
