"""What is wished of a server's replies, less what it has refused to do."""

from __future__ import annotations

from typing import Any, Literal

from eval.model.calling import Caller, FeatureRefusedError
from eval.model.completion import MODES, Mode
from eval.model.failures import Kind
from eval.model.structured import Asked
from kg.base.errors import ModelAccessError, ModelCallError

LOGPROBS = "logprobs"


class Wishes:
    """How one client asks one server for its replies.

    Args:
        caller: who asks, and remembers what the server refused.
        structured: the one way that is demanded, or ``auto``: the strictest that is accepted.
        logprobs: whether log-probabilities are wished for.
    """

    def __init__(
        self, caller: Caller, structured: Literal["auto"] | Mode, *, logprobs: bool
    ) -> None:
        self._caller = caller
        self._demanded = None if structured == "auto" else structured
        self._logprobs = logprobs

    def mode(self, form: Asked[Any] | None = None) -> Mode:
        """The strictest way to ask for a structured reply that the server has not refused."""
        if self._demanded is not None:
            return self._demanded
        refused = self._caller.refused
        own = refused if form is None else {m for m in MODES if form.feature(m) in refused}
        return next(mode for mode in MODES if mode not in own and mode not in refused)

    @property
    def logprobs(self) -> bool:
        """Whether log-probabilities are asked for."""
        return self._logprobs and not self.without_logprobs

    @property
    def without_logprobs(self) -> bool:
        """Whether they were wished for and refused."""
        return self._logprobs and LOGPROBS in self._caller.refused

    def shortfall(self, mode: Mode | None) -> list[str]:
        """How a call that was made in ``mode`` falls short of what was first wished, in words.

        The same for every call it holds for, so that rows do not depend on who came first.
        """
        found = []
        if mode is not None and self._demanded is None and mode != MODES[0]:
            found.append(f"{mode} instead of {MODES[0]}")
        if self.without_logprobs:
            found.append("no log-probabilities")
        return found

    def do_without(
        self, error: FeatureRefusedError, form: Asked[Any] | None, mode: Mode | None, logprobs: bool
    ) -> None:
        """Notes what the server does not do, so that it is asked without from here on.

        Args:
            error: the refusal.
            form: of the reply that was asked for.
            mode: how it was asked for.
            logprobs: whether log-probabilities were.

        Raises:
            ModelAccessError: it refuses the one mode that was demanded.
            ModelCallError: what it refuses was not asked for, or is one schema in that mode.
        """
        failure, model = error.failure, self._caller.endpoint.name
        if failure.kind is Kind.logprobs and logprobs:
            self._caller.note_refused(LOGPROBS)
        elif failure.kind is Kind.format and form is not None and mode and mode != "text":
            feature = form.feature(mode)
            if self._demanded is None:
                self._caller.note_refused(feature)
                return
            kind = ModelAccessError if feature == mode else ModelCallError
            raise kind(
                f"the server refuses structured={mode}: {failure.what}",
                where=model,
                hint="Use --set structured=auto, or text.",
            ) from error
        else:
            raise ModelCallError(f"a model call failed: {failure.what}", where=model) from error
