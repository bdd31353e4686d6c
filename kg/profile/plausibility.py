"""Judges by the words of a predicate's name whether a rule that data confirm can be true.

Support does not make a rule true: in a graph of 590 people each may have one nationality. So the
data's confirmation suffices only where the world, too, has one value or one direction. The lists
are words of names as vocabularies use them, in English; a predicate with none of the words is
judged by its values and subjects (``kg.profile.rules``).
"""

from __future__ import annotations

import re
from typing import Literal

from kg.profile.label_heads import (
    compile_heads,
    compile_words,
    find_head,
    get_last_word,
    split_label,
)
from kg.profile.record_nouns import REPEATED
from kg.words.label_grammar import is_participle, looks_plural

ValueKind = Literal["measures", "figures", "texts", "codes", "things"]
"""What the values of a predicate are: literals that are dates, numbers or truth values by their
datatypes, literals that begin with a digit, other literals, a few things that several subjects
share, or other things."""


_SEVERAL = compile_words(
    "author* creator* creates created_by contribut* editor* edited_by translat* artist* compos* "
    "writer* written_by lyricist* produc* director* directed_by performer* actor* actress* cast "
    "starring character* nationalit* citizen* ethnic* religion* interest* hobb* skill* member* "
    "membership language* genre* topic* subject* theme* keyword* tag* award* prize* occupation* "
    "profession* job* role* position position_held spouse* husband wife partner* child children "
    "son daughter parent* sibling* brother* sister* relative* friend* knows colleague* work works "
    "worked working employ* affiliat* educat* alma_mater studied school university residen* home "
    "lives address* owner* owned owns founder* founded_by customer* client* supplier* competitor* "
    "product* ingredient* topping* color* colour* material* made relat* similar same see "
    "depict* image* photo* logo picture* video* page* homepage website* url* link* mail* mbox "
    "phone* telephone fax account* alias* nick* type* kind* categor* class classification* "
    "derived source* reference* cite* citation* mention* use used uses usage match* focus share* "
    "plays played_by instrument* speaks likes visit* symptom* treat* cause* effect* version* "
    "instan* format* license* licence* sponsor* publisher* published_by broadcaster* distribut* "
    "developer* manufacturer* designer* architect* inventor* discoverer* participant* "
    "participates attend* team* club* field* industry industries sector* service* feature* "
    "component* function* characteristic* quality phenotype* border* neighbo* adjacent connect* "
    "opponent* influenc* inspired follow* about based_on platform* purpose* target* "
    "manager* managed_by advisor* supervis* student* teacher* taught reviewer* judge* signator* "
    "crosses traverse* flows_through passes_through served operator* operated_by regulat* column* "
    "sport* party modif* updat* revis* changed"
)
_PARENT = re.compile(r"(?:has |biological |birth |natural )*(?:father|mother)")
_BIRTHPLACE = re.compile(
    r"(?:has |is )?(?:(?:place|city|town|country|location) of (?:birth|death)|"
    r"(?:birth|death) ?(?:place|city|town|country)|(?:was )?(?:born|died) in)"
)
_SEX = re.compile(r"(?:has |biological )*(?:sex|gender|sex or gender)")
# Several of them, even where the same word in the singular is one.
_SEVERAL_HEADS = compile_heads("dates codes units identifiers ids numbers values")
_CONTACTS = compile_words("phone* telephone* fax mobile* email* mail*")
_DATES = compile_heads("date year month day time timestamp datetime century decade")
_FIGURES = compile_heads(
    "start begin* end ended birth born death died founded established inception opened closed "
    "created issued submitted accepted published expir* renewal duration age years months days "
    "number no count quantity amount* total sum value length height width depth "
    "thickness diameter radius area volume mass weight size speed temperature pressure power "
    "energy voltage capacity latitude longitude lat lon long altitude elevation population "
    "density price cost fee tax salary income revenue budget rate ratio percent* "
    "order index sequence row score* win wins loss losses tie ties draw draws points goals "
    "atomic melting_point boiling_point difference precision accuracy"
)
_IDENTIFIERS = compile_heads(
    "code id identifier number no serial isbn issn doi orcid uuid postcode zip address_line "
    "checksum hash md5 sha1 timezone time_zone calendar"
)
_STATUSES = compile_heads("status stage level rank grade result* outcome* currency")
# "Unit" alone is that of a measurement, "business unit" a part of a firm, and "unit of study" a
# lesson.
_UNIT = re.compile(r"(?:has )?(?:(?:measurement |currency )?unit|unit of measure(?:ment)?)")
# A code stands for one thing, but a word may denote several.
_DENOTING = frozenset({"identifies", "is identifier of"})
# What a place, a person or a station may have several of, unlike an address or a record. A device
# has one frequency, a broadcaster may have several.
_CHANGING = re.compile(
    r"(?:.*\b)?(?:(?:post|postal|zip|area|dial\w*|call\w*|phone|telephone|trunk|std) code|"
    r"postcode|zip|time ?zone|(?<!price )(?<!amount )(?<!cost )currency|"
    r"(?:jersey|shirt|squad|uniform|kit) (?:number|no)|"
    r"^(?:has )?(?:broadcast\w* |radio |transmi\w+ )?frequency)"
)
# "Number of children" is one number, but "date of publications" may be several dates.
_COUNTS = compile_heads(
    "number no count quantity amount* total sum percent* ratio rate score* index rank"
)
# The same as participles, as in "year restored" and "elected in".
_REPEATED_DEEDS = re.compile(
    r"won|held|played|flooded|erupted|inspected|visited|surveyed|audited|tested|examined|assessed|"
    r"evaluated|treated|vaccinated|operated|elected|raced|performed|exhibited|repaired|maintained|"
    r"renovated|restored|remodell?ed|reviewed|damaged|attacked|awarded|donated|paid|voted|sighted|"
    r"observed|seen|sold|bought|moved|promoted|nominated|reelected|re-elected|married|divorced"
)
_ONE_OF_SEVERAL = compile_words("last latest first earliest next current initial original final")
_LITERALS: frozenset[ValueKind] = frozenset({"measures", "figures", "texts"})
_SAFE: tuple[tuple[re.Pattern[str], frozenset[ValueKind]], ...] = (
    (_DATES, _LITERALS),
    (_FIGURES, _LITERALS - {"texts"}),
    (_IDENTIFIERS, _LITERALS),
    (_STATUSES, _LITERALS | {"codes"}),
)
"""Head nouns of which the world has one value, and what the values must be then: an area of
interest that is no number is none that is measured."""
_PARTS = compile_words(
    "part parts contain* belong* include* comprise* consist* collection series has_member "
    "member broader narrower container subset superset component_of"
)
_LOCATIONS = compile_words(
    "within inside locat* situated lies_in lie_in in_region in_the_region in_country "
    "in_the_country in_city in_the_city in_state in_the_state"
)
# "Member id", "part number" and "container type" say what one thing is, not what contains it.
_TRAITS = compile_heads(
    "id ids identifier code number no name title label count amount total size date year time "
    "since type kind status state role rank level order index key rate score"
)
_MUTUAL = compile_words(
    "knows friend* relat* similar same match* influenc* cite* citation* cites mention* like* "
    "link* see border* neighbo* adjacent connect* interact* spouse* partner* sibling* brother* "
    "sister* colleague* opponent* competitor* trade* cooperat* co-* own* admire* trust* refer* "
    "equivalent opposite different overlap* continuous regulat* shares"
)
# Whatever word comes before, these end the names of relations that two things may have to each
# other: "located near", "level with", "within walking distance of".
_BESIDE = re.compile(
    r"\b(?:near\w*|next to|close\w* to|closest|besides?|alongside|across|opposite|facing|with|"
    r"between|among|amongst|around|along|apart|next of kin|parallel to|feeds? on|co[ -]?locat\w*|"
    r"(?:locat|situat)\w* (?:\w+ )*(?:to|from|by|off)|"
    r"(?:distance|range|reach|sight|vicinity|proximity|walk|drive|ride|miles?|minutes?|km) "
    r"(?:of|to|from))\b"
)
# "Follows" is mutual between people, and one-way in a sequence.
_SEQUENCE = re.compile(r"\bsequence\b")
# One-way between documents and their like, but the last stop of a circle line comes before the
# first one, and Cleveland was both Harrison's predecessor and his successor.
_ORDER = re.compile(
    r"\b(?:next|previous|preced\w*|predecess\w*|succe\w*|before|(?<!named )after|replac\w*)\b"
)
_ONE_WAY = compile_words(
    "parent* child* ancestor* descend* descent mother father son daughter born offspring heir* "
    "broader narrower sub* super* kind* type* instance* hypernym* hyponym* within inside "
    "locat* situated level* above below beneath higher lower senior junior "
    "reports_to boss report_to head chief root leaf deriv* inherit* extends "
    "named_after supersed* obsolet* version_of revision_of translation_of copy_of cover_of "
    "adaptation* feed* fed flows drain* tributar* mouth outflow* inflow* discharges upstream "
    "downstream capital district region province county municipalit* branch* prefix* base* "
    "mainsnak in_country in_city in_region in_state"
)
_TEXT = compile_words(
    "name* title* label* heading description* comment* abstract definition* note* summar* text "
    "content* caption citation rights license* licence* url* uri iri html remark* bibliograph* "
    "message example* biography signature motto slogan quote*"
)
_NON_NEGATIVE = compile_heads(
    "count number quantity length height width depth thickness diameter radius area volume mass "
    "weight size age population density price wins losses ties draws goals capacity duration"
)
_CODE_LIST = compile_heads(
    "status level grade gender sex outcome result stage phase alignment direction severity "
    "priority visibility"
)
_SINGLE_BY_DEFINITION = frozenset(
    namespace + name
    for namespaces, names in (
        # RDF Data Cube Vocabulary (W3C Recommendation 2014), IC-1 "unique DataSet"
        (("http://purl.org/linked-data/cube#",), "dataSet"),
        # General Transit Feed Specification: fields of stop_times, trips, stops and routes
        (
            ("http://vocab.gtfs.org/terms#",),
            "stop trip route service agency zone parentStation shape wheelchairAccessible "
            "routeType pickupType dropOffType direction",
        ),
        # Semantic Sensor Network Ontology (W3C Recommendation 2017): cardinalities of Observation
        (
            ("http://www.w3.org/ns/sosa/",),
            "madeBySensor madeByActuator observedProperty hasFeatureOfInterest",
        ),
        # Organization Ontology (W3C Recommendation 2014): a Membership is an n-ary relation
        (("http://www.w3.org/ns/org#",), "organization member"),
        # European Legislation Identifier: a law has one legal type
        (
            ("http://data.europa.eu/eli/ontology#",),
            "type_document in_force realizes embodies",
        ),
    )
    for namespace in namespaces
    for name in names.split()
)
"""Predicates of which their vocabularies give each subject one value."""
_RANGES = (
    (compile_heads("latitude lat"), -90, 90),
    (compile_heads("longitude lon long"), -180, 180),
    (compile_heads("percent* percentage"), 0, 100),
    (compile_heads("month"), 1, 12),
)


def is_text(label: str) -> bool:
    """Returns whether a predicate's values are names or texts, which are never asked about."""
    return _TEXT.search(find_head(label)) is not None


def is_part(label: str) -> bool:
    """Returns whether a predicate says what something is part of, or that it contains something.

    That can be stated of each level, so that two values need not contradict each other. The head
    noun decides: a member's id and a word's part of speech say nothing of this kind.
    """
    phrase, complement = split_label(label)
    if complement.startswith("speech") or _TRAITS.search(phrase):
        return False
    return _PARTS.search(label.casefold()) is not None


def is_location(label: str) -> bool:
    """Returns whether a predicate says what place something is in, which can be in another one."""
    return _LOCATIONS.search(label.casefold()) is not None


def judge_single_value(label: str, values: ValueKind, *, of_events: bool = False) -> bool | None:
    """Judges by its name and values whether a thing has one value of a predicate in the world.

    The head noun of the name decides: "number of children" is a number, "language code" a code. A
    participle may follow it ("date submitted"). The values must be what the noun says: a date that
    is a literal, an area that is a number. The date of what happens again and again is no single
    one, except that of an event or the last one. A country may have several time zones, but an
    address has one postal code.

    Args:
        label: name of the predicate.
        values: what its values are.
        of_events: whether its subjects are events or records.

    Returns:
        True for dates, measures, identifiers, codes and statuses; False for what may have several
        values, such as "submitted by", "time zone" and "date of publications"; None if neither is
        known.
    """
    text = label.casefold()
    phrase, complement = split_label(label)
    if text.endswith(" by") or _CONTACTS.search(phrase) or _SEVERAL_HEADS.search(phrase):
        return False
    if _UNIT.fullmatch(text):
        return None if values == "things" else True
    if text in _DENOTING:
        return True
    if _CHANGING.fullmatch(phrase) or re.fullmatch(r"(?:jersey|shirt)s?", complement):
        return of_events
    words = phrase.split()
    phrases = [(phrase, "")]
    if len(words) > 1 and (is_participle(words[-1]) or words[-1].endswith("ing")):
        phrases.append((" ".join(words[:-1]), words[-1]))
    for words_before, deed in phrases:
        if _SEVERAL.search(get_last_word(words_before)):
            return False
        if any(heads.search(words_before) for heads, kinds in _SAFE if values in kinds):
            if _COUNTS.search(words_before):
                return True
            if not of_events and _can_recur(words_before, complement, deed):
                return False
            return not looks_plural(get_last_word(complement))
    return False if _SEVERAL.search(text) else None


def is_single_by_definition(iri: str) -> bool:
    """Returns whether a vocabulary defines that a subject has one value of its predicate."""
    return iri in _SINGLE_BY_DEFINITION


def is_parent(label: str) -> bool:
    """Returns whether a predicate gives the father or the mother, of which everyone has one."""
    return _PARENT.fullmatch(label.casefold()) is not None


def is_birthplace(label: str) -> bool:
    """Returns whether a predicate says where somebody was born or died: once, in one place.

    But a city lies in a country, so that both may be true (``PredicateProfile.has_one_level``).
    """
    return _BIRTHPLACE.fullmatch(label.casefold()) is not None


def is_sex(label: str) -> bool:
    """Returns whether a predicate gives the sex of a living being. A product may be for both."""
    return _SEX.fullmatch(label.casefold()) is not None


def is_repeatable(label: str) -> bool:
    """Returns whether a predicate is called as what can happen to a thing again: "elected in"."""
    return _REPEATED_DEEDS.fullmatch(find_head(label)) is not None


def _can_recur(phrase: str, complement: str, deed: str) -> bool:
    """Returns whether a date or measure is that of an event that can happen to a thing again."""
    if _IDENTIFIERS.search(phrase) or _ONE_OF_SEVERAL.search(f"{phrase} {complement}"):
        return False
    before_head = phrase.split()[-2:-1]
    return _REPEATED_DEEDS.fullmatch(deed) is not None or any(
        map(REPEATED.search, [*before_head, get_last_word(complement)])
    )


def may_be_mutual(*labels: str, of_documents: bool = False) -> bool:
    """Returns whether two things may stand in this relation to each other.

    Only names that say a direction tell that they cannot: links that a graph states once, in the
    order of its ids, lead back nowhere, whatever they mean.

    Args:
        labels: names of the predicate; a code among them ("BFO 0000050") says nothing.
        of_documents: whether its subjects come one after another for good, see ``is_document``.
    """
    verdicts = {_find_direction(label.casefold(), of_documents) for label in labels}
    return "mutual" in verdicts or "one way" not in verdicts


def is_mutual(*labels: str) -> bool:
    """Returns whether a name says that two things can stand in this relation to each other."""
    return any(
        _find_direction(label.casefold(), of_documents=False) == "mutual" for label in labels
    )


def _find_direction(label: str, of_documents: bool) -> Literal["mutual", "one way"] | None:
    if _SEQUENCE.search(label):
        return "one way"
    if _BESIDE.search(label):
        return "mutual"
    if _ORDER.search(label):
        return "one way" if of_documents else "mutual"
    is_follower = re.search(r"\bfollow(s|ed|ing)?\b", label) is not None
    if _MUTUAL.search(label) or is_follower:
        return "mutual"
    return "one way" if _ONE_WAY.search(label) or is_part(label) else None


def is_code_list(label: str) -> bool:
    """Returns whether the values of a predicate come from a short, closed list."""
    return _CODE_LIST.search(find_head(label)) is not None


def find_bounds(label: str) -> tuple[int | None, int | None]:
    """Returns the least and the greatest value that a measure of that name can have."""
    head = find_head(label)
    for words, low, high in _RANGES:
        if words.search(head):
            return low, high
    return (0, None) if _NON_NEGATIVE.search(head) else (None, None)
