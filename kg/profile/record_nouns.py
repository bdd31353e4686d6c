"""Judges by the noun of a class whether its members are records, events or documents.

A record is about one of each thing: a payment has one payee, an address one country.
"""

from __future__ import annotations

import re

from kg.profile.label_heads import compile_heads, compile_words, find_head, split_label

_RECORD = compile_heads(
    "record* payment* transaction* loan* invoice* receipt* booking* reservation* purchase* sale* "
    "line_item observation* measurement* reading* sample* event* match participation* "
    "performance attribution* usage* generation* derivation* communication* "
    "address* registration* enrolment* enrollment* log statement* log_entry journal_entry "
    "ledger_entry register_entry registry_entry time_entry accounting_entry diary_entry "
    "message membership* appointment* visit* trip* stop_time flight* vote* result* standing* "
    "statistic* "
    "identifier* date* interval instant expenditure* contract* assignment* relationship* "
    "designation*"
)
# Records in which several may take part, or that may contain several things.
_SHARED_RECORD = compile_heads(
    "event* match game performance communication* message* order appointment* visit* trip* flight* "
    "contract* booking* reservation* purchase* sale* invoice* receipt*"
)
# Nouns for those who take part: organizer, conductor, soloist, addressee, participant, recipient.
_AGENT = re.compile(
    r"(?!(?:order|number|quarter|center|theater|weather|floor|register|event|continent|restaurant|fee|"
    r"list)"
    r"s?$)\w+(?:er|or|ist|ee|ant|(?<!m)ent)s?"
)
_PARTICIPANT = compile_heads(
    "host* guest* witness* victim* suspect* crew staff champion* person* people organi* band* "
    "orchestra* ensemble* choir* group* item* attach* cc bcc addressed sent"
)
# What a record has one of, beside those who take part: a place, a date, an amount, a status, and
# what it is about. A word's meaning or register is none of these.
_PART = compile_heads(
    "place location venue country city town municipality village region subdivision state province "
    "county district area zone street street_address building room site stadium address_line "
    "postal_code postcode zip code number no id identifier origin destination from to start end "
    "date year month day time amount price fee cost value total currency unit quantity count rate "
    "result outcome status stage phase level grade rank alignment direction side method channel "
    "department directorate office division centre center ledger organi[sz]ation company firm bank "
    "party patient client vehicle vessel aircraft device sensor station equipment entity activity "
    "stop trip route document book title item thing object property procedure event match game "
    "race competition league tournament season round session course census election project "
    "programme program plan"
)
_TAKES_PLACE = re.compile(
    r"(?:.* )?(?:registered|located|held|played|situated|tak\w+ place|took place|occur\w*|"
    r"happen\w*|paid|sent|issued|delivered|shipped|depart\w*|arriv\w*|start\w*|end\w*) "
    r"(?:in|at|on|to|from|for)"
)
# What can happen to a thing again, unless it is one of these events: an athlete has several award
# years, an inspection has one inspection date.
REPEATED = compile_words(
    "award* prize* medal* honor* honour* flood* fire* earthquake* eruption* storm* inspection* "
    "visit* survey* census audit* test* exam* assessment* evaluation* treatment* vaccinat* "
    "surger* election* match game race* competition* tournament* championship* meeting* concert* "
    "performance* exhibition* festival* trip* flight* maintenance repair* renovat* restor* review* "
    "incident* accident* crash* conflict* battle* war outbreak* donation* payment* transaction* "
    "loan* vote*"
)
_LIVING = compile_heads(
    "person* people human* individual* man men woman women child* patient* participant* employee* "
    "student* pupil* teacher* player* athlete* politician* actor* artist* author* writer* "
    "scientist* royal* monarch* king* queen* citizen* resident* passenger* prisoner* soldier* "
    "animal* horse* dog* cat* bird* mammal* cow* donor* respondent* speaker* candidate*"
)
# Not "settlement" or "populated place": a borough is one, too, and so is its city.
_SETTLEMENT = compile_heads("city cities town* village* hamlet* municipalit* commune*")
_ORDERED = compile_heads(
    "version* revision* edition* release* draft* document* chapter* page* paragraph* subsection* "
    "verse* stanza* episode* season* volume* issue* step* task* book* article* report* work* file* "
    "dataset* law* act* regulation* standard* specification* activit* process* "
    "period* year* month* era* epoch* age"
)


def is_record(noun: str) -> bool:
    """Returns whether the members of a class are records: each is about one of each thing.

    The end of the noun decides: a sales event is one, an event venue is not. An association is one
    (of an agent with an activity), a football association is not.
    """
    text = split_label(noun)[0]
    return text == "association" or _RECORD.search(text) is not None


def is_exclusive_record(noun: str) -> bool:
    """Returns whether the members of a class are records without several participants or items.

    A payment has one payee, but a message may have several recipients.
    """
    return is_record(noun) and not _SHARED_RECORD.search(split_label(noun)[0])


def is_event(noun: str) -> bool:
    """Returns whether the members of a class are records, or events of which each has one date."""
    return is_record(noun) or REPEATED.search(find_head(noun)) is not None


def names_participant(label: str) -> bool:
    """Returns whether a predicate says who takes part in something, or what it contains."""
    head = find_head(label)
    return _AGENT.fullmatch(head) is not None or _PARTICIPANT.search(head) is not None


def names_record_part(label: str) -> bool:
    """Returns whether a predicate says what a record has one of: a place, a date, who is paid."""
    text = label.casefold()
    return (
        names_participant(label)
        or _PART.search(split_label(label)[0]) is not None
        or _TAKES_PLACE.fullmatch(text) is not None
    )


def is_living(noun: str) -> bool:
    """Returns whether the members of a class are people or animals."""
    return _LIVING.search(split_label(noun)[0]) is not None


def is_settlement(noun: str) -> bool:
    """Returns whether the members of a class are settlements of one level, such as cities."""
    return _SETTLEMENT.search(split_label(noun)[0]) is not None


def is_document(noun: str) -> bool:
    """Returns whether the members of a class are records, documents, versions or periods.

    Each has its place in an order, and none comes before what comes before it.
    """
    return is_event(noun) or _ORDERED.search(split_label(noun)[0]) is not None
