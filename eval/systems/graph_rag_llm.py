"""``graph_rag_llm``: a language model proposes, the licence oracle disposes.

The model sees the question, and the graph's facts about what the question mentions. It proposes an
answer together with the claim the question asks about, in names. The names are linked to the graph
and the oracle is asked: YES passes only if the graph entails the claim, NO only if it contradicts
it. Any other YES or NO is overruled and becomes UNKNOWN, with the reason. UNKNOWN always passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cards.card import CardView
from eval.asking import Asker, Sampling
from eval.model.completion import Message
from eval.prompts import PROPOSAL, PROPOSAL_CLOSED, Proposal, ProposedClaim
from eval.questions.parsing import Unread
from eval.questions.proposed import Asked, ProposalReader, Wording
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions
from kg.claims import Claim, Gold, Label, Verdict

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

MAX_FACTS = 40
MAX_PREDICATES = 60
MAX_READINGS = 16
"""Ways to take the homonyms of one claim before it counts as ambiguous."""

_OPPOSITE: dict[Label, Label] = {"E": "C", "C": "E", "U": "U"}


class Licence(NamedTuple):
    """What the oracle lets through.

    Attributes:
        answer: YES, NO, or UNKNOWN when it lets neither through.
        reason: the proof in words, or why there is no licence.
    """

    answer: Gold
    reason: str


class GraphRagLlm:
    """Answers as the model proposes, as far as the graph licenses it.

    ``raw`` begins with what the oracle said to a YES or NO, and ends with the model's reply; an
    overruled row bears the note ``overruled YES`` or ``overruled NO``. ``confidence`` is the
    model's in its own proposal, and null where that was overruled.

    Args:
        knowledge: the graph with its oracle.
        asker: the model.
        facts: how many facts about the things mentioned the model is shown; 0: only the question.
    """

    def __init__(self, knowledge: KnowledgeBase, asker: Asker, *, facts: int = MAX_FACTS) -> None:
        self.name = asker.name("graph_rag_llm")
        self.knowledge = knowledge
        self.client = asker.client
        self._asker = asker
        self._facts = facts
        self._reader = ProposalReader(knowledge)
        self._predicates = self._reader.sentences(MAX_PREDICATES)

    def params(self) -> dict[str, Any]:
        """Graph reading, prompt and model."""
        domain = self.knowledge.domain
        prompt = PROPOSAL if self._facts else PROPOSAL_CLOSED
        return {
            "regime": domain.regime,
            "unique_names": domain.unique_names,
            "facts": self._facts,
            "prompt": prompt.params(),
            **self._asker.params(),
        }

    async def answer(self, card: CardView) -> Answer:
        """The model's answer if it is licensed, else UNKNOWN."""
        asked = self._reader.asked(card.question)
        answer, proposal = await self._asker.ask(self._messages(card, asked), Proposal)
        if answer.pred not in ("YES", "NO"):
            return answer
        if proposal is not None:
            licence = self.license(proposal.claims, asked)
        elif asked.reading is not None:
            # An answer in words alone: the question itself is the claim, where it can be read.
            licence = self._decided([(asked.reading.inverted, asked.reading.claims)])
        else:
            # Nothing that could be licensed: unreadable as a proposal, which is no abstention.
            note = "; ".join(filter(None, ("no claims can be read", answer.note)))
            return Answer(pred="INVALID", raw=answer.raw, note=note)
        if licence.answer == answer.pred:
            raw = f"Licensed {answer.pred}: {licence.reason}\n{answer.raw}"
            return Answer(pred=answer.pred, confidence=answer.confidence, raw=raw, note=answer.note)
        return Answer(
            pred="UNKNOWN",
            raw=f"Overruled {answer.pred}: {licence.reason}\n{answer.raw}",
            note="; ".join(filter(None, (f"overruled {answer.pred}", answer.note))),
        )

    async def aclose(self) -> None:
        """Closes the client."""
        await self._asker.aclose()

    def license(self, proposed: Sequence[ProposedClaim], asked: Asked) -> Licence:
        """What the oracle lets through for these claims.

        YES if every claim is entailed, NO if one is contradicted; a negated claim counts the other
        way round. Where the question itself can be read, claims beside its own are ignored.
        """
        if asked.twist:
            return Licence("UNKNOWN", f"{asked.twist}.")
        own: list[tuple[bool, tuple[Claim, ...]]] = []
        problem = "the model proposed no claim"
        for claim in proposed:
            read = self._reader.read(Wording(claim.subject, claim.predicate, claim.object))
            if isinstance(read, Unread):
                trouble = read.reason
            elif len(read) > MAX_READINGS:
                trouble = "a name of the claim is borne by too many things"
            else:
                trouble = self._reader.unasked(read, asked)
                if not trouble:
                    own.append((claim.negated, read))
                    continue
            problem = trouble
            if asked.reading is None:
                return Licence("UNKNOWN", f"{problem}.")
        if not own:
            return Licence("UNKNOWN", f"{problem}.")
        if asked.reading is not None:
            if any(negated != asked.reading.inverted for negated, _ in own):
                return Licence("UNKNOWN", "the claim has the question the wrong way round.")
        elif missing := self._reader.left_out((c for _, group in own for c in group), asked):
            return Licence("UNKNOWN", f"the claims leave out {missing}, which the question names.")
        return self._decided(own)

    def _decided(self, own: Sequence[tuple[bool, tuple[Claim, ...]]]) -> Licence:
        words = self.knowledge.words
        verdicts: list[tuple[Label, Verdict]] = []
        for negated, group in own:
            found = list(self.knowledge.oracle.license_many(group))
            if len({verdict.label for verdict in found}) > 1:
                readings = " ".join(dict.fromkeys(words.fact(verdict.claim) for verdict in found))
                return Licence("UNKNOWN", f"ambiguous, it may mean any of these. {readings}")
            label = found[0].label
            verdicts.append((_OPPOSITE[label] if negated else label, found[0]))
        refuted = [verdict for label, verdict in verdicts if label == "C"]
        if refuted:
            return Licence("NO", words.proof(refuted[0]))
        proofs = dict.fromkeys(words.proof(verdict) for _, verdict in verdicts)
        if all(label == "E" for label, _ in verdicts):
            return Licence("YES", " ".join(proofs))
        opened = next(verdict for label, verdict in verdicts if label == "U")
        return Licence("UNKNOWN", words.proof(opened))

    def _messages(self, card: CardView, asked: Asked) -> list[Message]:
        if not self._facts:
            return PROPOSAL_CLOSED.messages(predicates=self._predicates, question=card.question)
        from retrieval.neighbourhood import neighbourhood

        knowledge = self.knowledge
        facts = neighbourhood(knowledge.graph, knowledge.words, asked.things, self._facts)
        return PROPOSAL.messages(predicates=self._predicates, facts=facts, question=card.question)


@register("graph_rag_llm")
def create(options: SystemOptions) -> GraphRagLlm:
    """A language model proposes, the graph licenses: an unlicensed YES or NO becomes UNKNOWN."""
    settings = Settings(options.settings, "graph_rag_llm")
    context = settings.choice("context", ("neighbourhood", "question"))
    facts = settings.whole("facts", MAX_FACTS, least=1) if context == "neighbourhood" else 0
    sampling = Sampling.read(settings)
    settings.refuse_others()
    from kg.knowledge import KnowledgeBase

    # The model first: a missing key is found out before a graph is read.
    asker = Asker.open(options.client, sampling)
    knowledge = KnowledgeBase.shared(options.domain, options.graph, options.shapes)
    return GraphRagLlm(knowledge, asker, facts=facts)
