"""Decides which rules a graph's data suggest, what can be asked, and how many cards that gives."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from kg.profile.predicates import PredicateProfile
from kg.terms import is_malformed_iri

MIN_SUBJECTS = 15
"""Minimum number of subjects that must confirm a rule; one exception, and it is none."""
MIN_CEILING = 5
"""Minimum number of triplets of a predicate that is asked about."""
MAX_ASKED = 12
"""Maximum number of predicates that are asked about by default, those with most triplets."""
LARGE_PREDICATE = 1_000
"""Number of facts above which at most a tenth of them may be set aside."""

RuleKind = Literal["single value", "no reverse", ""]

# What the world lets have several values, even if each subject of this graph has one.
_SEVERAL = re.compile(
    r"\b(authors?|creat(ors?|es|ed by)|contribut\w*|editors?|translators?|artists?|compos\w+"
    r"|writers?|produc\w*|directors?|performers?|actors?|cast|characters?|nationalit\w+|citizen\w*|ethnic\w*"
    r"|interests?|members?|membership|languages?|genres?|topics?|subjects?|keywords?|tags?|awards?"
    r"|occupations?|professions?|jobs?|roles?|skills?|hobb\w+|spouses?|child(ren)?|parents?|friends?"
    r"|siblings?|relatives?|knows|works?|worked|employ\w*|employers?|affiliat\w*|educat\w*"
    r"|alma mater|owners?|owned by|owns|partners?|customers?|suppliers?|competitors?"
    r"|ingredients?|toppings?"
    r"|colou?rs?|materials?|relat\w*|similar|same|see|depicts?|images?|photos?|pages?|homepage"
    r"|e ?mails?|mbox|phones?|telephone|alias(es)?|nick ?names?|types?|kinds?|categor\w*|class(es)?"
    r"|derived|sources?|references?|cites?|mentions?|uses?|used|match\w*|links?|shares?|plays?"
    r"|speaks?|likes?|visit\w*|symptoms?|treat\w*|causes?|effects?|version\w*|instan\w+)\b"
)
# Containment can be stated of each level, so two values need not contradict each other.
_CONTAINMENT = re.compile(
    r"\b(part|parts|contain\w*|inside|within|in|located|location|place|region|country|state|city"
    r"|area|belongs|includes?|included|comprises?|consists?|member|has member|broader|narrower)\b"
)
# Texts say nothing that a question could ask about in one sentence.
_TEXT = re.compile(
    r"\b(names?|titles?|labels?|descriptions?|comments?|abstract|definitions?|notes?|summar\w+|text"
    r"|content|scope|caption|citation|rights|licen[cs]e|urls?|uri|iri|html|remarks?|bibliograph\w*)\b"
)
_PRECISE = re.compile(
    r"\b(date|year|time|day|month|start|end|begin\w*|birth|death|code|id|identifier|number|no|status"
    r"|count|amount|length|height|width|depth|area|mass|weight|size|value|score|rank|level|latitude"
    r"|longitude|elevation|altitude|population|price|cost|rate|total|duration|position|order|index"
    r"|postal|zip|unit|currency|format|wins|losses|ties|points|modified|created|updated|issued)\b"
)


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """What can be asked about one predicate."""

    profile: PredicateProfile
    rule: RuleKind
    """The rule that contradicts claims; empty if there is none."""
    support: str
    """How many subjects confirm the rule, or that the ontology states it."""
    needs_confirmation: bool
    """Whether the data confirm a rule that may be false of the world."""
    ceiling: int
    """The largest number of cards of each label."""
    is_asked: bool
    reason: str
    """Why nothing is asked; empty if something is."""


def assess_predicates(
    profiles: Iterable[PredicateProfile], confirmed: Collection[str] = ()
) -> tuple[Readiness, ...]:
    """Assesses what can be asked about each predicate, the most productive first.

    Args:
        profiles: all predicates.
        confirmed: IRIs of predicates of which the user says that a subject has one value.
    """
    rows = [_assess_predicate(profile, profile.iri in confirmed) for profile in profiles]
    rows.sort(key=lambda row: (-row.ceiling * row.is_asked, row.profile.iri))
    return tuple(
        msgspec.structs.replace(
            row, is_asked=False, reason=f"{MAX_ASKED} others give more cards; name it with --pred"
        )
        if row.is_asked and number >= MAX_ASKED
        else row
        for number, row in enumerate(rows)
    )


def _assess_predicate(profile: PredicateProfile, is_confirmed: bool) -> Readiness:
    rule, support, needs_confirmation = _find_rule(profile, is_confirmed)
    ceiling = _compute_ceiling(profile, rule)
    reason = ""
    if is_malformed_iri(profile.iri):
        reason = "its IRI is malformed"
    elif not profile.label:
        reason = "it has no readable label; give it one with rdfs:label"
    elif profile.has_literals and _TEXT.search(profile.label):
        reason = "its values are texts"
    elif needs_confirmation:
        reason = "a subject may have several values in the world; confirm.toml can say it has one"
    elif not rule and profile.subjects < MIN_SUBJECTS:
        reason = f"fewer than {MIN_SUBJECTS} subjects have a value"
    elif not rule and not profile.is_single_valued:
        reason = "subjects have several values, so another value contradicts nothing"
    elif not rule:
        reason = "it states where something belongs, so another value may be true as well"
    elif ceiling < MIN_CEILING:
        reason = (
            f"only {profile.nameable_subjects} of {profile.subjects} subjects have a unique, "
            "readable name and a value that a question can state"
        )
    return Readiness(
        profile=profile,
        rule=rule,
        support=support,
        needs_confirmation=needs_confirmation,
        ceiling=0 if reason else ceiling,
        is_asked=not reason,
        reason=reason,
    )


def _find_rule(profile: PredicateProfile, is_confirmed: bool) -> tuple[RuleKind, str, bool]:
    """Returns the rule, its support, and whether it needs confirmation."""
    n = profile.subjects
    label = profile.label.casefold()
    if profile.is_single_valued and (profile.is_functional or is_confirmed):
        who = "the ontology declares it functional" if profile.is_functional else "confirmed"
        return "single value", f"{who}; {n} of {n} subjects have one value", False
    if n < MIN_SUBJECTS:
        return "", "", False
    if profile.chained_subjects:
        # A hierarchy or sequence: its steps go one way.
        if profile.is_irreflexive and profile.is_asymmetric and profile.is_acyclic:
            m = profile.chained_subjects
            return "no reverse", f"no chain of {n} subjects ({m} of them longer) leads back", False
        return "", "", False
    if not profile.is_single_valued:
        return "", "", False
    support = f"{n} of {n} subjects have one value"
    if _PRECISE.search(label) and not _SEVERAL.search(label):
        return "single value", support, False
    if _SEVERAL.search(label):
        return "", support, True
    if _CONTAINMENT.search(label):
        return "", "", False
    return "single value", support, False


def _compute_ceiling(profile: PredicateProfile, rule: RuleKind) -> int:
    """Computes the largest number of triplets: each needs three subjects, one of them set aside.

    Of a predicate with over ``LARGE_PREDICATE`` facts, a tenth may be set aside; a contradiction of
    direction needs a chain of two links.
    """
    ceiling = profile.nameable_subjects // 3
    if rule == "no reverse":
        ceiling = min(ceiling, profile.chained_subjects)
    return min(ceiling, profile.facts // 10) if profile.facts > LARGE_PREDICATE else ceiling
