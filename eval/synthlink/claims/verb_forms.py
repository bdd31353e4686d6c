"""Forms of English verbs: which forms belong together, and the past of a verb."""

from __future__ import annotations

from typing import Final

_ROWS: Final = """
arise arose arisen
bear bore borne
beat beaten
become became
begin began begun
blow blew blown
break broke broken
bring brought
build built
burn burnt burned
buy bought
catch caught
choose chose chosen
come came
deal dealt
dig dug
draw drew drawn
drive drove driven
eat ate eaten
fall fell fallen
feed fed
fight fought
find found
fly flew flown
forbid forbade forbidden
forget forgot forgotten
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lay laid
lead led
leave left
lend lent
lie lay lain
lose lost
make made
mean meant
meet met
pay paid
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shoot shot
show showed shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sleep slept
speak spoke spoken
spend spent
spread
stand stood
steal stole stolen
strike struck
swear swore sworn
swim swam swum
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
win won
withdraw withdrew withdrawn
write wrote written
"""
IRREGULAR_VERBS: Final[tuple[tuple[str, ...], ...]] = tuple(
    tuple(row.split()) for row in _ROWS.strip().splitlines()
)
"""Base, past and participle of verbs without the ending -ed; the participle only if it differs."""
_PAST: Final = {row[0]: row[1] for row in IRREGULAR_VERBS if len(row) > 1} | {
    "have": "had",
    "be": "was",
    "do": "did",
}
UNCHANGED_VERBS: Final = frozenset(("put", "set", "cut", "let", "shut", "hit", "cost", "spread"))
IRREGULAR_PASTS: Final = frozenset(
    form
    for row in IRREGULAR_VERBS
    for form in row[1:]
    if form not in ("lay", "saw", "shot", "rose")
)
"""Forms that are hardly ever nouns."""
_VOWELS: Final = frozenset("aeiou")
_STRESSED: Final = (
    *("cur", "fer", "deter", "mit", "pel", "rol", "rebel", "equip", "regret", "abhor", "allot"),
    *("acquit", "excel", "annul", "instil", "fulfil", "enrol", "travel", "cancel", "label"),
    *("model", "signal", "fuel", "level", "marshal", "counsel", "quarrel", "rival", "kidnap"),
    *("channel", "tunnel", "shovel", "program", "worship", "overlap"),
)
"""Endings of longer verbs whose last consonant is doubled; those in -l in British spelling."""
_UNSTRESSED: Final = frozenset(("offer", "differ", "suffer", "pilfer", "vomit", "limit", "fix"))


def form_past(base: str) -> str:
    """Returns the past of an English verb: "find" → "found", "carry" → "carried"."""
    verb = base.casefold()
    if verb in _PAST or verb in UNCHANGED_VERBS:
        return _PAST.get(verb, verb)
    if verb.endswith("e"):
        return f"{base}d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return f"{base[:-1]}ied"
    return f"{base}{base[-1]}ed" if _doubles_consonant(verb) else f"{base}ed"


def list_forms(base: str) -> list[str]:
    """Returns the forms of an English verb: "marry" → "marry", "marries", "married", "marrying"."""
    irregular = next((row for row in IRREGULAR_VERBS if row[0] == base), ())
    ends_in_y = base.endswith("y") and base[-2:-1] not in _VOWELS
    hisses = base.endswith(("s", "x", "z", "ch", "sh"))
    third = f"{base[:-1]}ies" if ends_in_y else f"{base}{'es' if hisses else 's'}"
    stem = base[:-1] if base.endswith("e") and not base.endswith("ee") else base
    stem += base[-1] if _doubles_consonant(base) else ""
    return [base, third, form_past(base), *irregular[1:], f"{stem}ing"]


def _doubles_consonant(verb: str) -> bool:
    """Returns whether the last consonant of a verb is doubled before -ed, as in "occurred"."""
    if verb[-1] in _VOWELS or verb[-1] in "wxy" or verb[-2:-1] not in [*_VOWELS]:
        return False
    if verb in _UNSTRESSED:
        return False
    before = verb[-3:-2]
    is_single = before not in _VOWELS or verb[-4:-2] == "qu"
    is_short = not _VOWELS & set(verb[:-2].replace("qu", "q"))
    return (is_short and is_single and len(verb) > len("up")) or verb.endswith(_STRESSED)
