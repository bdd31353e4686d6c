"""The published benchmark's judges, for runs in the published setting.

The judges see the search results and the answer, but not the question. Each judge votes once. The
model is the same one that answers. The prompts are copied word for word from ``src/evaluator.py``
of https://github.com/ujjwalredd/Structured-Knowledge-Notation (MIT).

Only the parsing differs. The published code counts an unreadable or self-contradictory verdict as
"wrong", "nothing made up" or "not grounded". Here it is recorded as failed, and the judge is listed
in ``Verdicts.failed``, so that metrics computed as published can still count it that way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from eval.judges.panel import Ballot, lose_ballot, read_ballot
from eval.judges.votes import explain_failed_call
from eval.model.call_counter import count_calls
from eval.model.replies.reply_form import get_form
from eval.skn.formats.settings import PUBLISHED_MAX_TOKENS
from eval.skn.judges.record import GroundednessVote, HallucinationVote, JudgeName, Verdicts
from eval.skn.judges.replies import AccuracyReply, check_counts, check_share, clip_claims
from eval.skn.judges.tally import combine_ballots
from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.options import ClientOptions


# Names and docstrings of the reply structs are part of the schema that servers get, and so of the
# prompt and of the keys of cached replies: leave them as they are.
class PublishedHallucinationReply(msgspec.Struct, frozen=True):
    """The published form: whether anything is made up is stated beside the list.

    Raises:
        ValueError: a count or share that cannot be.
    """

    hallucination_detected: bool
    hallucination_severity: float
    total_claims: int
    fabricated_claims: tuple[str, ...]

    def __post_init__(self) -> None:
        check_counts(self.total_claims, self.fabricated_claims)
        check_share("hallucination_severity", self.hallucination_severity)

    def to_vote(self) -> HallucinationVote:
        """Returns the vote to record."""
        return HallucinationVote(
            self.total_claims,
            clip_claims(self.fabricated_claims),
            self.hallucination_severity,
            self.hallucination_detected,
        )


class PublishedGroundednessReply(msgspec.Struct, frozen=True):
    """The published form: an answer without claims is scored like any other.

    Raises:
        ValueError: a share that cannot be.
    """

    groundedness_score: float
    unsupported_fraction: float

    def __post_init__(self) -> None:
        check_share("groundedness_score", self.groundedness_score)
        check_share("unsupported_fraction", self.unsupported_fraction)

    def to_vote(self) -> GroundednessVote:
        """Returns the vote to record."""
        return GroundednessVote(self.groundedness_score, self.unsupported_fraction)


class _PublishedCriterion(NamedTuple):
    """One criterion of the published judges."""

    name: JudgeName
    system_prompt: str
    reply_type: type[Any]
    to_vote: Callable[[Any], Any]


_ACCURACY = _PublishedCriterion(
    "accuracy",
    """\
You are an evaluation judge. Compare the predicted answer to the ground truth.
Determine if the prediction captures the core meaning of the ground truth.

Be lenient: the prediction does not need to match word-for-word.
It should capture the same root cause or key insight.

Respond with ONLY this JSON, no other text before or after:
{"correct": true}
or
{"correct": false}""",
    AccuracyReply,
    AccuracyReply.to_vote,
)
_HALLUCINATION = _PublishedCriterion(
    "hallucination",
    """\
You are a hallucination detector. Given the ORIGINAL SOURCE TEXT and an ANSWER,
determine whether the answer contains any claims that are NOT supported by or
cannot be reasonably inferred from the source text.

Count the TOTAL number of distinct claims in the answer, and list any fabricated ones.

Severity scale:
0.0 = no hallucination
0.1-0.3 = minor embellishment (adding plausible but unstated detail)
0.4-0.6 = moderate fabrication (inventing specific facts not in the text)
0.7-1.0 = severe hallucination (contradicts the source or invents wholesale)

Respond with ONLY this JSON object, no other text before or after:
{"hallucination_detected": true, "hallucination_severity": 0.5, "total_claims": 8, \
"fabricated_claims": ["claim1", "claim2"]}""",
    PublishedHallucinationReply,
    PublishedHallucinationReply.to_vote,
)
_GROUNDEDNESS = _PublishedCriterion(
    "groundedness",
    """\
You are a groundedness evaluator. Given the ORIGINAL SOURCE TEXT and an ANSWER,
score how well the answer is grounded in (supported by) the source text.

groundedness_score: 1.0 means every claim in the answer is directly traceable
to the text. 0.0 means the answer has no connection to the source text.
unsupported_fraction: proportion of claims in the answer that lack support.

Respond with ONLY this JSON object, no other text before or after:
{"groundedness_score": 0.8, "unsupported_fraction": 0.2}""",
    PublishedGroundednessReply,
    PublishedGroundednessReply.to_vote,
)


class PublishedJudges:
    """The judges of the published benchmark; their replies are parsed strictly.

    Args:
        client: the model, in plain JSON mode.
    """

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    @classmethod
    def open(cls, options: ClientOptions, *, seed: int | None = None) -> PublishedJudges:
        """Opens the client with the settings of the published code.

        Args:
            options: which model, and how it is called.
            seed: seed of the sampling, for servers that support one.

        Raises:
            EpocheError: see ``ModelClient.open``.
        """
        from eval.model.client import ModelClient

        return cls(
            ModelClient.open(
                options,
                max_tokens=PUBLISHED_MAX_TOKENS,
                seed=seed,
                structured="json_object",
                logprobs=False,
            )
        )

    def params(self) -> dict[str, object]:
        """Returns every parameter that affects the verdicts, without secrets."""
        return {"by": "models, as published", "models": [self._client.params()], "repeats": 1}

    def observed(self) -> list[dict[str, Any]]:
        """Returns what the server did with the requested ``params``."""
        return [self._client.observed()]

    async def aclose(self) -> None:
        """Closes the client."""
        await self._client.aclose()

    async def judge_answer(
        self,
        *,
        question: str,  # noqa: ARG002 - the published judges do not see it
        answer: str,
        ground_truth: str | None,
        sources: str,
        seed_key: str,  # noqa: ARG002 - nothing is shuffled
    ) -> Verdicts:
        """Judges one answer; see ``Judges``. ``question`` and ``seed_key`` are ignored."""
        material = f"ORIGINAL SOURCE TEXT:\n{sources}\n\nANSWER TO EVALUATE:\n{answer}"
        with count_calls() as log:
            ballots: dict[JudgeName, list[Ballot[Any]]] = {}
            if ground_truth is not None:
                ballots["accuracy"] = [await self._judge_accuracy(answer, ground_truth)]
            for criterion in (_HALLUCINATION, _GROUNDEDNESS):
                ballots[criterion.name] = [await self._cast_vote(criterion, material)]
        return combine_ballots(ballots, 1, log)

    async def judge_correctness(
        self,
        *,
        question: str,  # noqa: ARG002 - as above
        answer: str,
        ground_truth: str,
        seed_key: str,  # noqa: ARG002 - as above
    ) -> Verdicts:
        """Judges only whether the answer is right; see ``Judges``."""
        with count_calls() as log:
            ballot = await self._judge_accuracy(answer, ground_truth)
        return combine_ballots({"accuracy": [ballot]}, 1, log)

    async def _judge_accuracy(self, answer: str, ground_truth: str) -> Ballot[Any]:
        return await self._cast_vote(
            _ACCURACY, f"Ground truth: {ground_truth}\n\nPrediction: {answer}"
        )

    async def _cast_vote(self, criterion: _PublishedCriterion, material: str) -> Ballot[Any]:
        model = self._client.model
        try:
            completion = await self._client.complete(
                [
                    {"role": "system", "content": criterion.system_prompt},
                    {"role": "user", "content": material},
                ],
                schema=criterion.reply_type,
            )
        except ModelCallError as error:
            return lose_ballot(0, model, explain_failed_call(error))
        reply = get_form(criterion.reply_type).read_reply(completion.text)
        return read_ballot(0, model, completion, reply.value, reply.problem, criterion.to_vote)
