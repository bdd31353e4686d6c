"""Lists the words by which the grammar of labels tells verbs, nouns and adjectives apart."""

from __future__ import annotations

import re

from kg.base.plain_text import list_words

PREPOSITIONS = frozenset(
    list_words(
        "about above across after against along among around as at before behind below beside "
        "between beyond by down during for from in inside into near of off on onto out outside "
        "over past since through throughout to toward towards under until up upon via with "
        "within without"
    )
)
# Third-person verbs that vocabularies use without a preposition. A closed list: "parents" and
# "traverses" have the same ending.
ADVERBS = frozenset(
    list_words(
        "directly indirectly negatively positively partially partly fully wholly completely mostly "
        "mainly usually formerly previously currently originally officially legally physically "
        "temporally spatially causally strictly properly jointly"
    )
)
"""Adverbs that may stand before the verb of a label."""
VERBS = frozenset(
    list_words(
        "accepts adopts affects allows applies appoints associates attends awards bears becomes "
        "borders bounds builds buys calls carries causes chairs cites classifies commissions "
        "complements composes comprises concretizes conducts connects constitutes consumes "
        "contains contributes controls covers creates crosses cuts deals defines delivers "
        "denotes depicts derives describes designs develops directs discovers drains drives "
        "edits employs enables endorses enters establishes exceeds exchanges excludes executes "
        "exemplifies expresses feeds finances follows forms founds fulfils funds generates "
        "governs grants heads heats hires holds hosts houses identifies illustrates implements "
        "implies includes influences inhabits inherits inhibits inputs inspires instantiates "
        "interacts interprets invents involves issues joins keeps knows leads leaves licenses "
        "likes limits lives loves maintains makes manages manifests manufactures marries "
        "measures meets mentions modifies needs observes occupies offers opens operates orbits "
        "organises organizes outputs outranks overlaps overlooks owns paints parallels performs "
        "plays possesses powers precedes prefers presents prevents processes produces promotes "
        "protects provides publishes qualifies quotes reaches reads realizes receives "
        "recommends references regulates reigns releases replaces represents requires reviews "
        "rules satisfies sees sells serves shares shows sings speaks specifies sponsors starts "
        "stores studies succeeds summarizes supersedes supplies supports surrounds takes "
        "targets teaches touches tracks trains transports traverses treats trusts uses "
        "validates visits watches wears wields wins writes"
    )
)
# Irregular past participles.
PARTICIPLES = frozenset(
    list_words(
        "agreed born bought brought built caught chosen decreed drawn driven fed found freed "
        "given grown guaranteed held hidden kept known laid led left lost made meant met overseen "
        "paid put read refereed run seen sent set shown sold spent split spoken spread sung taken "
        "taught thrown told understood won worn written"
    )
)
# Past form → infinitive of verbs that, before a preposition other than "by", are no participles.
PAST_VERBS = dict(
    pair.split(":")
    for pair in list_words(
        "abdicated:abdicate acted:act appeared:appear arose:arise arrived:arrive became:become "
        "began:begin belonged:belong came:come ceased:cease collapsed:collapse competed:compete "
        "consisted:consist contributed:contribute crashed:crash debuted:debut departed:depart "
        "died:die emerged:emerge ended:end erupted:erupt existed:exist expired:expire flowed:flow "
        "fought:fight generated:generate graduated:graduate grew:grow happened:happen "
        "influenced:influence invalidated:invalidate lived:live made:make occurred:occur "
        "originated:originate participated:participate played:play ranked:rank resided:reside "
        "resigned:resign resulted:result retired:retire served:serve started:start stayed:stay "
        "studied:study succeeded:succeed taught:teach took:take used:use voted:vote went:go "
        "worked:work wrote:write"
    )
)
# Verbs of ``PAST_VERBS`` that alone are statements in the vocabularies that use them (PROV, FOAF).
TRANSITIVE_PAST_VERBS = ("used", "generated", "influenced", "invalidated", "made")
# Adjectives, and participles in "-ing", that stand before prepositions or alone.
ADJECTIVES = frozenset(
    list_words(
        "adjacent analogous available broader capable close coextensive coincident common "
        "connected contiguous dependent different due eligible endemic equal equivalent free "
        "identical inferior narrower native new next old opposite other parallel present "
        "previous prior relevant responsible same similar specific spatial subsequent suitable "
        "superior temporal valid visible starring featuring following preceding including"
    )
)
# In "member of party" the subject is the member and "party" is the object's class. With other
# nouns the object is what the label names: "date of birth", "head of state".
MEMBER_NOUNS = frozenset(
    list_words(
        "component copy descendant edition example instance member part revision subclass "
        "subproperty subset translation version"
    )
)
# Nouns with which the subject is meant before a preposition: "participant in".
ROLE_NOUNS = frozenset(
    list_words(
        "candidate contributor heir participant party signatory subscriber successor witness"
    )
)
# Last words of nouns that begin like verbs: "plays count", "issues total".
COUNT_NOUNS = frozenset(
    list_words(
        "amount code count date id ID identifier name number rate score size title total type"
    )
)
SINGULARS_IN_S = frozenset(
    list_words("address alias atlas basis bus canvas chaos gas gps lens news series species status")
)
# Frequent words of German, French, Italian, Spanish and Dutch that are not English. A label of
# several words with one of them is not English.
FOREIGN_WORDS = frozenset(
    list_words(
        "von vom zum zur für und der des dem ist wird hat bei nach mit du les aux est dans avec "
        "pour et de la le del della dello di el las los por con het een"
    )
)
_MEASURES = frozenset(
    list_words(
        "altitude area breadth capacity circumference depth diameter discharge displacement "
        "distance duration elevation energy frequency height length mass power pressure radius "
        "range speed temperature thickness velocity voltage volume weight width wingspan"
    )
)
"""Nouns after which the last word of a label can be a unit."""
_UNITS = {
    unit.replace("_", " ").casefold(): unit.replace("_", " ")
    for unit in list_words(
        "ft m km cm mm mi yd nm nmi km2 m2 m3 sq_km sq_mi sq_m sq_ft ha kg g mg lb lbs oz t l ml "
        "kW MW GW kWh MWh GWh Hz kHz MHz GHz V kV kmh kph mph bar hPa kPa s ms min h"
    )
}
_COUNT = re.compile(r"(?:num|nb) (?=[a-z ]+s$)")


def spell_out_label(label: str) -> str:
    """Sets off the unit in a label, and spells out "num": "elevation (ft)", "number of pages"."""
    words = label.split(" ")
    for n_words in (1, 2):
        unit = _UNITS.get(" ".join(words[-n_words:]).casefold())
        if unit and words[:-n_words][-1:] and words[-n_words - 1].casefold() in _MEASURES:
            return f"{' '.join(words[:-n_words])} ({unit})"
    return _COUNT.sub("number of ", label) if _COUNT.match(label) else label
