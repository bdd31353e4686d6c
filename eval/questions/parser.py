"""Parses a yes-no question as a claim: predicate, subject and object.

First the question, with its names replaced by slots, is compared with the domain's own sentences;
a match decides the claim. Otherwise the parser looks for words that indicate a predicate (cues),
and assigns the roles by grammar: the name before a verb, the owner of a noun, "by" and "its".
Where anything remains unclear it returns the reason instead of a claim, and never guesses.
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
    list_askable_predicates,
    stem_word,
    weigh_stem,
)
from eval.questions.frames import find_frame
from eval.questions.grammar import CueMatch, find_agent, find_owner, match_cue
from eval.questions.mentions import (
    ARTICLES,
    Mention,
    MentionIndex,
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
        named = replace_mentions(tokens, [mention for mention in mentions if mention.entities])
        # A domain's sentences may contain numbers of their own ("on 1 January 2020").
        claims = self._parse_type_claim(question) or self._parse_by_pattern(question, named)
        if not claims:
            question = question if any(self._builder.datatypes.values()) else named
            refused = explain_refusal(question)
            if refused:
                return ParseFailure(refused)
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
        named = [mention for mention in mentions if mention.entities]
        for cut in (mentions, named):
            if claims := self._match_patterns(replace_mentions(tokens, cut), self._denials):
                return self._builder.resolve_homonyms(tuple(dict.fromkeys(claims)))
        return ()

    def has_predicate_words(self, question: Question) -> bool:
        """Whether the words of any predicate occur in the question."""
        stems = [SLOT if key == SLOT else stem_word(key) for key in question.keys]
        return any(
            match_cue(cue, stems, question.keys) is not None
            for present in dict.fromkeys(stems)
            for cue in self._cues_by_stem.get(present, ())
        )

    # -- whole sentences -----------------------------------------------------------------------

    def _parse_by_pattern(self, *questions: Question) -> tuple[Claim, ...]:
        """Returns the claims of the first version of a question that matches a pattern."""
        found = (self._match_patterns(question, self._patterns) for question in questions)
        return next(filter(None, found), ())

    def _match_patterns(
        self, question: Question, patterns: Mapping[tuple[str, ...], Sequence[Pattern]]
    ) -> tuple[Claim, ...]:
        if len(question.mentions) != 2:
            return ()
        found: list[Claim] = []
        for pattern in patterns.get(build_pattern_key(question.keys), ()):
            first, second = question.mentions
            subj, obj = (first, second) if pattern.first == "subj" else (second, first)
            weak = pattern.weak and not self._builder.is_allowed(pattern.pred, subj, obj)
            if not weak and self._builder.fits_predicate(pattern.pred, subj, obj):
                found += self._builder.build_claims(pattern.pred, subj, obj)
                break
        return tuple(found)

    def _parse_type_claim(self, question: Question) -> tuple[Claim, ...]:
        """Parses "Is the Rhine a river?"."""
        keys = [key for key in question.keys if key not in ARTICLES]
        if len(question.mentions) != 1 or keys[:2] != ["is", SLOT]:
            return ()
        kind = self.mention_index.classes.get(tuple(keys[2:]))
        # "Is the Rhine river ...?" names no class; an article must come before it.
        if kind is None or question.keys[question.slots[0] + 1] not in ARTICLES:
            return ()
        return tuple(Claim(iri, RDF_TYPE, kind) for iri in question.mentions[0].entities)

    # -- cues ----------------------------------------------------------------------------------

    def _parse_by_cues(self, question: Question) -> tuple[Claim, ...] | ParseFailure:
        entities = [m for m in question.mentions if m.entities]
        if not entities:
            return ParseFailure("nothing the question mentions is known to the graph")
        ranked = sorted(
            self._find_matches(question), key=lambda found: (-found.score, found.gaps, found.start)
        )
        if not ranked:
            by_unit = self._parse_by_unit(question)
            return by_unit or ParseFailure(
                "no words of the question point to a predicate of the graph"
            )
        chosen: dict[tuple[Claim, ...], CueMatch] = {}
        reason = ""
        for _, group in itertools.groupby(ranked, key=lambda found: found.score):
            chosen, why, weaker = self._read_candidates(question, group)
            reason = reason or why
            # If these cues give no claim, try weaker ones; they still must cover every word.
            if chosen or not weaker:
                break
        if not chosen:
            by_unit = self._parse_by_unit(question)
            return by_unit or ParseFailure(reason)
        if len(chosen) > 1:
            chosen = self._filter_by_class(chosen)
        if len(chosen) > 1:
            labels = dict.fromkeys(
                self._kb.verbaliser.get_label(m.cue.pred) for m in chosen.values()
            )
            return ParseFailure(f"ambiguous: the question may ask for {' or '.join(labels)}")
        return next(iter(chosen))

    def _read_candidates(
        self, question: Question, candidates: Iterable[CueMatch]
    ) -> tuple[dict[tuple[Claim, ...], CueMatch], str, bool]:
        """Reads the claims of equally good cues.

        Returns:
            Claims with their cues; the reason why the first unsuccessful cue gave no claim;
            whether weaker cues may be tried.
        """
        chosen: dict[tuple[Claim, ...], CueMatch] = {}
        reason, weaker = "", False
        for candidate in candidates:
            pred = candidate.cue.pred
            roles = self._assign_roles(question, candidate)
            if roles is None:
                reason = reason or "it is unclear which thing the question makes the subject"
            elif not roles:
                reason = reason or "the question names only one thing the graph knows"
            elif not self._builder.is_allowed(pred, *roles):
                weaker = True
                reason = reason or "a thing is not of the kind the predicate is about"
            elif unplaced := self._coverage.find_uncovered_words(question, pred, roles, candidate):
                weaker = True
                reason = reason or _describe_uncovered_words(unplaced)
            else:
                chosen.setdefault(self._builder.build_claims(pred, *roles), candidate)
        return chosen, reason, weaker

    def _find_matches(self, question: Question) -> Iterator[CueMatch]:
        stems = [SLOT if key == SLOT else stem_word(key) for key in question.keys]
        numbers = any(m.number for m in question.mentions)
        earlier_matches = set()
        for present in dict.fromkeys(stems):
            for cue in self._cues_by_stem.get(present, ()):
                literal = bool(self._builder.datatypes[cue.pred])
                if literal != numbers and literal:
                    continue
                if numbers and not literal and len(question.mentions) < 3:
                    continue
                match = match_cue(cue, stems, question.keys)
                if match is not None and match not in earlier_matches:
                    earlier_matches.add(match)
                    if not numbers or self._builder.has_matching_unit(cue.pred, question):
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
        reflexive = "itself" in question.keys
        if len(slots) == 1 and reflexive:
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
        forth, back = (
            self._builder.is_allowed(pred, first, second),
            self._builder.is_allowed(pred, second, first),
        )
        if forth == back:
            return None
        return (first, second) if forth else (second, first)

    def _drop_context(
        self, question: Question, slots: list[tuple[int, Mention]]
    ) -> list[tuple[int, Mention]]:
        """Drops "in Argentina" after a homonym, having used it to choose among the entities."""
        for (position, mention), (next_position, context) in itertools.pairwise(slots):
            between = [k for k in question.keys[position + 1 : next_position] if k not in ARTICLES]
            if len(mention.entities) < 2 or between not in (["in"], ["of"], ["from"], []):
                continue
            near = [
                iri for iri in mention.entities if self._builder.is_adjacent(iri, context.entities)
            ]
            if near:
                chosen = mention._replace(entities=tuple(near))
                return [(a, chosen if m is mention else m) for a, m in slots if m is not context]
        return slots

    def _filter_by_class(
        self, chosen: dict[tuple[Claim, ...], CueMatch]
    ) -> dict[tuple[Claim, ...], CueMatch]:
        """Keeps the readings whose subject and object have the classes the predicate requires."""
        fitting = {
            claims: match
            for claims, match in chosen.items()
            if any(self._builder.has_matching_classes(claim) for claim in claims)
        }
        return fitting or chosen

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
            # Several predicates share the unit. Require a word that all of them have, which names
            # the dimension ("elevation"), and one that only one of them has. "rises 8 m" alone may
            # be about a flood.
            stems = {stem_word(key) for key in question.keys}
            shared = [self._collect_cue_stems(pred) & stems for pred in preds]
            common = set.intersection(*shared)
            preds = [
                pred for pred, own in zip(preds, shared, strict=True) if common and own - common
            ]
        used = (entities[0], numbers[0])
        if len(preds) != 1 or self._coverage.find_uncovered_words(question, preds[0], used):
            return ()
        return self._builder.build_claims(preds[0], *used)

    def _collect_cue_stems(self, pred: str) -> set[str]:
        return {
            s for cue in self._cues if cue.pred == pred for s in cue.stems if weigh_stem(s) >= 2
        }


def _describe_uncovered_words(words: list[str]) -> str:
    quoted = ", ".join(f"“{word}”" for word in words[:3])
    return f"the question says more than a claim of the graph could ({quoted})"
