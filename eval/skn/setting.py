"""The setting of the comparison: what is the same for every format, and what as published is not.

The published benchmark said that "the extraction format is the only variable", but its prompts
gave SKN a length cap and an order of importance, forbade JSON to infer, let the server constrain
JSON alone, and handed JSON on pretty-printed. The fair setting levels these; ``as_published``
keeps them as they were, so that what they did can be measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.llm import ModelClient
    from eval.model.options import ClientOptions

PUBLISHED_MAX_TOKENS = 4096
"""``num_predict`` of the published client (``src/llm.py``)."""

LEAST_WORDS = 20
"""A smaller budget holds no extraction at all."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all pipelines of one run.

    Attributes:
        published: the published benchmark's prompts and ways; make it with ``as_published``.
        show_question: whether every extractor is shown the question; if not, none is.
        words: the budget of an extraction in words, the same number in every prompt.
        max_tokens: most tokens of a reply, the same for every format.
        constrained: whether the server may constrain replies that are JSON, which it cannot do
            for SKN. The prompt stays the same.
    """

    published: bool = False
    show_question: bool = True
    words: int = 200
    max_tokens: int = 900
    constrained: bool = False

    def __post_init__(self) -> None:
        if self.published and (self.show_question, self.max_tokens, self.constrained) != (
            False,
            PUBLISHED_MAX_TOKENS,
            True,
        ):
            raise SettingError(
                "the published setting has no question, its own length and JSON mode",
                where="--as-published",
                hint="Leave out --hide-question, --words, --max-tokens and --constrained.",
            )
        if self.words < LEAST_WORDS or self.max_tokens < 1:
            raise SettingError(
                f"an extraction needs a budget of at least {LEAST_WORDS} words and one token",
                where=f"words={self.words}, max_tokens={self.max_tokens}",
                hint="Raise them.",
            )

    @classmethod
    def as_published(cls) -> Setting:
        """The published benchmark's setting."""
        return cls(
            published=True,
            show_question=False,
            max_tokens=PUBLISHED_MAX_TOKENS,
            constrained=True,
        )

    def params(self) -> dict[str, Any]:
        """For the manifest. As published there is no common budget in words."""
        told: dict[str, Any] = msgspec.to_builtins(self)
        if self.published:
            del told["words"]
        return told


def open_client(
    options: ClientOptions, setting: Setting, *, seed: int | None = None
) -> ModelClient:
    """A client for the extractors and the agent of one run; temperature 0.

    As published, what is wanted as JSON is asked for in the server's plain JSON mode.

    Args:
        options: which model, and how it is called.
        setting: says how long a reply may be.
        seed: of the sampling, where a server has one.

    Raises:
        EpocheError: as ``ModelClient.open``.
    """
    from eval.llm import ModelClient

    return ModelClient.open(
        options,
        max_tokens=setting.max_tokens,
        seed=seed,
        structured="json_object" if setting.published else "auto",
        logprobs=False,
    )
