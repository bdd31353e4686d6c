"""``graph_rag_llm``: a language model proposes an answer, which the licence oracle checks.

The model gets the question and the graph's facts about the entities that the question mentions, and
proposes an answer. The oracle judges the claim that the question asks about: YES passes only if the
graph entails it, NO only if the graph contradicts it. Any other YES or NO becomes UNKNOWN, with the
reason. UNKNOWN always passes.

The claim is read from the question by rules. Only where that fails does the model also name the
subject, predicate and object of the claim, which are linked to the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET, UnsetType

from cards.card import CardView
from eval.abstention.answer_client import MAX_PROPOSAL_TOKENS, AnswerClient, Sampling
from eval.abstention.result import Answer
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from eval.model.prompts import (
    CLOSED_BOOK,
    GRAPH_FACTS,
    PROPOSAL,
    PROPOSAL_CLOSED,
    Proposal,
    ProposedClaim,
    TypedAnswer,
)
from eval.questions.parser import ParseFailure
from eval.questions.proposals import ProposalReader, QuestionContext, WordedClaim
from kg.claims import Claim, Gold, Label, Verdict

if TYPE_CHECKING:
    from kg.knowledge import KnowledgeBase

DEFAULT_MAX_FACTS = 40
"""Default maximum number of facts in the prompt."""
MAX_PROMPT_PREDICATES = 60
"""Maximum number of the graph's predicates that the prompt lists."""

_OPPOSITE_LABEL: dict[Label, Label] = {"E": "C", "C": "E", "U": "U"}


class Licence(NamedTuple):
    """The answer that the oracle licenses.

    Attributes:
        answer: YES, NO, or UNKNOWN if it licenses neither.
        reason: the proof in words, or why neither is licensed.
    """

    answer: Gold
    reason: str


class GraphRagLlm:
    """Returns the YES or NO that the model proposes if the graph licenses it, else UNKNOWN.

    If the model proposes YES or NO, ``raw`` is the oracle's reason followed by the model's reply. A
    row whose proposal was overruled has the note ``overruled YES`` or ``overruled NO``.
    ``confidence`` is the model's confidence in its proposal, and null if that was overruled.

    Args:
        knowledge: the graph with its oracle.
        answer_client: the client of the model.
        facts: maximum number of facts in the prompt, about entities that the question mentions;
            with 0, the prompt has only the question.
        always_asks_claims: whether the model also names the claims of questions that can be read
            without it.
    """

    def __init__(
        self,
        knowledge: KnowledgeBase,
        answer_client: AnswerClient,
        *,
        facts: int = DEFAULT_MAX_FACTS,
        always_asks_claims: bool = False,
    ) -> None:
        self.name = answer_client.qualify_name("graph_rag_llm")
        self.knowledge = knowledge
        self.client = answer_client.client
        self._answer_client = answer_client
        self._facts = facts
        self._prompt = GRAPH_FACTS if facts else CLOSED_BOOK
        self._prompt_with_claims = PROPOSAL if facts else PROPOSAL_CLOSED
        self._always_asks_claims = always_asks_claims
        self._reader = ProposalReader(knowledge)
        self._predicates = self._reader.list_predicate_sentences(MAX_PROMPT_PREDICATES)

    def params(self) -> dict[str, Any]:
        """Returns the parameters of the graph, the prompt and the model."""
        domain = self.knowledge.domain
        return {
            "regime": domain.regime,
            "unique_names": domain.unique_names,
            "facts": self._facts,
            "claims": "always" if self._always_asks_claims else "unread",
            "prompt": self._prompt.params(),
            "prompt_with_claims": self._prompt_with_claims.params(),
            **self._answer_client.params(),
        }

    async def answer(self, card: CardView) -> Answer:
        """Returns the model's answer if it is licensed, else UNKNOWN."""
        question = self._reader.analyse_question(card.question)
        blocks: dict[str, str | list[str]] = {"question": card.question}
        if self._facts:
            blocks["facts"] = self._collect_facts(question)
        claims: Sequence[ProposedClaim] | UnsetType = UNSET
        if self._always_asks_claims or (question.reading is None and not question.no_claim_reason):
            messages = self._prompt_with_claims.build_messages(
                predicates=self._predicates, **blocks
            )
            answer, proposal = await self._answer_client.ask(messages, Proposal)
            if proposal is not None:
                claims = proposal.claims
        else:
            messages = self._prompt.build_messages(**blocks)
            answer, _ = await self._answer_client.ask(messages, TypedAnswer)
        if answer.pred not in ("YES", "NO"):
            return answer
        if claims is not UNSET:
            licence = self.license_claims(claims, question)
        elif question.reading is not None:
            licence = self._decide_claims([(question.reading.inverted, question.reading.claims)])
        elif question.no_claim_reason:
            licence = Licence("UNKNOWN", f"{question.no_claim_reason}.")
        else:
            # There is nothing to license, so the reply is invalid rather than an abstention.
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
        await self._answer_client.aclose()

    def license_claims(
        self, proposed: Sequence[ProposedClaim], question: QuestionContext
    ) -> Licence:
        """Returns the answer that the oracle licenses for these claims.

        The answer is YES if every claim is entailed, and NO if one is contradicted; for a negated
        claim, the two are exchanged. If the question itself can be parsed, claims other than the
        question's own are ignored.
        """
        if question.no_claim_reason:
            return Licence("UNKNOWN", f"{question.no_claim_reason}.")
        # The proposed claims that answer the question: whether each is negated, and its readings.
        usable_claims: list[tuple[bool, tuple[Claim, ...]]] = []
        problem = "the model proposed no claim"
        for claim in proposed:
            readings = self._reader.read_claim(
                WordedClaim(claim.subject, claim.predicate, claim.object)
            )
            if isinstance(readings, ParseFailure):
                problem = readings.reason
            elif mismatch := self._reader.explain_mismatch(readings, question):
                problem = mismatch
            else:
                usable_claims.append((claim.negated, readings))
                continue
            if question.reading is None:
                return Licence("UNKNOWN", f"{problem}.")
        if not usable_claims:
            return Licence("UNKNOWN", f"{problem}.")
        if question.reading is not None:
            if any(negated != question.reading.inverted for negated, _ in usable_claims):
                return Licence("UNKNOWN", "only one of the claim and the question is negated.")
        elif missing := self._reader.find_missing_mention(
            (reading for _, readings in usable_claims for reading in readings), question
        ):
            return Licence("UNKNOWN", f"the claims leave out {missing}, which the question names.")
        return self._decide_claims(usable_claims)

    def _decide_claims(self, claims: Sequence[tuple[bool, tuple[Claim, ...]]]) -> Licence:
        """Asks the oracle for the readings of each claim, which must all get the same label.

        Args:
            claims: for each claim, whether it is negated, and its readings.
        """
        verbaliser = self.knowledge.verbaliser
        verdicts: list[tuple[Label, Verdict]] = []
        for negated, claim_readings in claims:
            reading_verdicts = list(self.knowledge.oracle.license_many(claim_readings))
            if len({verdict.label for verdict in reading_verdicts}) > 1:
                readings = " ".join(
                    dict.fromkeys(
                        verbaliser.render_fact(verdict.claim) for verdict in reading_verdicts
                    )
                )
                return Licence("UNKNOWN", f"ambiguous, it may mean any of these. {readings}")
            label = reading_verdicts[0].label
            verdicts.append((_OPPOSITE_LABEL[label] if negated else label, reading_verdicts[0]))
        refuted = [verdict for label, verdict in verdicts if label == "C"]
        if refuted:
            return Licence("NO", verbaliser.render_proof(refuted[0]))
        proofs = dict.fromkeys(verbaliser.render_proof(verdict) for _, verdict in verdicts)
        if all(label == "E" for label, _ in verdicts):
            return Licence("YES", " ".join(proofs))
        undecided = next(verdict for label, verdict in verdicts if label == "U")
        return Licence("UNKNOWN", verbaliser.render_proof(undecided))

    def _collect_facts(self, question: QuestionContext) -> list[str]:
        from retrieval.neighbourhood import collect_nearby_facts

        knowledge = self.knowledge
        return collect_nearby_facts(
            knowledge.graph, knowledge.verbaliser, question.entities, self._facts
        )


@register("graph_rag_llm", asks_model=True)
def create_system(options: SystemOptions) -> GraphRagLlm:
    """A language model proposes answers; a YES or NO that the graph does not license is UNKNOWN."""
    settings = Settings(options.settings, "graph_rag_llm")
    context = settings.get_choice("context", ("neighbourhood", "question"))
    facts = (
        settings.get_int("facts", DEFAULT_MAX_FACTS, minimum=1) if context == "neighbourhood" else 0
    )
    claims = settings.get_choice("claims", ("unread", "always"))
    sampling = Sampling.from_settings(settings, max_tokens=MAX_PROPOSAL_TOKENS)
    settings.refuse_unknown()
    from kg.knowledge import KnowledgeBase

    # Open the model first, so that a missing key is reported before the graph is loaded.
    answer_client = AnswerClient.open(options.client, sampling)
    knowledge = KnowledgeBase.open_cached(options.domain, options.graph, options.shapes)
    return GraphRagLlm(knowledge, answer_client, facts=facts, always_asks_claims=claims == "always")
