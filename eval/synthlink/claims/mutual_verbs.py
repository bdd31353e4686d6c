"""Verbs that say the same of both sides, and verbs that say of several things what none does alone.

"A met B" says that B met A, and "A and B formed C" does not say that A formed C.
"""

from __future__ import annotations

from typing import Final

from eval.synthlink.claims.verb_forms import list_forms
from kg.base.plain_text import list_words


def _list_all_forms(verbs: str) -> frozenset[str]:
    return frozenset(form for verb in list_words(verbs) for form in list_forms(verb))


SYMMETRIC: Final = _list_all_forms(
    "meet marry wed divorce fight battle join link connect equal resemble match mirror parallel "
    "ally trade barter bargain negotiate compete contend rival race duel clash collide quarrel "
    "argue debate disagree agree differ unite combine merge fuse mix blend bond react interact "
    "share exchange swap border adjoin abut neighbour neighbor face touch cross intersect "
    "overlap coincide correlate correspond cooperate collaborate communicate converse talk partner "
    "accompany befriend know visit kiss love admire hate respect help support oppose influence "
    "inspire criticise criticize attack complement balance contradict exclude alternate coexist"
) | frozenset(list_words("heiratete traf trafen half kannte kannten grenzt grenzte glich verband"))
"""Verbs of which A and B can be exchanged: the sentence still says the same, or may be true too."""
COLLECTIVE: Final = (
    SYMMETRIC
    | _list_all_forms(
        "form make create become produce yield comprise constitute compose total sum add amount "
        "gather assemble converge surround enclose flank outnumber conspire divide separate split "
        "partition distinguish compare contrast reconcile pair mate cross bracket sandwich team "
        "club band jointly cofound coauthor star collaborate vary range alternate"
    )
    | frozenset(
        list_words(
            "between both together jointly either alike respectively mutual mutually collectively "
            "combined joint common other another alternately simultaneously union alliance mixture "
            "alloy combination partnership pair couple"
        )
    )
)
"""Words of what "A and B" do or are together, or to each other."""
