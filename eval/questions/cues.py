"""What words point to which predicate: cues from a domain's templates, labels and synonyms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from eval.questions.frames import frame_of
from eval.questions.linking import ARTICLES, Token, tokens_of
from kg.words.phrasing import PREPOSITIONS, parse_label
from kg.words.plain_text import words_of

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase
    from kg.words.phrasebook import Phrasebook

Role = Literal["subj", "obj"]

SLOT = "⟨⟩"
_SUBJ, _OBJ = "zzsubjectzz", "zzobjectzz"
_SLOTS: dict[str, Role] = {_SUBJ: "subj", _OBJ: "obj"}
FILLERS = frozenset(
    words_of("is are be was were been do does did will would can could directly really indeed also "
    "actually then please")
)  # fmt: skip
BE = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_IRREGULAR = {
    irregular: base
    for base, forms in {
        "rise": "rose risen rising rises",
        "run": "ran running runs",
        "have": "has had having",
        "begin": "began begun beginning begins",
        "spring": "sprang sprung",
        "feed": "fed feeding feeds",
        "lie": "lies lay lain lying",
        "go": "goes went gone",
        "come": "came comes coming",
        "bear": "bore born borne",
        "find": "found",
        "meet": "met",
        "lead": "led",
        "give": "gives gave given giving",
        "take": "takes took taken taking",
        "make": "makes made making",
        "get": "gets got gotten getting",
        "be": "is are was were been being",
    }.items()
    for irregular in forms.split()
}


_VOWELS = frozenset("aeiouy")

# Prepositions that say the same behind one verb: "starts in" and "starts at", "flows through" and
# "flows across". "From" and "by" are in none: they turn the meaning round.
_LIKE = (
    frozenset(("in", "at", "on", "within", "inside")),
    frozenset(("into", "in")),
    frozenset(("into", "to")),
    frozenset(("through", "across", "along", "over")),
)


def alike(preposition: str, other: str) -> bool:
    """Whether one preposition can stand for another behind the same verb."""
    return any(preposition in group and other in group for group in _LIKE)


class Cue(NamedTuple):
    """Words that point to a predicate.

    ``kind`` says how the roles are told: ``verb``: whoever stands before the words has the role
    ``role``; ``noun``: whoever *owns* the noun ("S's mouth", "mouth of S") has it.
    """

    stems: tuple[str, ...]
    pred: str
    kind: Literal["verb", "noun"]
    role: Role
    passive: bool = False
    """The cue is a participle behind "is" already ("is located in")."""


class Pattern(NamedTuple):
    """A whole sentence with two slots: which predicate it asks for, and whose slot comes first."""

    pred: str
    first: Role
    weak: bool = False
    """It holds no word of weight, so that subject and object must be of the right kinds."""


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without its inflection; good enough to match words of one language with themselves."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, least in (("ing", 6), ("ies", 5), ("ied", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            if ending == "ing" and not _VOWELS.intersection(word[:-3]):
                break  # "spring" is no form of "spr".
            word = word[: -len(ending)] + ("y" if ending in ("ies", "ied") else "")
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def stems_of(tokens: Iterable[Token]) -> list[str]:
    """Stems without articles and fillers."""
    keys = (token.key for token in tokens)
    return [stem(key) for key in keys if key not in ARTICLES and key not in FILLERS]


def askable_predicates(kb: KnowledgeBase) -> list[str]:
    """The predicates questions may be about: the domain's, else all that carry data."""
    from kg.vocabulary import is_vocabulary

    if kb.domain.predicates:
        return list(kb.domain.predicates)
    return [pred for pred in kb.predicates if not is_vocabulary(pred)]


def patterns_of(kb: KnowledgeBase, preds: Iterable[str]) -> dict[tuple[str, ...], list[Pattern]]:
    """Every question and fact template as a run of tokens with slots."""
    found: dict[tuple[str, ...], list[Pattern]] = {}
    for pred in preds:
        for text in _sentences(kb.words, pred):
            key, roles = _with_slots(text)
            if len(roles) == 2:
                pattern = Pattern(pred, roles[0])
                entries = found.setdefault(key, [])
                if pattern not in entries:
                    entries.append(pattern)
        for phrase in kb.words.words_of(pred).synonyms:
            # "Is in" is too weak a cue, but "Is S in O?" says nothing else.
            keys = [token.key for token in tokens_of(phrase)]
            if keys and keys[0] in BE and _weightless(map(stem, keys)):
                key = pattern_key((keys[0], SLOT, *keys[1:], SLOT))
                found.setdefault(key, []).append(Pattern(pred, "subj", weak=True))
    return found


def denials_of(kb: KnowledgeBase, preds: Iterable[str]) -> dict[tuple[str, ...], list[Pattern]]:
    """Every sentence of the domain that denies a claim, as ``patterns_of`` gives those that ask."""
    found: dict[tuple[str, ...], list[Pattern]] = {}
    for pred in preds:
        key, roles = _with_slots(kb.words.denial(pred, _SUBJ, _OBJ))
        if len(roles) == 2:
            found.setdefault(key, []).append(Pattern(pred, roles[0]))
    return found


def pattern_key(keys: Iterable[str]) -> tuple[str, ...]:
    """A sentence as it is looked up among the patterns: without articles."""
    return tuple(key for key in keys if key not in ARTICLES)


def cues_of(kb: KnowledgeBase, preds: Iterable[str]) -> list[Cue]:
    """All cues, in a fixed order, each once."""
    return list(dict.fromkeys(cue for pred in preds for cue in _cues(kb.words, pred)))


def _cues(words: Phrasebook, pred: str) -> Iterator[Cue]:
    entry = words.words_of(pred)
    for phrase in (words.label(pred), *entry.synonyms):
        yield from _phrase_cues(phrase, pred, "subj")
    for phrase in entry.inverse_synonyms:
        yield from _phrase_cues(phrase, pred, "obj")
    for text in _sentences(words, pred):
        key, roles = _with_slots(text)
        if len(roles) != 2:
            continue
        first, last = key.index(SLOT), len(key) - 1 - key[::-1].index(SLOT)
        outside = [k for k in (*key[:first], *key[last + 1 :]) if k not in FILLERS]
        between = [stem(k) for k in key[first + 1 : last] if k not in FILLERS]
        if between and not outside and not _weightless(between):
            passive = key[first + 1] in BE
            yield Cue(tuple(between), pred, "verb", roles[0], passive)


def _phrase_cues(phrase: str, pred: str, before: Role) -> Iterator[Cue]:
    """Cues of a synonym; ``before`` is the role of what stands before it as a statement."""
    after: Role = "obj" if before == "subj" else "subj"
    tokens = tokens_of(phrase)
    stems = tuple(stems_of(tokens))
    if _weightless(stems):
        return
    parsed = parse_label(phrase)
    copular = bool(tokens) and tokens[0].key in ("is", "are", "was", "were")
    if parsed.kind == "noun" and not copular and stems[0] != "have":
        # A label or synonym that is a noun: the subject owns it, the object is it.
        yield Cue(stems, pred, "noun", before)
        return
    if copular and stems[-1] == "of" and len(stems) > 1:
        article = len(tokens) > 1 and tokens[1].key in ARTICLES
        if article:
            # "is a tributary of": what comes after owns the tributary.
            yield Cue(stems[:-1], pred, "noun", after)
            return
    yield Cue(stems, pred, "verb", before, copular)


def _weightless(stems: Iterable[str]) -> bool:
    """Whether there is nothing but prepositions and auxiliaries in it."""
    return all(weight(s) < 2 for s in stems)


def weight(stem_: str) -> float:
    """How much a matched word of a cue counts."""
    if stem_ in ("have", "be"):
        return 0.5
    return 1.0 if stem_ in PREPOSITIONS else 2.0


def _sentences(words: Phrasebook, pred: str) -> list[str]:
    """A predicate's questions and statement with slot words for the two names."""
    return [*words.questions_about(pred, _SUBJ, _OBJ), words.clause(pred, _SUBJ, _OBJ)]


def _with_slots(text: str) -> tuple[tuple[str, ...], list[Role]]:
    keys = [token.key for token in tokens_of(text)]
    frame = frame_of(keys)
    keys = keys[frame.start : frame.end]
    roles = [_SLOTS[key] for key in keys if key in _SLOTS]
    return pattern_key(SLOT if key in _SLOTS else key for key in keys), roles
