"""The published benchmark's judges, for the setting that repeats it as it was.

They see the search results and the answer, but not the question; one vote each; the model is the
one that answers. The prompts are the published ones, word for word: ``src/evaluator.py`` of
https://github.com/ujjwalredd/Structured-Knowledge-Notation (MIT). What is not as published is the
reading: a verdict that is none, or contradicts itself, fails and is counted. What the published
code took it for (wrong; nothing made up; not grounded) is left to its own definitions of the
metrics, which find the failed judges in ``Verdicts.failed``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from eval.model.counting import counted
from eval.model.structured import form_of
from eval.skn.judges.record import GroundednessVote, HallucinationVote, JudgeName, Verdicts
from eval.skn.judges.replies import AccuracyReply, as_recorded, check_counts, check_share
from eval.skn.judges.tallying import Ballot, Booth, verdicts
from eval.skn.setting import PUBLISHED_MAX_TOKENS
from kg.base.errors import ModelCallError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions


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

    def vote(self) -> HallucinationVote:
        """As it is recorded."""
        return HallucinationVote(
            self.total_claims,
            as_recorded(self.fabricated_claims),
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

    def vote(self) -> GroundednessVote:
        """As it is recorded."""
        return GroundednessVote(self.groundedness_score, self.unsupported_fraction)


class _Published(NamedTuple):
    """One published judge."""

    name: JudgeName
    system: str
    reply: type[Any]
    vote: Callable[[Any], Any]


_ACCURACY = _Published(
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
    AccuracyReply.vote,
)
_HALLUCINATION = _Published(
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
    PublishedHallucinationReply.vote,
)
_GROUNDEDNESS = _Published(
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
    PublishedGroundednessReply.vote,
)


class PublishedJudges:
    """Judges as the published benchmark has them, read strictly.

    Args:
        client: the model, in plain JSON mode.
    """

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    @classmethod
    def open(cls, options: ClientOptions, *, seed: int | None = None) -> PublishedJudges:
        """Opens the client as the published code calls its model.

        Args:
            options: which model, and how it is called.
            seed: of the sampling, where a server has one.

        Raises:
            EpocheError: as ``ModelClient.open``.
        """
        from eval.llm import ModelClient

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
        """Everything that decides verdicts, without secrets."""
        return {"by": "models, as published", "models": [self._client.params()], "repeats": 1}

    def observed(self) -> list[dict[str, Any]]:
        """What became of the wishes in ``params`` when a run ends."""
        return [self._client.observed()]

    async def aclose(self) -> None:
        """Closes the client."""
        await self._client.aclose()

    async def judge(
        self,
        *,
        question: str,  # noqa: ARG002 - as published, no judge sees it
        answer: str,
        ground_truth: str | None,
        sources: str,
        seed_key: str,  # noqa: ARG002 - one vote, in one order
    ) -> Verdicts:
        """Judges one answer; see ``Judges``. Neither question nor order plays a part."""
        shown = f"ORIGINAL SOURCE TEXT:\n{sources}\n\nANSWER TO EVALUATE:\n{answer}"
        with counted() as log:
            ballots: dict[JudgeName, list[Ballot]] = {}
            if ground_truth is not None:
                ballots["accuracy"] = [await self._correctness(answer, ground_truth)]
            for judge in (_HALLUCINATION, _GROUNDEDNESS):
                ballots[judge.name] = [await self._vote(judge, shown)]
        return verdicts(ballots, 1, log)

    async def correctness(
        self,
        *,
        question: str,  # noqa: ARG002 - as above
        answer: str,
        ground_truth: str,
        seed_key: str,  # noqa: ARG002 - as above
    ) -> Verdicts:
        """Judges only whether the answer is right; see ``Judges``."""
        with counted() as log:
            ballot = await self._correctness(answer, ground_truth)
        return verdicts({"accuracy": [ballot]}, 1, log)

    async def _correctness(self, answer: str, ground_truth: str) -> Ballot:
        return await self._vote(_ACCURACY, f"Ground truth: {ground_truth}\n\nPrediction: {answer}")

    async def _vote(self, judge: _Published, shown: str) -> Ballot:
        booth = Booth(judge.name, 0, self._client.model)
        try:
            completion = await self._client.complete(
                [
                    {"role": "system", "content": judge.system},
                    {"role": "user", "content": shown},
                ],
                schema=judge.reply,
            )
        except ModelCallError as error:
            return booth.spoilt(error)
        read = form_of(judge.reply).read(completion.text)
        return booth.cast(completion, read.value, read.problem, judge.vote)
