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
    unit_key,
)
from kg.claims import Claim
from kg.literals import NUMERIC, number
from kg.terms import RDF_TYPE, RDFS, XSD, literal_text, parse_literal

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
        self._literal = {pred: self._literal_datatype(pred) for pred in self.preds}
        self._units = {pred: unit_key(kb.words.words_of(pred).unit) for pred in self.preds}
        self._ends = {pred: (self._classes(pred, "domain"), self._classes(pred, "range"))
                      for pred in self.preds}  # fmt: skip

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
            question = question if any(self._literal.values()) else named
            refused = refusal(question)
            if refused:
                return Unread(refused)
            outcome = self._by_cues(question)
            if isinstance(outcome, Unread):
                return outcome
            claims = outcome
        claims = self._charitable(tuple(dict.fromkeys(claims)))
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
                return self._charitable(tuple(dict.fromkeys(claims)))
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
            weak = pattern.weak and not self._allowed(pattern.pred, subj, obj)
            if not weak and self._fits(pattern.pred, subj, obj):
                found += self._claims(pattern.pred, subj, obj)
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
            elif not self._allowed(pred, *roles):
                weaker = True
                reason = reason or "a thing is not of the kind the predicate is about"
            elif unplaced := self._coverage.unplaced(question, pred, roles, candidate):
                weaker = True
                reason = reason or _says_more(unplaced)
            else:
                chosen.setdefault(self._claims(pred, *roles), candidate)
        return chosen, reason, weaker

    def _matches(self, question: Question) -> Iterator[Match]:
        stems = [SLOT if key == SLOT else stem(key) for key in question.keys]
        numbers = any(m.number for m in question.mentions)
        seen = set()
        for present in dict.fromkeys(stems):
            for cue in self._by_stem.get(present, ()):
                literal = bool(self._literal[cue.pred])
                if literal != numbers and literal:
                    continue
                if numbers and not literal and len(question.mentions) < 3:
                    continue
                found = match(cue, stems, question.keys)
                if found is not None and found not in seen:
                    seen.add(found)
                    if not numbers or self._unit_fits(cue.pred, question):
                        yield found

    def _roles(
        self, question: Question, match: Match
    ) -> tuple[Mention, Mention] | tuple[()] | None:
        """(subject, object); empty when one is missing; None when it cannot be told."""
        cue = match.cue
        if self._literal[cue.pred]:
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
        forth, back = self._allowed(pred, one, two), self._allowed(pred, two, one)
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
            near = [iri for iri in mention.entities if self._adjacent(iri, context.entities)]
            if near:
                chosen = mention._replace(entities=tuple(near))
                return [(a, chosen if m is mention else m) for a, m in slots if m is not context]
        return slots

    def _adjacent(self, iri: str, others: Sequence[str]) -> bool:
        index, terms = self._index, self._index.terms
        node = terms.get(iri)
        near = {terms.get(other) for other in others} - {None}
        if node is None:
            return False
        return any(o in near for _, o in index.out_edges(node))

    def _narrowed(self, chosen: dict[tuple[Claim, ...], Match]) -> dict[tuple[Claim, ...], Match]:
        """Those readings whose subject and object are of the classes the predicate wants."""
        fitting = {
            claims: match
            for claims, match in chosen.items()
            if any(self._classes_fit(claim) for claim in claims)
        }
        return fitting or chosen

    def _by_unit(self, question: Question) -> tuple[Claim, ...]:
        """A number's unit names its predicate, with any word of the predicate's cues to help."""
        numbers = [m for m in question.mentions if m.number and m.unit]
        entities = [m for m in question.mentions if m.entities]
        if len(numbers) != 1 or len(entities) != 1:
            return ()
        preds = [
            p for p, unit in self._units.items() if self._literal[p] and unit == numbers[0].unit
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
        return self._claims(preds[0], *used)

    def _cue_words(self, pred: str) -> set[str]:
        return {s for cue in self._cues if cue.pred == pred for s in cue.stems if weight(s) >= 2}

    # -- claims --------------------------------------------------------------------------------

    def _fits(self, pred: str, subj: Mention, obj: Mention) -> bool:
        if not subj.entities:
            return False
        if self._literal[pred]:
            return bool(obj.number) and obj.unit in ("", self._units[pred])
        return bool(obj.entities)

    def _unit_fits(self, pred: str, question: Question) -> bool:
        # "Is its length 766?" may mean miles, so a number must name the unit the graph counts in.
        return {m.unit for m in question.mentions if m.number} == {self._units[pred]}

    def _claims(self, pred: str, subj: Mention, obj: Mention) -> tuple[Claim, ...]:
        claims: list[Claim] = []
        for s in subj.entities:
            if obj.number:
                claims.append(Claim(s, pred, self._number(s, pred, obj.number)))
            else:
                claims += [Claim(s, pred, o) for o in obj.entities]
        if len(claims) > 1:
            # A homonym that could not even bear the predicate is not what was meant.
            fitting = [claim for claim in claims if self._classes_fit(claim)]
            claims = fitting or claims
        return tuple(claims)

    def _charitable(self, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        """Of homonyms the one the graph relates to the other thing, if it is the only one.

        Whoever asks whether the Thames rises in the Cotswolds means the Thames that has to do
        with the Cotswolds. Numbers relate to nothing, so with them homonyms stay ambiguous.
        """
        if len(claims) < 2 or claims[0].pred == RDF_TYPE or self._literal[claims[0].pred]:
            return claims
        related = [
            claim
            for claim in claims
            if self._adjacent(claim.subj, (claim.obj,)) or self._adjacent(claim.obj, (claim.subj,))
        ]
        return tuple(related) if len(related) == 1 else claims

    def _number(self, subj: str, pred: str, digits: str) -> str:
        """The literal a number stands for: the graph's own spelling where it has that value."""
        index, terms = self._index, self._index.terms
        s, p = terms.get(subj), terms.get(pred)
        if s is not None and p is not None:
            for o in index.objects(s, p):
                text = terms.text(o)
                if number(text) == float(digits):
                    return text
        datatype = self._literal[pred]
        whole = not any(sign in digits for sign in ".eE")
        if datatype not in NUMERIC or (not whole and datatype == XSD + "integer"):
            datatype = XSD + ("integer" if whole else "decimal")
        return literal_text(digits, datatype)

    def _literal_datatype(self, pred: str) -> str:
        """Datatype of a predicate's values; empty when they are things."""
        p = self._index.terms.get(pred)
        first = None if p is None else next(iter(self._index.pairs(p)), None)
        text = "" if first is None else self._index.terms.text(first[1])
        return parse_literal(text).datatype if text.startswith('"') else ""

    def _classes(self, pred: str, end: str) -> frozenset[str]:
        """The classes of a predicate's domain or range; failing these, of all that stands there."""
        terms = self._index.terms
        p, schema = terms.get(pred), terms.get(RDFS + end)
        if p is None:
            return frozenset()
        if schema is not None and (stated := self._index.objects(p, schema)):
            return frozenset(terms.text(cls) for cls in stated)
        if self._literal[pred]:
            return frozenset()
        side = 0 if end == "domain" else 1
        seen = dict.fromkeys(terms.text(pair[side]) for pair in self._index.pairs(p))
        return frozenset(cls for iri in seen for cls in self._kb.words.types(iri))

    def _classes_fit(self, claim: Claim) -> bool:
        domain, range_ = self._ends[claim.pred]
        if domain and self._kb.words.types(claim.subj).isdisjoint(domain):
            return False
        if self._literal[claim.pred]:
            return True
        return not range_ or not self._kb.words.types(claim.obj).isdisjoint(range_)

    def _allowed(self, pred: str, subj: Mention, obj: Mention) -> bool:
        objects = obj.entities or (obj.number,)
        return any(self._classes_fit(Claim(s, pred, o)) for s in subj.entities for o in objects)


def _says_more(words: list[str]) -> str:
    quoted = ", ".join(f"“{word}”" for word in words[:3])
    return f"the question says more than a claim of the graph could ({quoted})"
