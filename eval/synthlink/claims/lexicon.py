"""Words that decide what a claim says: relations and their opposites, negation, hedges, connectors.

English and German. A word that is not listed here is only ever equal to another form of itself, so
a missing word leaves a claim unjudged and never makes it right.
"""

from __future__ import annotations

from typing import Final

from eval.synthlink.claims.verb_forms import IRREGULAR_VERBS
from kg.base.plain_text import list_words

# Relation: its words, and the relation that is its opposite. Only words that assert the relation in
# any sentence: "cut" (a verb and a noun) or "lead" (a metal) would not do harm, since a claim must
# also have the same names in the same order.
_RELATIONS: Final[dict[str, tuple[str, str]]] = {
    "cause": (
        "cause causes caused causing led lead leads leading trigger triggers triggered provoke "
        "provoked provokes produced "
        "verursacht verursachte verursachten bewirkte bewirkten führte führten führt auslöste "
        "ausgelöst",
        "prevent",
    ),
    "prevent": (
        "prevent prevented prevents stop stopped stops avert averted hinder hindered block blocked "
        "verhinderte verhinderten verhindert stoppte stoppten",
        "cause",
    ),
    "enable": (
        "enable enables enabled allow allowed allows permitted permit possible ermöglichte "
        "ermöglichten ermöglicht erlaubte erlaubten",
        "prevent",
    ),
    "increase": (
        "increase increases increased increasing raise raised raises rise rises rose risen grow "
        "grew grown grows growth multiplied expand expanded expansion strengthen strengthened more "
        "higher stieg stiegen erhöhte erhöhten wuchs wuchsen zunahm mehr stärkte",
        "decrease",
    ),
    "decrease": (
        "decrease decreases decreased reduce reduces reduced reduction lower lowers lowered fall "
        "falls fell fallen decline declines declined drop dropped shrink shrank shrunk weaken "
        "weakened diminish diminished less fewer sank sanken senkte senkten verringerte "
        "verringerten fiel fielen weniger schwächte cut",
        "increase",
    ),
    "begin": (
        "begin begins began begun start starts started launch launched launches open opened opens "
        "opening begann begannen beginnt gestartet startete eröffnet eröffnete",
        "end",
    ),
    "end": (
        "end ends ended close closed closes cease ceased abolish abolished abolition endete "
        "endeten beendete beendeten schloss geschlossen",
        "begin",
    ),
    "support": (
        "support supported supports confirm confirmed confirms prove proved proven proves "
        "bestätigte bestätigten bewies bewiesen",
        "refute",
    ),
    "refute": (
        "refute refuted refutes disprove disproved contradict contradicted widerlegte widerlegten "
        "widerlegt",
        "support",
    ),
    "win": ("win wins won victory gewann gewannen gewonnen siegte siegten", "lose"),
    "lose": ("lose loses lost verlor verloren unterlag", "win"),
    "adopt": (
        "adopt adopted adopts adoption pass passed passes enact enacted verabschiedete "
        "verabschiedeten verabschiedet",
        "repeal",
    ),
    "repeal": (
        "repeal repealed repeals revoke revoked rescinded rescind aufgehoben",
        "adopt",
    ),
    "ban": (
        "ban banned bans forbid forbade forbidden prohibit prohibited verbot verboten",
        "legalise",
    ),
    "legalise": ("legalise legalised legalize legalized legalisierte", "ban"),
    "grow": ("profitable lucrative rentabel profitabel", "ruin"),
    "ruin": ("unprofitable worthless unrentabel", "grow"),
    "appear": ("appeared published publish publishes publication issued erschien erschienen "
               "veröffentlichte veröffentlichten veröffentlicht", ""),
    "make": ("made make makes building built build builds develop developed develops create "
             "created constructed construct baute bauten gebaut entwickelte entwickelten "
             "entwickelt", ""),
    "invent": ("invent invented invents invention devise devised erfand erfanden erfunden", ""),
    "find": ("find finds found discover discovered discovers discovery detected detect fand fanden "
             "gefunden entdeckte entdeckten entdeckt", ""),
    "sell": ("sell sells sold sale verkaufte verkauften verkauft", "buy"),
    "buy": ("buy buys bought purchase purchased kaufte kauften gekauft", "sell"),
    "arrive": ("arrived arrive arrives reached reach reaches erreichte erreichten gelangte", ""),
    "sign": ("sign signs signed unterzeichnete unterzeichneten unterzeichnet", ""),
    "rich": ("cheap cheaper cheapest billig billiger", "dear"),
    "dear": ("dear dearer expensive costlier teuer teurer", "rich"),
    "many": ("many numerous countless viele zahlreich zahlreiche", "few"),
    "few": ("few scarce rare wenige selten", "many"),
    "before": ("before earlier prior bevor vorher früher", "after"),
    "after": ("after afterwards later nach nachdem danach später", "before"),
    "up": ("up upward upwards above over aufwärts über", "down"),
    "down": ("down downward downwards below under abwärts unter", "up"),
    "first": ("first erste erster ersten erstmals", "last"),
    "last": ("last final letzte letzter letzten", "first"),
}  # fmt: skip
# Words that say the same in most sentences, one row each: verbs with their nouns, and other words.
_SYNONYMS: Final = """
destroy destroyed destruction eradicate eradicated exterminated extinction extinct zerstörte
kill killed killing killer tötete töteten getötet
eat ate eaten eats devour devoured fraß gefressen
die died death deaths starb starben tod
find found discover discovered detect detected observe observed
recognise recognised recognize recognized identify identified interpreted erkannte erkannten
explain explained explains explanation erklärte erklärten
receive received awarded won gewann erhielt erhielten bekam
write wrote written writes author schrieb schrieben geschrieben verfasste
propose proposed suggested schlug vorgeschlagen
establish established establishes founded founding gründete gründeten gegründet
begin began begun start started launch launched founded established
finish finished complete completed completion vollendete vollendet
bend bends bent bending deflect deflected deflection
carry carried transport transported shipped trug transportierte
collapse collapsed crash crashed zusammenbruch
use used uses using employ employed nutzte benutzte verwendete
move moved moves migrate migrated zog zogen
walk walked march marched marching marschierte marsch
jail jailed imprison imprisoned arrest arrested inhaftiert verhaftet
free freed release released befreite freigelassen
sink sank sunk wreck wrecked shipwreck shipwrecked founder foundered gesunken
eruption erupt erupted erupts ausbruch brach
double doubled doubles doubling verdoppelte verdoppelt
slave slaves enslaved slavery sklave sklaven sklaverei
split divided decomposed spaltete gespalten zerlegte zerlegten zerlegt
ruin ruined ruins ruinierte ruiniert bankrupted
replace replaced displaces displaced supplant supplanted ersetzte ersetzten verdrängte verdrängt
show showed shown shows demonstrate demonstrated zeigte zeigten gezeigt
measure measured measures measurement maß gemessen
link linked links connect connected connects join joined joins verband verbindet
lead led leader head headed chief anführer leiter leitete geführt angeführt
overtake overtook surpass surpassed outstrip outstripped überholte überholten
isolate isolated isolierte isoliert
persuade persuaded convince convinced überzeugte überzeugten überzeugt
organise organised organize organized staged organisierte organisierten organisiert
notice noticed observe observed bemerkte bemerkten bemerkt beobachtete
purify purified reinigte reinigten gereinigt
occupy occupied besetzte besetzten besetzt
ratify ratified ratifizierte ratifiziert
derive derived derives beruht beruhte basiert basierte
see sees saw seen sah sahen gesehen
warn warned warnte warnten gewarnt
report reported announce announced meldete meldeten gemeldet
record recorded register registered registrierte registrierten aufgezeichnet
defeat defeated defeats beat besiegte besiegten besiegt
""".strip().splitlines()
_VERB_FORMS: Final = [" ".join(row) for row in IRREGULAR_VERBS]
_NOUN_SYNONYMS: Final = """
colleagues others team kollegen
contest competition wettbewerb
foremost leading principal führend führenden
novel novels book books roman buch
ship ships vessel vessels boat boats schiff schiffe
law laws act statute legislation gesetz gesetze
country nation state land staat
price prices cost costs preis preise kosten
trade commerce handel
people inhabitants population bevölkerung menschen
disease illness sickness epidemic krankheit seuche
worker workers labourer labourers laborer laborers arbeiter
labour labor work arbeit
farmer farmers planter planters grower growers pflanzer bauern landwirte
factory factories works plant mill fabrik fabriken werk
army troops soldiers soldier armee truppen soldaten
rising revolt rebellion uprising insurrection aufstand rebellion erhebung
island isle islands isles insel inseln
sea ocean meer ozean
size area territory fläche gebiet größe
wage wages pay salary lohn löhne
machine device apparatus maschine gerät
noise hiss static rauschen
method technique procedure process methode verfahren
neighbouring neighboring nearby adjacent benachbarte benachbarten
colony colonies kolonie kolonien
war wars warfare krieg kriege
peace frieden
treaty pact agreement convention vertrag abkommen pakt
prize award preis
annual yearly jährlich jährliche jährlichen
mould mold schimmelpilz
riot riots unrest unruhen
firm firms company companies firma firmen unternehmen
scientist scientists researcher researchers forscher wissenschaftler
satellite satellit
vaccine vaccination impfung impfstoff
fire blaze brand feuer
parliament parlament
congress kongress
crown krone
emperor kaiser
""".strip().splitlines()
RELATION_BY_WORD: Final[dict[str, frozenset[str]]] = {
    word: frozenset(
        name
        for name, words in (
            *((name, list_words(words)) for name, (words, _) in _RELATIONS.items()),
            *(
                (row.split()[0] + "*", row.split())
                for row in (*_SYNONYMS, *_VERB_FORMS, *_NOUN_SYNONYMS)
            ),
        )
        if word in words
    )
    for text in (
        *(words for words, _ in _RELATIONS.values()),
        *_SYNONYMS,
        *_VERB_FORMS,
        *_NOUN_SYNONYMS,
    )
    for word in list_words(text)
}
"""Word → the relations and meanings that it can express."""
NOUNS: Final = frozenset(word for row in _NOUN_SYNONYMS for word in row.split()) - frozenset(
    word for words, _ in _RELATIONS.values() for word in list_words(words)
)
"""Words of the lexicon that are no verbs in most sentences."""
OPPOSITES: Final[dict[str, str]] = {
    name: opposite for name, (_, opposite) in _RELATIONS.items() if opposite
}

PHRASES: Final[dict[tuple[str, str], str]] = {
    (verb, particle): meaning
    for verbs, particle, meaning in (
        ("came come comes", "out", "appeared"),
        ("broke break breaks", "out", "began"),
        ("set", "up", "established"),
        ("put", "up", "built"),
        ("won win wins", "over", "persuaded"),
        ("grew grows turned turns", "into", "became"),
        ("shut", "down", "closed"),
        ("died die", "out", "died"),
        ("carried carry", "on", "continued"),
    )
    for verb in verbs.split()
}
"""Verb and its particle → a verb that says the same."""

WHY: Final = frozenset(
    list_words(
        "because so therefore since thus why after before until although though despite weil "
        "deshalb daher darum sodass nachdem bevor obwohl trotz"
    )
)
"""Words that join two statements, so that a claim says more than each of them."""

NEGATIONS: Final = frozenset(
    list_words(
        "not no never none nobody nothing neither nor without cannot n't hardly barely scarcely "
        "nowhere unlike instead rather fail failed fails failing deny denies denied refuse refused "
        "lack lacked lacks absent absence impossible false untrue wrong wrongly incorrect "
        "incorrectly mistaken mistakenly myth myths legend legends misconception fallacy fiction "
        "hoax lie canard falsehood untruth nonsense rubbish fake bogus fabrication "
        "fabricated debunked discredited disproved disproven unfounded baseless unrelated contrary "
        "nicht kein keine keinen keiner keinem keines nie niemals niemand nichts weder noch ohne "
        "kaum falsch unwahr mythos legende irrtum märchen irrig fälschlich unzutreffend entgegen "
        "statt anstatt keineswegs keinesfalls"
    )
)
"""A claim with one of these words may say the opposite of what its other words say."""
QUALIFIERS: Final = frozenset(list_words("nearly almost virtually practically"))
"""Hedges that take nothing back that was said before."""
HEDGES: Final = QUALIFIERS | frozenset(
    list_words(
        "may might could would should perhaps possibly maybe allegedly supposedly reportedly "
        "apparently seemingly if unless whether or either claim claims claimed say says said "
        "believe believes believed think thinks thought argue argues argued suppose supposed "
        "suggest suggests suggested assume assumed pretend rumour rumor rumours story tale "
        "so-called otherwise popular popularly often according disputed doubtful doubt "
        "doubts question "
        "könnte könnten würde würden vielleicht möglicherweise angeblich vermeintlich wohl oder "
        "ob falls wenn behauptet behaupten glaubt glauben heißt soll sollen laut gerücht"
    )
)
"""A claim with one of these words, which the evidence does not have, may not be asserted."""
SCOPES: Final = frozenset(
    list_words(
        "try tried tries attempt attempted plan planned want wanted hope hoped fail failed refuse "
        "refused threaten threatened offer offered promise promised propose proposed almost nearly "
        "only half partly except expected demand demanded seek sought called mocked accused "
        "versuchte versuchten wollte wollten plante planten fast beinahe nur"
    )
)
"""Words of the evidence that must not be left out: "tried to stop" is not "stopped"."""
DIRECTIONS: Final = frozenset(list_words("from to into for against by with without outside"))
"""Words that say which part the name or number after them has; ``out of`` is another."""
LIGHT: Final = frozenset(
    list_words(
        "a an the this that these those is are was were be been being am has have had having do "
        "does did of in on at to into from for with as and than then it its their his her there "
        "he she they them him we our who which whom whose what where when how also thus "
        "thereby hence however therefore indeed eventually finally soon subsequently directly "
        "simply moreover furthermore meanwhile famously notably ultimately really actually "
        "therein itself himself herself themselves about around roughly approximately some "
        "very such both whole entire famous by through via during within across along "
        "der die das den dem des ein eine einen einem einer eines und ist sind war waren wurde "
        "wurden wird werden worden sein seine seinen ihre ihren hat haben hatte hatten in im am an "
        "auf zu zum zur von vom mit für bei aus als es sie er sich dass daß auch dann so "
        "schließlich später darauf daraufhin etwa rund circa ungefähr durch ab seit bis jahr jahre"
    )
)
"""Words without content of their own; what they say about roles is judged by the order of names."""
DEMONYMS: Final = {
    "british": "britain",
    "uk": "britain",
    "french": "france",
    "german": "germany",
    "english": "england",
    "irish": "ireland",
    "swiss": "switzerland",
    "dutch": "netherlands",
    "spanish": "spain",
    "chinese": "china",
    "polish": "poland",
    "american": "america",
    "us": "america",
    "usa": "america",
}
"""Adjective or abbreviation of a country → its name."""
UNTELLING_NAMES: Final = frozenset(
    list_words(
        "river lake sea ocean mount mountain island islands bay city town territory state states "
        "province county country republic kingdom empire act law bill treaty pact convention "
        "protocol prize award university institute college company society committee commission "
        "war battle revolution movement sir lord lady king queen president governor minister "
        "prime general captain admiral professor dr mr mrs ms st saint january february march "
        "april may june july august september october november december jan feb mar apr jun jul "
        "aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday english "
        "british britain american america europe european german germany french france dutch "
        "netherlands spanish spain swiss polish danish welsh irish scottish greek turkish i"
    )
)
"""Capitalised words that evidence can have in another form: "Dec.", "British" for "England"."""
TELLING_FIRST_NAMES: Final = frozenset(
    list_words(
        "new old north south east west northern southern eastern western central upper lower great "
        "first second third fourth fifth last anti san santa los las saint st el la le united"
    )
)
"""First words of names that are not left out as a given name is: York is not New York."""
GERMAN: Final = frozenset(
    list_words(
        "der die das den dem des ein eine einen einem einer und ist sind war wurde wurden nicht "
        "von mit für auf zu zum zur im am aus als sich dass durch nach bei sie er wie gibt "
        "hat hatte"
        "es über auch sind fast alle"
    )
)
"""Words that show that a text is German."""
ENGLISH: Final = frozenset(
    list_words(
        "the and of to by from with were which that its it for into been their his her this has "
        "have had after when while who whose they he she but not at or as there these those would "
        "all most many no only about because could can more than then over through during between "
        "against without until both"
    )
)
"""Small words that English sentences have, and hardly any others."""
FOREIGN: Final = frozenset(
    list_words(
        "der das dem des ein eine einen einem einer und ist sind wurde wurden nicht von mit für zu "
        "zum zur aus als sich dass durch nach bei wird auch "
        "le la les une du au aux et est dans par pour sur avec qui que sont fut furent leur ont "
        "été était de ses "
        "el los las una y del en por para con su sus fue fueron se lo al "
        "il gli della delle dello dei nel nella che sono di da è "
        "os um uma dos na nos foi em com não "
        "het een van voor naar werd zijn ook niet "
        "og af til det som på av och att för är blev"
    )
)
"""Small words of other languages, and not of English: German, French, Spanish, Italian, …"""

ENDINGS: Final = frozenset(
    [
        "",
        *list_words(
            "e s d es ed er ers or ors ing ings ion ions tion tions ation ations ition ment ments "
            "al ally ly y ies ied ity able ible ance ence ism ist ists ive n an ian ians ese ish "
            "ry eries ery en t te ten tet ung ungen isch ische ischen ischer in innen rn m"
        ),
    ]
)
"""Endings of forms of one word. Not "less", "free" and "ee", which say the opposite."""
