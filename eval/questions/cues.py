"""Cues: words that indicate a predicate, from a domain's templates, labels and synonyms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from eval.questions.frames import find_frame
from eval.questions.mentions import ARTICLES, Token, tokenise_text
from kg.base.plain_text import list_words
from kg.words.label_grammar import parse_label
from kg.words.label_words import PREPOSITIONS

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase
    from kg.words.phrasebook import Phrasebook

Role = Literal["subj", "obj"]

SLOT = "⟨⟩"
"""Stands for a name in the tokens of a sentence; no token of a text is equal to it."""

# Made-up words that are filled into templates in place of names, to find the names' positions.
_SUBJ, _OBJ = "zzsubjectzz", "zzobjectzz"
_SLOTS: dict[str, Role] = {_SUBJ: "subj", _OBJ: "obj"}
# Words that are ignored when cues are compared.
FILLERS = frozenset(
    list_words("is are be was were been do does did will would can could directly really indeed "
               "also actually then please")
)  # fmt: skip
BE_FORMS = frozenset(("is", "are", "was", "were", "be", "been", "being"))
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

# Prepositions with the same meaning after a verb: "starts in" and "starts at", "flows through" and
# "flows across". "From" and "by" are in no group, because they reverse the meaning.
_SIMILAR_PREPOSITIONS = (
    frozenset(("in", "at", "on", "within", "inside")),
    frozenset(("into", "in")),
    frozenset(("into", "to")),
    frozenset(("through", "across", "along", "over")),
)


def are_similar_prepositions(preposition: str, other: str) -> bool:
    """Whether one preposition can replace another after the same verb."""
    return any(preposition in group and other in group for group in _SIMILAR_PREPOSITIONS)


class Cue(NamedTuple):
    """Words that indicate a predicate."""

    stems: tuple[str, ...]
    """Stems of the words."""
    pred: str
    """The predicate that they indicate."""
    kind: Literal["verb", "noun"]
    role: Role
    """Role of the name before a verb ("S flows into"), or of the owner of a noun ("S's mouth")."""
    passive: bool = False
    """Whether the cue's own phrase starts with a form of "be" ("is located in")."""


class Pattern(NamedTuple):
    """The meaning of a whole sentence with two slots."""

    pred: str
    """The predicate of the sentence."""
    first: Role
    """Role of the first slot."""
    weak: bool = False
    """Whether the pattern has no content word; then both slots must have the right classes."""


@lru_cache(maxsize=20_000)
def stem_word(word: str) -> str:
    """Removes the inflection of an English word, well enough to match forms of the same word."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, min_length in (("ing", 6), ("ies", 5), ("ied", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= min_length and not word.endswith("ss"):
            if ending == "ing" and not _VOWELS.intersection(word[:-3]):
                break  # "spring" is not a form of "spr".
            word = word[: -len(ending)] + ("y" if ending in ("ies", "ied") else "")
            break
    # "running" → "runn" → "run"; but "fall", "pass" and "buzz" keep both letters.
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def is_inflected(word: str) -> bool:
    """Whether a form of a verb is a past tense or a participle."""
    is_regular = word.endswith(("ed", "ing")) and stem_word(word) != word
    return is_regular or (word in _IRREGULAR and not word.endswith("s"))


def stem_tokens(tokens: Iterable[Token]) -> list[str]:
    """Returns the stems of tokens, without articles and fillers."""
    keys = (token.key for token in tokens)
    return [stem_word(key) for key in keys if key not in ARTICLES and key not in FILLERS]


def build_patterns(kb: KnowledgeBase, preds: Iterable[str]) -> dict[tuple[str, ...], list[Pattern]]:
    """Builds patterns from all question and fact templates, keyed by their tokens with slots."""
    patterns: dict[tuple[str, ...], list[Pattern]] = {}
    for pred in preds:
        for text in _list_sentences(kb.verbaliser, pred):
            key, roles = _replace_names_with_slots(text)
            if len(roles) == 2:
                pattern = Pattern(pred, roles[0])
                entries = patterns.setdefault(key, [])
                if pattern not in entries:
                    entries.append(pattern)
        for phrase in kb.verbaliser.get_wording(pred).synonyms:
            # "is in" alone indicates no predicate, but the whole sentence "Is S in O?" does.
            keys = [token.key for token in tokenise_text(phrase)]
            if keys and keys[0] in BE_FORMS and _is_weightless(map(stem_word, keys)):
                key = build_pattern_key((keys[0], SLOT, *keys[1:], SLOT))
                patterns.setdefault(key, []).append(Pattern(pred, "subj", weak=True))
    return patterns


def build_denial_patterns(
    kb: KnowledgeBase, preds: Iterable[str]
) -> dict[tuple[str, ...], list[Pattern]]:
    """Builds patterns as ``build_patterns`` does, from the sentences that deny a claim."""
    patterns: dict[tuple[str, ...], list[Pattern]] = {}
    for pred in preds:
        key, roles = _replace_names_with_slots(kb.verbaliser.fill_denial(pred, _SUBJ, _OBJ))
        if len(roles) == 2:
            patterns.setdefault(key, []).append(Pattern(pred, roles[0]))
    return patterns


def build_pattern_key(keys: Iterable[str]) -> tuple[str, ...]:
    """Returns the key of a sentence among the patterns: its tokens without articles."""
    return tuple(key for key in keys if key not in ARTICLES)


def collect_cues(kb: KnowledgeBase, preds: Iterable[str]) -> list[Cue]:
    """Collects the distinct cues of all predicates, in a fixed order."""
    return list(
        dict.fromkeys(cue for pred in preds for cue in _iter_predicate_cues(kb.verbaliser, pred))
    )


def collect_verb_stems(kb: KnowledgeBase, preds: Iterable[str]) -> frozenset[str]:
    """Collects the stems of the verbs that the wording of predicates begins with: "flows into"."""
    stems = set()
    for pred in preds:
        words, entry = kb.verbaliser, kb.verbaliser.get_wording(pred)
        phrases = (words.get_label(pred), *entry.synonyms, *entry.inverse_synonyms)
        for text in (*phrases, words.fill_clause(pred, "", "")):
            first_key = next((token.key for token in tokenise_text(text)), "")
            if first_key.endswith("s") and weigh_stem(stem_word(first_key)) >= 2:
                stems.add(stem_word(first_key))
    return frozenset(stems)


def _iter_predicate_cues(words: Phrasebook, pred: str) -> Iterator[Cue]:
    entry = words.get_wording(pred)
    for phrase in (words.get_label(pred), *entry.synonyms):
        yield from _iter_phrase_cues(phrase, pred, "subj")
    for phrase in entry.inverse_synonyms:
        yield from _iter_phrase_cues(phrase, pred, "obj")
    for text in _list_sentences(words, pred):
        key, roles = _replace_names_with_slots(text)
        if len(roles) != 2:
            continue
        first_slot, last_slot = key.index(SLOT), len(key) - 1 - key[::-1].index(SLOT)
        outer_words = [k for k in (*key[:first_slot], *key[last_slot + 1 :]) if k not in FILLERS]
        inner_stems = [stem_word(k) for k in key[first_slot + 1 : last_slot] if k not in FILLERS]
        if inner_stems and not outer_words and not _is_weightless(inner_stems):
            is_passive = key[first_slot + 1] in BE_FORMS
            yield Cue(tuple(inner_stems), pred, "verb", roles[0], is_passive)


def _iter_phrase_cues(phrase: str, pred: str, role_before: Role) -> Iterator[Cue]:
    """Yields the cues of a synonym, given the role of the name before it in a statement."""
    role_after: Role = "obj" if role_before == "subj" else "subj"
    tokens = tokenise_text(phrase)
    stems = tuple(stem_tokens(tokens))
    if _is_weightless(stems):
        return
    parsed = parse_label(phrase)
    is_copular = bool(tokens) and tokens[0].key in ("is", "are", "was", "were")
    if parsed.kind == "noun" and not is_copular and stems[0] != "have":
        # A label or synonym that is a noun ("mouth"): the object is the mouth of the subject.
        yield Cue(stems, pred, "noun", role_before)
        return
    if is_copular and stems[-1] == "of" and len(stems) > 1:
        has_article = len(tokens) > 1 and tokens[1].key in ARTICLES
        if has_article:
            # "is a tributary of": the name after it owns the tributary.
            yield Cue(stems[:-1], pred, "noun", role_after)
            return
    yield Cue(stems, pred, "verb", role_before, is_copular)


def _is_weightless(stems: Iterable[str]) -> bool:
    """Whether all stems are prepositions or auxiliaries."""
    return all(weigh_stem(s) < 2 for s in stems)


def weigh_stem(stem: str) -> float:
    """Returns how much a matched word of a cue counts: auxiliaries least, content words most."""
    if stem in ("have", "be"):
        return 0.5
    return 1.0 if stem in PREPOSITIONS else 2.0


def _list_sentences(words: Phrasebook, pred: str) -> list[str]:
    """Lists a predicate's questions and statement with slot words for the two names."""
    return [*words.fill_questions(pred, _SUBJ, _OBJ), words.fill_clause(pred, _SUBJ, _OBJ)]


def _replace_names_with_slots(text: str) -> tuple[tuple[str, ...], list[Role]]:
    keys = [token.key for token in tokenise_text(text)]
    frame = find_frame(keys)
    keys = keys[frame.start : frame.end]
    roles = [_SLOTS[key] for key in keys if key in _SLOTS]
    return build_pattern_key(SLOT if key in _SLOTS else key for key in keys), roles
