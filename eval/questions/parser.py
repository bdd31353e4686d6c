"""Parses a yes-no question as a claim: predicate, subject and object.

First the question, with its names replaced by slots, is compared with the domain's own sentences;
a match decides the claim. Otherwise the parser looks for words that indicate a predicate (cues).
It then uses grammar to decide which name is the subject and which is the object: the name before a
verb, the owner of a noun, "by" and "its". If anything remains unclear, it returns the reason
instead of a claim.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from eval.questions.claim_builder import ClaimBuilder
from eval.questions.coverage import WordCoverage
from eval.questions.cues import (
    SLOT,
    Cue,
    Pattern,
    build_denial_patterns,
    build_pattern_key,
    build_patterns,
    collect_cues,
    collect_verb_stems,
    stem_word,
    weigh_stem,
)
from eval.questions.frames import find_frame
from eval.questions.grammar import CueMatch, find_agent, find_owner, match_cue
from eval.questions.mentions import (
    ARTICLES,
    Mention,
    MentionIndex,
    Token,
    list_askable_predicates,
    tokenise_text,
)
from eval.questions.question import Question, explain_refusal, replace_mentions
from eval.questions.type_mentions import TypeMentions
from kg.claims import Claim
from kg.terms import RDF_TYPE

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MAX_READINGS = 16
"""Maximum number of combinations of homonyms; a question with more is ambiguous."""


class Reading(NamedTuple):
    """The claims that a question was parsed as.

    ``claims`` has one claim, or one for each combination of homonyms; ``inverted`` is True if the
    question asks whether the claim is false.
    """

    claims: tuple[Claim, ...]
    inverted: bool = False


class ParseFailure(NamedTuple):
    """The reason why a question or statement could not be parsed."""

    reason: str


class ClaimParser:
    """Parses questions about one knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._index = kb.oracle.closure.index
        self.preds = list_askable_predicates(kb)
        self.mention_index = MentionIndex(kb)
        self._patterns = build_patterns(kb, self.preds)
        self._denials = build_denial_patterns(kb, self.preds)
        self._cues = collect_cues(kb, self.preds)
        self._cues_by_stem: dict[str, list[Cue]] = {}
        for cue in self._cues:
            self._cues_by_stem.setdefault(max(cue.stems, key=weigh_stem), []).append(cue)
        self.verb_stems = collect_verb_stems(kb, self.preds)
        self._coverage = WordCoverage(kb, self._cues, self.mention_index.classes)
        self._builder = ClaimBuilder(kb, self.preds)
        self.type_mentions = TypeMentions(
            kb, self.mention_index.classes, self._coverage.predicate_stems
        )

    def parse_question(self, text: str) -> Reading | ParseFailure:
        """Parses the claim that a question asks about, or returns the reason why it cannot."""
        tokens = tokenise_text(text)
        frame = find_frame([token.key for token in tokens])
        tokens = tokens[frame.start : frame.end]
        if not tokens:
            return ParseFailure("the question holds no words")
        mentions = self.mention_index.find_mentions(tokens)
        question = replace_mentions(tokens, mentions)
        entity_question = replace_mentions(
            tokens, [mention for mention in mentions if mention.entities]
        )
        # In the second version of the question numbers remain words, because a domain's sentences
        # may contain numbers of their own ("on 1 January 2020").
        claims = (
            self._parse_type_claim(question)
            or self._parse_by_pattern(question, entity_question)
            or self._parse_by_value(tokens)
        )
        if not claims:
            question = question if any(self._builder.datatypes.values()) else entity_question
            refusal = explain_refusal(question)
            if refusal:
                return ParseFailure(refusal)
            outcome = self._parse_by_cues(question)
            if isinstance(outcome, ParseFailure):
                return outcome
            claims = outcome
        claims = self._builder.resolve_homonyms(tuple(dict.fromkeys(claims)))
        if len(claims) > MAX_READINGS:
            return ParseFailure("ambiguous: a name in the question is borne by too many things")
        return Reading(claims, frame.inverted)

    def parse_denial(self, text: str) -> tuple[Claim, ...]:
        """Parses one of the domain's sentences that deny a claim; empty if it is not one."""
        tokens = tokenise_text(text)
        mentions = self.mention_index.find_mentions(tokens)
        entity_mentions = [mention for mention in mentions if mention.entities]
        for slot_mentions in (mentions, entity_mentions):
            if claims := self._match_patterns(
                replace_mentions(tokens, slot_mentions), self._denials
            ):
                return self._builder.resolve_homonyms(tuple(dict.fromkeys(claims)))
        return ()

    def has_matching_classes(self, claim: Claim) -> bool:
        """Whether subject and object are of the classes that the predicate is about."""
        return claim.pred == RDF_TYPE or self._builder.has_matching_classes(claim)

    def has_predicate_words(self, question: Question) -> bool:
        """Whether the words of any predicate occur in the question."""
        stems = [SLOT if key == SLOT else stem_word(key) for key in question.keys]
        return any(
            match_cue(cue, stems, question.keys) is not None
            for stem in dict.fromkeys(stems)
            for cue in self._cues_by_stem.get(stem, ())
        )

    # -- whole sentences -----------------------------------------------------------------------

    def _parse_by_pattern(self, *questions: Question) -> tuple[Claim, ...]:
        """Returns the claims of the first version of a question that matches a pattern."""
        claims = (self._match_patterns(question, self._patterns) for question in questions)
        return next(filter(None, claims), ())

    def _parse_by_value(self, tokens: list[Token]) -> tuple[Claim, ...]:
        """Returns the claim of a sentence about a value that is no number, such as a date."""
        stems = {stem_word(token.key) for token in tokens}
        for pred, words in self._coverage.predicate_stems.items():
            if self._builder.datatypes[pred] and not words.isdisjoint(stems):
                mentions = self.mention_index.find_mentions(tokens, pred)
                claims = self._match_patterns(replace_mentions(tokens, mentions), self._patterns)
                if claims and {claim.pred for claim in claims} == {pred}:
                    return claims
        return ()

    def _match_patterns(
        self, question: Question, patterns: Mapping[tuple[str, ...], Sequence[Pattern]]
    ) -> tuple[Claim, ...]:
        if len(question.mentions) != 2:
            return ()
        claims: list[Claim] = []
        for pattern in patterns.get(build_pattern_key(question.keys), ()):
            first, second = question.mentions
            subj, obj = (first, second) if pattern.first == "subj" else (second, first)
            is_excluded = pattern.weak and not self._builder.is_allowed(pattern.pred, subj, obj)
            if not is_excluded and self._builder.fits_predicate(pattern.pred, subj, obj):
                claims += self._builder.build_claims(pattern.pred, subj, obj)
                break
        return tuple(claims)

    def _parse_type_claim(self, question: Question) -> tuple[Claim, ...]:
        """Parses "Is the Rhine a river?"."""
        keys = [key for key in question.keys if key not in ARTICLES]
        if len(question.mentions) != 1 or keys[:2] != ["is", SLOT]:
            return ()
        kind = self.mention_index.classes.get(tuple(keys[2:]))
        # An article must come before the class: "Is the Rhine river …?" does not ask for a type.
        if kind is None or question.keys[question.slots[0] + 1] not in ARTICLES:
            return ()
        return tuple(Claim(iri, RDF_TYPE, kind) for iri in question.mentions[0].entities)

    # -- cues ----------------------------------------------------------------------------------

    def _parse_by_cues(self, question: Question) -> tuple[Claim, ...] | ParseFailure:
        entities = [m for m in question.mentions if m.entities]
        if not entities:
            return ParseFailure("nothing the question mentions is known to the graph")
        matches = sorted(
            self._find_matches(question), key=lambda match: (-match.score, match.gaps, match.start)
        )
        if not matches:
            unit_claims = self._parse_by_unit(question)
            return unit_claims or ParseFailure(
                "no words of the question point to a predicate of the graph"
            )
        readings: dict[tuple[Claim, ...], CueMatch] = {}
        reason = ""
        for _, group in itertools.groupby(matches, key=lambda match: match.score):
            readings, group_reason, may_try_weaker = self._read_candidates(question, group)
            reason = reason or group_reason
            # If these cues give no claim, try weaker ones; they still must cover every word.
            if readings or not may_try_weaker:
                break
        if not readings:
            unit_claims = self._parse_by_unit(question)
            return unit_claims or ParseFailure(reason)
        if len(readings) > 1:
            readings = self._filter_by_class(readings)
        if len(readings) > 1:
            labels = dict.fromkeys(
                self._kb.verbaliser.get_label(m.cue.pred) for m in readings.values()
            )
            return ParseFailure(f"ambiguous: the question may ask for {' or '.join(labels)}")
        return next(iter(readings))

    def _read_candidates(
        self, question: Question, candidates: Iterable[CueMatch]
    ) -> tuple[dict[tuple[Claim, ...], CueMatch], str, bool]:
        """Reads the claims of equally good cues.

        Returns:
            Claims with their cues; the reason why the first unsuccessful cue gave no claim;
            whether weaker cues may be tried.
        """
        readings: dict[tuple[Claim, ...], CueMatch] = {}
        reason, may_try_weaker = "", False
        for candidate in candidates:
            pred = candidate.cue.pred
            roles = self._assign_roles(question, candidate)
            if roles is None:
                reason = reason or "it is unclear which thing the question makes the subject"
            elif not roles:
                reason = reason or "the question names only one thing the graph knows"
            elif not self._builder.is_allowed(pred, *roles):
                may_try_weaker = True
                reason = reason or "a thing is not of the kind the predicate is about"
            elif uncovered_words := self._coverage.find_uncovered_words(
                question, pred, roles, candidate
            ):
                may_try_weaker = True
                reason = reason or _describe_uncovered_words(uncovered_words)
            else:
                readings.setdefault(self._builder.build_claims(pred, *roles), candidate)
        return readings, reason, may_try_weaker

    def _find_matches(self, question: Question) -> Iterator[CueMatch]:
        stems = [SLOT if key == SLOT else stem_word(key) for key in question.keys]
        has_numbers = any(m.number for m in question.mentions)
        earlier_matches = set()
        for stem in dict.fromkeys(stems):
            for cue in self._cues_by_stem.get(stem, ()):
                has_literals = bool(self._builder.datatypes[cue.pred])
                if has_literals != has_numbers and has_literals:
                    continue
                if has_numbers and not has_literals and len(question.mentions) < 3:
                    continue
                match = match_cue(cue, stems, question.keys)
                if match is not None and match not in earlier_matches:
                    earlier_matches.add(match)
                    if not has_numbers or self._builder.has_matching_unit(cue.pred, question):
                        yield match

    def _assign_roles(
        self, question: Question, match: CueMatch
    ) -> tuple[Mention, Mention] | tuple[()] | None:
        """Returns (subject, object); empty if one is missing, None if the roles are unclear."""
        cue = match.cue
        if self._builder.datatypes[cue.pred]:
            entities = [m for m in question.mentions if m.entities]
            numbers = [m for m in question.mentions if m.number]
            if len(entities) == 1 and len(numbers) == 1:
                return entities[0], numbers[0]
            return () if not numbers else None
        slots = list(zip(question.slots, question.mentions, strict=True))
        slots = [(position, m) for position, m in slots if m.entities]
        is_reflexive = "itself" in question.keys
        if len(slots) == 1 and is_reflexive:
            return slots[0][1], slots[0][1]
        if len(slots) == 3:
            slots = self._drop_context(question, slots)
        if len(slots) != 2:
            return () if len(slots) < 2 else None
        holder = (find_owner if cue.kind == "noun" else find_agent)(question.keys, match, slots)
        if holder is None:
            return self._assign_roles_by_class(cue.pred, slots[0][1], slots[1][1])
        other = slots[1][1] if holder is slots[0][1] else slots[0][1]
        return (holder, other) if cue.role == "subj" else (other, holder)

    def _assign_roles_by_class(
        self, pred: str, first: Mention, second: Mention
    ) -> tuple[Mention, Mention] | None:
        """Assigns the roles by domain and range, if these allow only one direction."""
        forward, backward = (
            self._builder.is_allowed(pred, first, second),
            self._builder.is_allowed(pred, second, first),
        )
        if forward == backward:
            return None
        return (first, second) if forward else (second, first)

    def _drop_context(
        self, question: Question, slots: list[tuple[int, Mention]]
    ) -> list[tuple[int, Mention]]:
        """Drops a context such as "in Argentina" that chooses among the homonyms of a name.

        Returns:
            The slots without the context, and with the chosen entities; or ``slots`` unchanged.
        """
        for (position, mention), (next_position, context) in itertools.pairwise(slots):
            words_between = [
                k for k in question.keys[position + 1 : next_position] if k not in ARTICLES
            ]
            if len(mention.entities) < 2 or words_between not in (["in"], ["of"], ["from"], []):
                continue
            related = [
                iri for iri in mention.entities if self._builder.is_adjacent(iri, context.entities)
            ]
            if related:
                narrowed = mention._replace(entities=tuple(related))
                return [
                    (slot, narrowed if m is mention else m) for slot, m in slots if m is not context
                ]
        return slots

    def _filter_by_class(
        self, readings: dict[tuple[Claim, ...], CueMatch]
    ) -> dict[tuple[Claim, ...], CueMatch]:
        """Keeps the readings whose subject and object have the classes the predicate requires."""
        fitting = {
            claims: match
            for claims, match in readings.items()
            if any(self._builder.has_matching_classes(claim) for claim in claims)
        }
        return fitting or readings

    def _parse_by_unit(self, question: Question) -> tuple[Claim, ...]:
        """Parses a question by the unit of its number and, if ambiguous, words of the cues."""
        numbers = [m for m in question.mentions if m.number and m.unit]
        entities = [m for m in question.mentions if m.entities]
        if len(numbers) != 1 or len(entities) != 1:
            return ()
        preds = [
            p
            for p, unit in self._builder.units.items()
            if self._builder.datatypes[p] and unit == numbers[0].unit
        ]
        if len(preds) > 1:
            # Several predicates share the unit. The question must have a word that all of them
            # have, which names the dimension ("elevation"), and a word that only one of them has.
            # "rises 8 m" alone may be about a flood.
            stems = {stem_word(key) for key in question.keys}
            shared_stems = [self._collect_cue_stems(pred) & stems for pred in preds]
            common_stems = set.intersection(*shared_stems)
            preds = [
                pred
                for pred, pred_stems in zip(preds, shared_stems, strict=True)
                if common_stems and pred_stems - common_stems
            ]
        roles = (entities[0], numbers[0])
        if len(preds) != 1 or self._coverage.find_uncovered_words(question, preds[0], roles):
            return ()
        return self._builder.build_claims(preds[0], *roles)

    def _collect_cue_stems(self, pred: str) -> set[str]:
        return {
            s for cue in self._cues if cue.pred == pred for s in cue.stems if weigh_stem(s) >= 2
        }


def _describe_uncovered_words(words: list[str]) -> str:
    quoted = ", ".join(f"“{word}”" for word in words[:3])
    return f"the question says more than a claim of the graph could ({quoted})"
