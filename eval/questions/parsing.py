"""Reads a yes-no question as a claim: which predicate, about what, in which direction.

First the question is held against the domain's own sentences with the names cut out; a match
decides everything. Else words that point to a predicate (cues) are looked for, and grammar tells
the roles: who stands before a verb, who owns a noun, what "by" and "its" do. Whatever stays
unclear is named and left undecided: a guess would be an answer nobody licensed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from eval.questions.callings import Callings
from eval.questions.coverage import Coverage
from eval.questions.cues import (
    SLOT,
    Cue,
    Pattern,
    askable_predicates,
    cues_of,
    denials_of,
    pattern_key,
    patterns_of,
    stem,
    weight,
)
from eval.questions.form import Question, cut_out, refusal
from eval.questions.frames import frame_of
from eval.questions.grammar import Match, agent, match, owner
from eval.questions.linking import (
    ARTICLES,
    Mention,
    MentionIndex,
    tokens_of,
)
from eval.questions.making import ClaimMaker
from kg.claims import Claim
from kg.terms import RDF_TYPE

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MAX_READINGS = 16
"""Combinations of homonyms that are tried before a question counts as ambiguous."""


class Reading(NamedTuple):
    """A question understood.

    ``claims`` holds one claim, or one for each way to take its homonyms; ``inverted`` says that
    the question asks whether the claim is false.
    """

    claims: tuple[Claim, ...]
    inverted: bool = False


class Unread(NamedTuple):
    """A question not understood, and why."""

    reason: str


class ClaimParser:
    """Parses questions about one knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._index = kb.oracle.closure.index
        self.preds = askable_predicates(kb)
        self.mentions = MentionIndex(kb)
        self._patterns = patterns_of(kb, self.preds)
        self._denials = denials_of(kb, self.preds)
        self._cues = cues_of(kb, self.preds)
        self._by_stem: dict[str, list[Cue]] = {}
        for cue in self._cues:
            self._by_stem.setdefault(max(cue.stems, key=weight), []).append(cue)
        self._coverage = Coverage(kb, self._cues, self.mentions.classes)
        self._maker = ClaimMaker(kb, self.preds)
        self.callings = Callings(kb, self.mentions.classes, self._coverage.words)

    def parse(self, text: str) -> Reading | Unread:
        """The claim a question asks for, or why none could be read."""
        tokens = tokens_of(text)
        frame = frame_of([token.key for token in tokens])
        tokens = tokens[frame.start : frame.end]
        if not tokens:
            return Unread("the question holds no words")
        mentions = self.mentions.scan(tokens)
        question = cut_out(tokens, mentions)
        named = cut_out(tokens, [mention for mention in mentions if mention.entities])
        # A domain's sentences may hold numbers of their own ("on 1 January 2020").
        claims = self._type_claim(question) or self._by_pattern(question, named)
        if not claims:
            question = question if any(self._maker.literal.values()) else named
            refused = refusal(question)
            if refused:
                return Unread(refused)
            outcome = self._by_cues(question)
            if isinstance(outcome, Unread):
                return outcome
            claims = outcome
        claims = self._maker.charitable(tuple(dict.fromkeys(claims)))
        if len(claims) > MAX_READINGS:
            return Unread("ambiguous: a name in the question is borne by too many things")
        return Reading(claims, frame.inverted)

    def denied(self, text: str) -> tuple[Claim, ...]:
        """The claim that one of the domain's own sentences denies; empty when it is none."""
        tokens = tokens_of(text)
        mentions = self.mentions.scan(tokens)
        named = [mention for mention in mentions if mention.entities]
        for cut in (mentions, named):
            if claims := self._fitting(cut_out(tokens, cut), self._denials):
                return self._maker.charitable(tuple(dict.fromkeys(claims)))
        return ()

    def speaks(self, question: Question) -> bool:
        """Whether the words of some predicate occur, whatever else is said."""
        stems = [SLOT if key == SLOT else stem(key) for key in question.keys]
        return any(
            match(cue, stems, question.keys) is not None
            for present in dict.fromkeys(stems)
            for cue in self._by_stem.get(present, ())
        )

    # -- whole sentences -----------------------------------------------------------------------

    def _by_pattern(self, *questions: Question) -> tuple[Claim, ...]:
        """The claims of the first of several ways to cut the names out that fits a sentence."""
        found = (self._fitting(question, self._patterns) for question in questions)
        return next(filter(None, found), ())

    def _fitting(
        self, question: Question, patterns: Mapping[tuple[str, ...], Sequence[Pattern]]
    ) -> tuple[Claim, ...]:
        if len(question.mentions) != 2:
            return ()
        found: list[Claim] = []
        for pattern in patterns.get(pattern_key(question.keys), ()):
            first, second = question.mentions
            subj, obj = (first, second) if pattern.first == "subj" else (second, first)
            weak = pattern.weak and not self._maker.allowed(pattern.pred, subj, obj)
            if not weak and self._maker.fits(pattern.pred, subj, obj):
                found += self._maker.claims(pattern.pred, subj, obj)
                break
        return tuple(found)

    def _type_claim(self, question: Question) -> tuple[Claim, ...]:
        """Reads "Is the Rhine a river?"."""
        keys = [key for key in question.keys if key not in ARTICLES]
        if len(question.mentions) != 1 or keys[:2] != ["is", SLOT]:
            return ()
        kind = self.mentions.classes.get(tuple(keys[2:]))
        # "Is the Rhine river ...?" names no class; an article must come before it.
        if kind is None or question.keys[question.slots[0] + 1] not in ARTICLES:
            return ()
        return tuple(Claim(iri, RDF_TYPE, kind) for iri in question.mentions[0].entities)

    # -- cues ----------------------------------------------------------------------------------

    def _by_cues(self, question: Question) -> tuple[Claim, ...] | Unread:
        entities = [m for m in question.mentions if m.entities]
        if not entities:
            return Unread("nothing the question mentions is known to the graph")
        ranked = sorted(
            self._matches(question), key=lambda found: (-found.score, found.gaps, found.at)
        )
        if not ranked:
            by_unit = self._by_unit(question)
            return by_unit or Unread("no words of the question point to a predicate of the graph")
        chosen: dict[tuple[Claim, ...], Match] = {}
        reason = ""
        for _, group in itertools.groupby(ranked, key=lambda found: found.score):
            chosen, why, weaker = self._readings(question, group)
            reason = reason or why
            # A weaker cue is tried when these cannot be meant; it must account for every word.
            if chosen or not weaker:
                break
        if not chosen:
            by_unit = self._by_unit(question)
            return by_unit or Unread(reason)
        if len(chosen) > 1:
            chosen = self._narrowed(chosen)
        if len(chosen) > 1:
            labels = dict.fromkeys(self._kb.words.label(m.cue.pred) for m in chosen.values())
            return Unread(f"ambiguous: the question may ask for {' or '.join(labels)}")
        return next(iter(chosen))

    def _readings(
        self, question: Question, candidates: Iterable[Match]
    ) -> tuple[dict[tuple[Claim, ...], Match], str, bool]:
        """What equally good cues say, or why none says anything.

        Returns:
            Claims and cues; why the first cue that says nothing does not; whether weaker cues may
            be tried.
        """
        chosen: dict[tuple[Claim, ...], Match] = {}
        reason, weaker = "", False
        for candidate in candidates:
            pred = candidate.cue.pred
            roles = self._roles(question, candidate)
            if roles is None:
                reason = reason or "it is unclear which thing the question makes the subject"
            elif not roles:
                reason = reason or "the question names only one thing the graph knows"
            elif not self._maker.allowed(pred, *roles):
                weaker = True
                reason = reason or "a thing is not of the kind the predicate is about"
            elif unplaced := self._coverage.unplaced(question, pred, roles, candidate):
                weaker = True
                reason = reason or _says_more(unplaced)
            else:
                chosen.setdefault(self._maker.claims(pred, *roles), candidate)
        return chosen, reason, weaker

    def _matches(self, question: Question) -> Iterator[Match]:
        stems = [SLOT if key == SLOT else stem(key) for key in question.keys]
        numbers = any(m.number for m in question.mentions)
        seen = set()
        for present in dict.fromkeys(stems):
            for cue in self._by_stem.get(present, ()):
                literal = bool(self._maker.literal[cue.pred])
                if literal != numbers and literal:
                    continue
                if numbers and not literal and len(question.mentions) < 3:
                    continue
                found = match(cue, stems, question.keys)
                if found is not None and found not in seen:
                    seen.add(found)
                    if not numbers or self._maker.unit_fits(cue.pred, question):
                        yield found

    def _roles(
        self, question: Question, match: Match
    ) -> tuple[Mention, Mention] | tuple[()] | None:
        """(subject, object); empty when one is missing; None when it cannot be told."""
        cue = match.cue
        if self._maker.literal[cue.pred]:
            entities = [m for m in question.mentions if m.entities]
            numbers = [m for m in question.mentions if m.number]
            if len(entities) == 1 and len(numbers) == 1:
                return entities[0], numbers[0]
            return () if not numbers else None
        slots = list(zip(question.slots, question.mentions, strict=True))
        slots = [(at, m) for at, m in slots if m.entities]
        reflexive = "itself" in question.keys
        if len(slots) == 1 and reflexive:
            return slots[0][1], slots[0][1]
        if len(slots) == 3:
            slots = self._without_context(question, slots)
        if len(slots) != 2:
            return () if len(slots) < 2 else None
        holder = (owner if cue.kind == "noun" else agent)(question.keys, match, slots)
        if holder is None:
            return self._roles_by_class(cue.pred, slots[0][1], slots[1][1])
        other = slots[1][1] if holder is slots[0][1] else slots[0][1]
        return (holder, other) if cue.role == "subj" else (other, holder)

    def _roles_by_class(
        self, pred: str, one: Mention, two: Mention
    ) -> tuple[Mention, Mention] | None:
        """The only direction that domain and range allow, if there is just one."""
        forth, back = self._maker.allowed(pred, one, two), self._maker.allowed(pred, two, one)
        if forth == back:
            return None
        return (one, two) if forth else (two, one)

    def _without_context(
        self, question: Question, slots: list[tuple[int, Mention]]
    ) -> list[tuple[int, Mention]]:
        """Drops "in Argentina" behind a homonym, after using it to choose among its bearers."""
        for (at, mention), (next_at, context) in itertools.pairwise(slots):
            between = [k for k in question.keys[at + 1 : next_at] if k not in ARTICLES]
            if len(mention.entities) < 2 or between not in (["in"], ["of"], ["from"], []):
                continue
            near = [iri for iri in mention.entities if self._maker.adjacent(iri, context.entities)]
            if near:
                chosen = mention._replace(entities=tuple(near))
                return [(a, chosen if m is mention else m) for a, m in slots if m is not context]
        return slots

    def _narrowed(self, chosen: dict[tuple[Claim, ...], Match]) -> dict[tuple[Claim, ...], Match]:
        """Those readings whose subject and object are of the classes the predicate wants."""
        fitting = {
            claims: match
            for claims, match in chosen.items()
            if any(self._maker.classes_fit(claim) for claim in claims)
        }
        return fitting or chosen

    def _by_unit(self, question: Question) -> tuple[Claim, ...]:
        """A number's unit names its predicate, with any word of the predicate's cues to help."""
        numbers = [m for m in question.mentions if m.number and m.unit]
        entities = [m for m in question.mentions if m.entities]
        if len(numbers) != 1 or len(entities) != 1:
            return ()
        preds = [
            p
            for p, unit in self._maker.units.items()
            if self._maker.literal[p] and unit == numbers[0].unit
        ]
        if len(preds) > 1:
            # A word that all of them have names the dimension ("elevation"), and one that only
            # one of them has tells which: "rises 8 m" alone may speak of a flood.
            stems = {stem(key) for key in question.keys}
            shared = [self._cue_words(pred) & stems for pred in preds]
            common = set.intersection(*shared)
            preds = [
                pred for pred, own in zip(preds, shared, strict=True) if common and own - common
            ]
        used = (entities[0], numbers[0])
        if len(preds) != 1 or self._coverage.unplaced(question, preds[0], used):
            return ()
        return self._maker.claims(preds[0], *used)

    def _cue_words(self, pred: str) -> set[str]:
        return {s for cue in self._cues if cue.pred == pred for s in cue.stems if weight(s) >= 2}


def _says_more(words: list[str]) -> str:
    quoted = ", ".join(f"“{word}”" for word in words[:3])
    return f"the question says more than a claim of the graph could ({quoted})"
