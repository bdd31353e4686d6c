"""Names of properties of well-known vocabularies whose local names are codes or say too little."""

from __future__ import annotations

import re

from kg.base.plain_text import list_words
from kg.terms import SKOS

# Wikidata's most used properties, one a line: the number after "P", and the English label.
_WIKIDATA = """
6 head of government
17 country
18 image
19 place of birth
20 place of death
21 sex or gender
22 father
25 mother
26 spouse
27 country of citizenship
30 continent
31 instance of
35 head of state
36 capital
37 official language
38 currency
39 position held
40 child
47 shares border with
50 author
53 family
57 director
58 screenwriter
61 discoverer or inventor
69 educated at
84 architect
86 composer
98 editor
101 field of work
102 member of political party
103 native language
105 taxon rank
106 occupation
108 employer
110 illustrator
112 founded by
118 league
123 publisher
127 owned by
131 located in the administrative territorial entity
136 genre
137 operator
138 named after
140 religion
144 based on
149 architectural style
155 follows
156 followed by
159 headquarters location
161 cast member
162 producer
166 award received
169 chief executive officer
170 creator
171 parent taxon
172 ethnic group
175 performer
176 manufacturer
178 developer
179 part of the series
180 depicts
186 made from material
195 collection
206 located next to body of water
225 taxon name
264 record label
272 production company
276 location
277 programming language
279 subclass of
282 writing system
306 operating system
355 has subsidiary
361 part of
364 original language
366 has use
400 platform
403 mouth of the watercourse
406 soundtrack release
407 language of work or name
410 military rank
412 voice type
413 position played on team
421 located in time zone
449 original broadcaster
452 industry
460 said to be the same as
461 opposite of
463 member of
488 chairperson
495 country of origin
500 exclave of
509 cause of death
527 has part
551 residence
569 date of birth
570 date of death
571 inception
574 year of taxon publication
575 time of discovery
576 dissolved date
577 publication date
580 start time
582 end time
585 point in time
607 conflict
610 highest point
625 coordinate location
641 sport
664 organizer
674 characters
706 located on terrain feature
710 participant
734 family name
735 given name
740 location of formation
749 parent organization
750 distributed by
800 notable work
813 retrieved
825 dedicated to
828 has cause
840 narrative location
854 reference URL
856 official website
885 origin of the watercourse
915 filming location
921 main subject
937 work location
974 tributary
1001 applies to jurisdiction
1037 director or manager
1056 product
1066 student of
1082 population
1113 number of episodes
1120 number of deaths
1128 number of employees
1191 date of first performance
1303 instrument
1344 participant in
1346 winner
1350 number of matches played
1351 number of points scored
1365 replaces
1366 replaced by
1376 capital of
1411 nominated for
1412 language spoken
1435 heritage designation
1448 official name
1476 title
1542 cause of
1619 date of official opening
1640 curator
1705 native label
1810 subject named as
2043 length
2044 elevation above sea level
2046 area
2047 duration
2048 height
2049 width
2053 watershed area
2067 mass
2096 media legend
2130 cost
2142 box office
2437 number of seasons
2769 budget
3730 next higher rank
3842 located in present-day administrative territorial entity
4330 contains
4552 mountain range
4614 drainage basin
"""
# The relations of the OBO Foundry's ontologies.
_OBO = """
BFO_0000050 part of
BFO_0000051 has part
BFO_0000054 realized in
BFO_0000055 realizes
BFO_0000056 participates in
BFO_0000057 has participant
BFO_0000062 preceded by
BFO_0000063 precedes
BFO_0000066 occurs in
IAO_0000115 definition
IAO_0000118 alternative label
IAO_0000136 is about
IAO_0000219 denotes
OBI_0000293 has specified input
OBI_0000299 has specified output
RO_0000052 characteristic of
RO_0000053 has characteristic
RO_0000056 participates in
RO_0000057 has participant
RO_0000085 has function
RO_0000086 has quality
RO_0000087 has role
RO_0000091 has disposition
RO_0001000 derives from
RO_0001001 derives into
RO_0001015 location of
RO_0001025 located in
RO_0002131 overlaps
RO_0002150 continuous with
RO_0002160 only in taxon
RO_0002162 in taxon
RO_0002170 connected to
RO_0002200 has phenotype
RO_0002202 develops from
RO_0002203 develops into
RO_0002211 regulates
RO_0002212 negatively regulates
RO_0002213 positively regulates
RO_0002220 adjacent to
RO_0002233 has input
RO_0002234 has output
RO_0002350 member of
RO_0002351 has member
RO_0002434 interacts with
"""
# What Dublin Core calls its dates, and SKOS the concepts that its relations lead to.
_DUBLIN_CORE = """
available date available
created date created
issued date issued
modified date modified
spatial spatial coverage
submitted date submitted
temporal temporal coverage
valid date valid
"""
_SKOS = """
broader broader concept
broaderTransitive broader concept at any level
narrower narrower concept
narrowerTransitive narrower concept at any level
related related concept
"""
# Vocabularies of companies (ROV), statistics (SDMX), publications (BIBO), places (WGS84) and
# contacts (vCard): their own labels, where the local names are abbreviations.
_COMPANIES = """
orgActivity company activity
orgStatus company status
orgType company type
"""
_STATISTICS = """
confStatus confidentiality status
obsStatus observation status
obsValue observed value
refArea reference area
refPeriod reference period
unitMeasure unit of measure
unitMult unit multiplier
"""
_PUBLICATIONS = """
numPages number of pages
numVolumes number of volumes
"""
_PLACES = """
alt altitude
lat latitude
long longitude
"""
_CONTACTS = """
fn formatted name
hasTelephone has telephone number
"""
_WIKIDATA_PROPERTY = re.compile(r"https?://www\.wikidata\.org/(?:entity|prop)/(?:[a-z/-]+/)?P(\d+)")
_OBO_RELATION = re.compile(r"http://purl\.obolibrary\.org/obo/([A-Z]+_\d+)")


def _read_table(table: str) -> dict[str, str]:
    rows = (list_words(line) for line in table.strip().splitlines())
    return {code: " ".join(words) for code, *words in rows}


_LABELS_BY_VOCABULARY = (
    (_WIKIDATA_PROPERTY, _read_table(_WIKIDATA)),
    (_OBO_RELATION, _read_table(_OBO)),
    (re.compile(r"http://purl\.org/dc/terms/(\w+)"), _read_table(_DUBLIN_CORE)),
    (re.compile(r"http://www\.w3\.org/ns/regorg#(\w+)"), _read_table(_COMPANIES)),
    (
        re.compile(r"http://purl\.org/linked-data/sdmx/2009/(?:attribute|dimension|measure)#(\w+)"),
        _read_table(_STATISTICS),
    ),
    (re.compile(r"http://purl\.org/ontology/bibo/(\w+)"), _read_table(_PUBLICATIONS)),
    (re.compile(r"http://www\.w3\.org/2003/01/geo/wgs84_pos#(\w+)"), _read_table(_PLACES)),
    (re.compile(r"http://www\.w3\.org/2006/vcard/ns#(\w+)"), _read_table(_CONTACTS)),
    (re.compile(re.escape(SKOS) + r"(\w+)"), _read_table(_SKOS)),
)


def find_known_label(iri: str) -> str:
    """Returns the English label of a property of these vocabularies; empty if unknown."""
    for pattern, labels in _LABELS_BY_VOCABULARY:
        match = pattern.fullmatch(iri)
        if match is not None:
            return labels.get(match[1], "")
    return ""
