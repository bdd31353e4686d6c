"""Negotiates structured output and log-probabilities with a server."""

from __future__ import annotations

from typing import Any, Literal

from eval.model.completion import MODES, Mode
from eval.model.replies.reply_form import ReplyForm
from eval.model.server.caller import Caller, FeatureRefusedError
from eval.model.server.failures import FailureKind
from kg.base.errors import ModelAccessError, ModelCallError

LOGPROBS = "logprobs"


class Capabilities:
    """The features that one client requests, without those that its server has refused.

    Args:
        caller: sends the requests, and remembers which features the server refused.
        structured: the one mode that is required, or ``auto`` for the strictest accepted one.
        logprobs: whether log-probabilities are requested.
    """

    def __init__(
        self, caller: Caller, structured: Literal["auto"] | Mode, *, logprobs: bool
    ) -> None:
        self._caller = caller
        self._required_mode = None if structured == "auto" else structured
        self._logprobs = logprobs

    def choose_mode(self, form: ReplyForm[Any] | None = None) -> Mode:
        """Returns the required mode, or the strictest one that the server has not refused."""
        if self._required_mode is not None:
            return self._required_mode
        # A server may refuse a whole mode, or a mode for the schema of this form only.
        refused = self._caller.refused_features
        refused_modes = (
            refused
            if form is None
            else {candidate for candidate in MODES if form.get_feature_name(candidate) in refused}
        )
        return next(mode for mode in MODES if mode not in refused_modes and mode not in refused)

    @property
    def logprobs(self) -> bool:
        """Whether log-probabilities are requested from now on."""
        return self._logprobs and not self.logprobs_refused

    @property
    def logprobs_refused(self) -> bool:
        """Whether log-probabilities were requested and refused."""
        return self._logprobs and LOGPROBS in self._caller.refused_features

    def describe_fallbacks(self, mode: Mode | None) -> list[str]:
        """Describes how a call in ``mode`` differs from the mode that was first requested.

        Every call that differs is described, not only the one that was refused, so that rows do not
        depend on which call came first.
        """
        fallbacks = []
        if mode is not None and self._required_mode is None and mode != MODES[0]:
            fallbacks.append(f"{mode} instead of {MODES[0]}")
        if self.logprobs_refused:
            fallbacks.append("no log-probabilities")
        return fallbacks

    def record_refusal(
        self,
        error: FeatureRefusedError,
        form: ReplyForm[Any] | None,
        mode: Mode | None,
        logprobs: bool,
    ) -> None:
        """Records that the server refuses a feature, so that later requests are sent without it.

        Args:
            error: the refusal.
            form: the form of the reply that was requested.
            mode: the mode in which it was requested.
            logprobs: whether log-probabilities were requested.

        Raises:
            ModelAccessError: the server refuses the one mode that is required.
            ModelCallError: the refused feature was not requested; or the required mode is refused
                for this schema only.
        """
        failure, model = error.failure, self._caller.endpoint.name
        if failure.kind is FailureKind.logprobs and logprobs:
            self._caller.add_refused_feature(LOGPROBS)
        elif failure.kind is FailureKind.format and form is not None and mode and mode != "text":
            feature = form.get_feature_name(mode)
            if self._required_mode is None:
                self._caller.add_refused_feature(feature)
                return
            # A feature named like the mode is refused for every schema, so no call can succeed.
            error_class = ModelAccessError if feature == mode else ModelCallError
            raise error_class(
                f"the server refuses structured={mode}: {failure.what}",
                where=model,
                hint="Use --set structured=auto, or text.",
            ) from error
        else:
            raise ModelCallError(f"a model call failed: {failure.what}", where=model) from error
