"""Tests of the default sentences of predicates, by names from public vocabularies."""

import pytest

from kg.base.templates import compile_template
from kg.words.default_sentences import ValueKind, make_default_wording
from kg.words.label_words import spell_out_label

# Name or label → statement and question about S and O, where no rule says that a thing has at most
# one value. Written from the vocabularies' definitions, not from what the code gives.
SEVERAL_VALUES = {
    # schema.org
    "birthPlace": ("S has O as a birth place.", "Does S have O as a birth place?"),
    "alumniOf": ("S is among the alumni of O.", "Is S among the alumni of O?"),
    "worksFor": ("S works for O.", "Does S work for O?"),
    "knowsAbout": ("S knows about O.", "Does S know about O?"),
    "memberOf": ("S is a member of O.", "Is S a member of O?"),
    "hasPart": ("S has O as a part.", "Does S have O as a part?"),
    "partOfSpeech": ("S has O as a part of speech.", "Does S have O as a part of speech?"),
    "isPartOf": ("S is part of O.", "Is S part of O?"),
    "isBasedOn": ("S is based on O.", "Is S based on O?"),
    "servesCuisine": ("S serves the cuisine O.", "Does S serve the cuisine O?"),
    "containsPlace": ("S contains the place O.", "Does S contain the place O?"),
    "containedInPlace": ("S is contained in the place O.", "Is S contained in the place O?"),
    "exampleOfWork": ("S is an example of the work O.", "Is S an example of the work O?"),
    "inLanguage": ("S is in the language O.", "Is S in the language O?"),
    "byArtist": ("S is by the artist O.", "Is S by the artist O?"),
    "isSimilarTo": ("S is similar to O.", "Is S similar to O?"),
    "keywords": ("S has O among its keywords.", "Does S have O among its keywords?"),
    "dateCreated": ("S has O as a date created.", "Does S have O as a date created?"),
    # Dublin Core terms: local names and labels
    "isReplacedBy": ("S is replaced by O.", "Is S replaced by O?"),
    "Is Version Of": ("S is a version of O.", "Is S a version of O?"),
    "Has Format": ("S has O as a format.", "Does S have O as a format?"),
    "requires": ("S requires O.", "Does S require O?"),
    "Conforms To": ("S conforms to O.", "Does S conform to O?"),
    "Table Of Contents": (
        "S has O as a table of contents.", "Does S have O as a table of contents?"),
    "Rights Holder": ("S has O as a rights holder.", "Does S have O as a rights holder?"),
    "issued": ("S has O as a value of “issued”.", "Does S have O as a value of “issued”?"),
    # FOAF
    "based_near": ("S is based near O.", "Is S based near O?"),
    "holdsAccount": ("S holds the account O.", "Does S hold the account O?"),
    "isPrimaryTopicOf": ("S is a primary topic of O.", "Is S a primary topic of O?"),
    "publications": ("S has O among its publications.", "Does S have O among its publications?"),
    "workplaceHomepage": (
        "S has O as a workplace homepage.", "Does S have O as a workplace homepage?"),
    # Modal verbs, "has been" and the like: drugs, LUBM, CIDOC
    "may treat": ("S may treat O.", "May S treat O?"),
    "canBeReachedAt": ("S can be reached at O.", "Can S be reached at O?"),
    "can be found in country": (
        "S can be found in the country O.", "Can S be found in the country O?"),
    "may contain allergen": ("S may contain the allergen O.", "May S contain the allergen O?"),
    "can opener": ("S has O as a can opener.", "Does S have O as a can opener?"),
    "isKing": ("S has O as a value of “is king”.", "Does S have O as a value of “is king”?"),
    "has been awarded": (
        "S has O as a value of “has been awarded”.",
        "Does S have O as a value of “has been awarded”?"),
    "has been part of": ("S has been part of O.", "Has S been part of O?"),
    "has as its author": ("S has O as an author.", "Does S have O as an author?"),
    "used to": ("S has O as a value of “used to”.", "Does S have O as a value of “used to”?"),
    "hasBeenApprovedBy": ("S has been approved by O.", "Has S been approved by O?"),
    "has a doctoral degree from": (
        "S has a doctoral degree from O.", "Does S have a doctoral degree from O?"),
    "has as author": ("S has O as an author.", "Does S have O as an author?"),
    "is taking": ("S is taking O.", "Is S taking O?"),
    "consists of": ("S consists of O.", "Does S consist of O?"),
    "used for": ("S is used for O.", "Is S used for O?"),
    "tookPlaceAt": ("S took place at O.", "Did S take place at O?"),
    # SKOS
    "inScheme": ("S is in the scheme O.", "Is S in the scheme O?"),
    "topConceptOf": ("S is a top concept of O.", "Is S a top concept of O?"),
    "related": ("S has O as a value of “related”.", "Does S have O as a value of “related”?"),
    "closeMatch": ("S has O as a close match.", "Does S have O as a close match?"),
    # PROV
    "wasDerivedFrom": ("S was derived from O.", "Was S derived from O?"),
    "actedOnBehalfOf": ("S acted on behalf of O.", "Did S act on behalf of O?"),
    "startedAtTime": ("S started at the time O.", "Did S start at the time O?"),
    "atLocation": ("S is at the location O.", "Is S at the location O?"),
    "hadPrimarySource": ("S had O as a primary source.", "Did S have O as a primary source?"),
    "wasRevisionOf": ("S was a revision of O.", "Was S a revision of O?"),
    "specializationOf": ("S is a specialization of O.", "Is S a specialization of O?"),
    "used": ("S used O.", "Did S use O?"),
    "generated": ("S generated O.", "Did S generate O?"),
    # Brick
    "feeds": ("S feeds O.", "Does S feed O?"),
    "isFedBy": ("S is fed by O.", "Is S fed by O?"),
    "hasPoint": ("S has O as a point.", "Does S have O as a point?"),
    "isPointOf": ("S is a point of O.", "Is S a point of O?"),
    # OBO and RiC-O
    "negatively regulates": (
        "S negatively regulates O.", "Does S negatively regulate O?"),
    "directly precedes in sequence": (
        "S has O as a value of “directly precedes in sequence”.",
        "Does S have O as a value of “directly precedes in sequence”?"),
    "isSparePartOf": ("S is a spare part of O.", "Is S a spare part of O?"),
    "isDirectlyPartOf": ("S is directly part of O.", "Is S directly part of O?"),
    # FIBO
    "hasDateOfRegistration": (
        "S has O as a date of registration.", "Does S have O as a date of registration?"),
    "isDomiciledIn": ("S is domiciled in O.", "Is S domiciled in O?"),
    "has party in role": ("S has O as a party in role.", "Does S have O as a party in role?"),
    "appliesTo": ("S applies to O.", "Does S apply to O?"),
    "comprises": ("S comprises O.", "Does S comprise O?"),
    # CIM
    "Terminal.ConductingEquipment": (
        "S has O as a terminal conducting equipment.",
        "Does S have O as a terminal conducting equipment?"),
    "VoltageLevel.Substation": (
        "S has O as a voltage level substation.", "Does S have O as a voltage level substation?"),
    # BFO, RO, IAO
    "part of": ("S is part of O.", "Is S part of O?"),
    "bearer of": ("S is a bearer of O.", "Is S a bearer of O?"),
    "inheres in": ("S inheres in O.", "Does S inhere in O?"),
    "participates in": ("S participates in O.", "Does S participate in O?"),
    "is about": ("S is about O.", "Is S about O?"),
    "denotes": ("S denotes O.", "Does S denote O?"),
    "adjacent to": ("S is adjacent to O.", "Is S adjacent to O?"),
    "capable of": ("S is capable of O.", "Is S capable of O?"),
    "is concretized as": ("S is concretized as O.", "Is S concretized as O?"),
    # RiC-O
    "isOrWasPartOf": ("S is or was part of O.", "Is or was S part of O?"),
    "hasOrHadHolder": ("S has or had O as a holder.", "Does or did S have O as a holder?"),
    "isAssociatedWithDate": (
        "S is associated with the date O.", "Is S associated with the date O?"),
    "generatedAtTime": ("S is generated at the time O.", "Is S generated at the time O?"),
    # Wikidata
    "date of birth": ("S has O as a date of birth.", "Does S have O as a date of birth?"),
    "instance of": ("S is an instance of O.", "Is S an instance of O?"),
    "country of citizenship": (
        "S has O as a country of citizenship.", "Does S have O as a country of citizenship?"),
    "sex or gender": ("S has O as a sex or gender.", "Does S have O as a sex or gender?"),
    "member of political party": (
        "S is a member of the political party O.", "Is S a member of the political party O?"),
    "located in the administrative territorial entity": (
        "S is located in the administrative territorial entity O.",
        "Is S located in the administrative territorial entity O?"),
    "located in or next to body of water": (
        "S has O as a value of “located in or next to body of water”.",
        "Does S have O as a value of “located in or next to body of water”?"),
    "shares border with": ("S shares border with O.", "Does S share border with O?"),
    "has part(s)": ("S has O as a part.", "Does S have O as a part?"),
    "position held": ("S has O as a position held.", "Does S have O as a position held?"),
    "elevation above sea level": (
        "S has O as an elevation above sea level.",
        "Does S have O as an elevation above sea level?"),
    "described by source": ("S is described by the source O.", "Is S described by the source O?"),
    "participant in": ("S is a participant in O.", "Is S a participant in O?"),
    "IMDb ID": ("S has O as an IMDb ID.", "Does S have O as an IMDb ID?"),
    "languages spoken, written or signed": (
        "S has O as a value of “languages spoken, written or signed”.",
        "Does S have O as a value of “languages spoken, written or signed”?"),
    # DBpedia
    "deathCause": ("S has O as a death cause.", "Does S have O as a death cause?"),
    "foundedBy": ("S is founded by O.", "Is S founded by O?"),
    "starring": ("S has O as a value of “starring”.", "Does S have O as a value of “starring”?"),
    "officialLanguage": (
        "S has O as an official language.", "Does S have O as an official language?"),
    # Units
    "elevation (ft)": ("S has O as an elevation (ft).", "Does S have O as an elevation (ft)?"),
    "flows into (sea)": (
        "S has O as a value of “flows into (sea)”.",
        "Does S have O as a value of “flows into (sea)”?"),
    # names that are not English, and that no one can read as English
    "lieuDeNaissance": (
        "S has O as a value of “lieu de naissance”.",
        "Does S have O as a value of “lieu de naissance”?"),
    "hatVerfasser": (
        "S has O as a value of “hat verfasser”.", "Does S have O as a value of “hat verfasser”?"),
    "estMembreDe": (
        "S has O as a value of “est membre de”.", "Does S have O as a value of “est membre de”?"),
    "生年月日": ("S has O as a value of “生年月日”.", "Does S have O as a value of “生年月日”?"),
    "citeAs": ("S has O as a value of “cite as”.", "Does S have O as a value of “cite as”?"),
}  # fmt: skip

# The same where a thing has at most one value, or the values are literals.
ONE_VALUE = {
    "dateOfBirth": ("S has O as its date of birth.", "Does S have O as its date of birth?"),
    "birthDate": ("S has O as its birth date.", "Does S have O as its birth date?"),
    "Place of Publication": (
        "S has O as its place of publication.", "Does S have O as its place of publication?"),
    "numberOfEmployees": (
        "S has O as its number of employees.", "Does S have O as its number of employees?"),
    "openingHours": ("S has O as its opening hours.", "Does S have O as its opening hours?"),
    "ACLineSegment.r": (
        "S has O as its AC line segment r.", "Does S have O as its AC line segment r?"),
    "isAccessibleForFree": (
        "S has O as its value of “is accessible for free”.",
        "Does S have O as its value of “is accessible for free”?"),
    "endedAtTime": ("S ended at the time O.", "Did S end at the time O?"),
    "capitalOf": ("S is a capital of O.", "Is S a capital of O?"),
    "Date Issued": ("S has O as its date issued.", "Does S have O as its date issued?"),
    "ISO 3166-1 alpha-2 code": (
        "S has O as its ISO 3166-1 alpha-2 code.", "Does S have O as its ISO 3166-1 alpha-2 code?"),
    "point in time": ("S has O as its point in time.", "Does S have O as its point in time?"),
    "populationTotal": (
        "S has O as its population total.", "Does S have O as its population total?"),
    "had start date": ("S had O as its start date.", "Did S have O as its start date?"),
}  # fmt: skip

# Label and language → statement and question.
OTHER_LANGUAGES = {
    ("Geburtsort", "de"): (
        "S has O as a value of “Geburtsort”.", "Does S have O as a value of “Geburtsort”?"),
    ("liegt in", "de-AT"): (
        "S has O as a value of “liegt in”.", "Does S have O as a value of “liegt in”?"),
    ("date de naissance", "fr"): (
        "S has O as a value of “date de naissance”.",
        "Does S have O as a value of “date de naissance”?"),
    ("auteur", "fr"): ("S has O as a value of “auteur”.", "Does S have O as a value of “auteur”?"),
    ("birthplace", "en-GB"): ("S has O as a birthplace.", "Does S have O as a birthplace?"),
}  # fmt: skip

# Label and kind of values → statement, question and denial.
VALUES = {
    ("opened in", "years"): (
        "S was opened in O.", "Was S opened in O?", "S was not opened in O."),
    ("isOpenedIn", "years"): (
        "S was opened in O.", "Was S opened in O?", "S was not opened in O."),
    ("appointedOn", "dates"): (
        "S was appointed on O.", "Was S appointed on O?", "S was not appointed on O."),
    ("created", "dates"): ("S was created on O.", "Was S created on O?", "S was not created on O."),
    ("founded", "years"): ("S was founded in O.", "Was S founded in O?", "S was not founded in O."),
    ("expired", "dates"): ("S expired on O.", "Did S expire on O?", "S did not expire on O."),
    # Nobody is resigned on a day.
    ("resignedOn", "dates"): ("S resigned on O.", "Did S resign on O?", "S did not resign on O."),
    ("listedSince", "dates"): (
        "S is listed since O.", "Is S listed since O?", "S is not listed since O."),
    # No day is in a day, and no number is a year.
    ("opened in", "dates"): ("S is opened in O.", "Is S opened in O?", "S is not opened in O."),
    ("opened in", "numbers"): (
        "S has O as a value of “opened in”.", "Does S have O as a value of “opened in”?",
        "S does not have O as a value of “opened in”."),
    ("wins", "years"): (
        "S has O as a value of “wins”.", "Does S have O as a value of “wins”?",
        "S does not have O as a value of “wins”."),
    ("operational", "booleans"): (
        "For S, “operational” is O.", "Is “operational” O for S?",
        "For S, “operational” is not O."),
    ("isAccessibleForFree", "booleans"): (
        "For S, “is accessible for free” is O.", "Is “is accessible for free” O for S?",
        "For S, “is accessible for free” is not O."),
    ("refereedBy", ""): ("S is refereed by O.", "Is S refereed by O?", "S is not refereed by O."),
    ("establishedBy", ""): (
        "S is established by O.", "Is S established by O?", "S is not established by O."),
    ("watershedOf", ""): ("S is a watershed of O.", "Is S a watershed of O?",
                          "S is not a watershed of O."),
    ("dataSet", ""): (
        "S has O as a data set.", "Does S have O as a data set?",
        "S does not have O as a data set."),
}  # fmt: skip


def render(template: str) -> str:
    return compile_template(template, {"subj": "S", "obj": "O", "unit": ""}, "here")(
        subj="S", obj="O", unit=""
    )


@pytest.mark.parametrize("label", SEVERAL_VALUES)
def test_sentences_keep_the_label(label: str) -> None:
    wording = make_default_wording(label)
    assert (render(wording.fact), render(wording.questions[0])) == SEVERAL_VALUES[label]


@pytest.mark.parametrize("label", ["may treat", "must have", "can cause"])
def test_what_can_be_is_denied_as_a_whole(label: str) -> None:
    """ "S may not treat O" could mean that it perhaps does not."""
    denied = render(make_default_wording(label).denied)
    assert denied == f"It is not the case that S {label} O."


@pytest.mark.parametrize("label", ONE_VALUE)
def test_a_predicate_with_one_value_has_no_indefinite_article(label: str) -> None:
    wording = make_default_wording(label, single_valued=True)
    assert (render(wording.fact), render(wording.questions[0])) == ONE_VALUE[label]


@pytest.mark.parametrize("label", OTHER_LANGUAGES)
def test_labels_that_are_not_english_are_quoted_in_an_english_sentence(
    label: tuple[str, str],
) -> None:
    wording = make_default_wording(*label)
    assert (render(wording.fact), render(wording.questions[0])) == OTHER_LANGUAGES[label]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("elevation ft", "elevation (ft)"),
        ("mouth elevation m", "mouth elevation (m)"),
        ("drainage area sq km", "drainage area (sq km)"),
        ("peak power kw", "peak power (kW)"),
        ("num pages", "number of pages"),
        # The last word is no unit, or not that of a measure.
        ("elevation", "elevation"),
        ("grade m", "grade m"),
        ("ft", "ft"),
        ("height in m", "height in m"),
        ("num id", "num id"),
    ],
)
def test_units_and_counts_are_spelt_out(label: str, expected: str) -> None:
    assert spell_out_label(label) == expected


@pytest.mark.parametrize("label", VALUES)
def test_sentences_fit_the_values(label: tuple[str, ValueKind]) -> None:
    wording = make_default_wording(label[0], values=label[1])
    templates = (wording.fact, wording.questions[0], wording.denied)
    assert tuple(map(render, templates)) == VALUES[label]
    assert render(wording.questions[1]) == f"Is it true that {_begin_clause(wording.fact)}?"


def _begin_clause(fact: str) -> str:
    text = render(fact).removesuffix(".")
    return f"for{text[3:]}" if text.startswith("For ") else text
