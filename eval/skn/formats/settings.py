"""Settings of the comparison: equal conditions for all formats, or the published differences.

The published benchmark states that "the extraction format is the only variable". But its prompts
gave SKN a length limit and an order of importance, and told the JSON extractor not to infer; the
server could constrain only JSON; and JSON was passed on pretty-printed. The fair setting removes
these differences. ``as_published`` keeps them, so that their effect can be measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kg.base.errors import SettingError

if TYPE_CHECKING:
    from eval.model.client import ModelClient
    from eval.model.options import ClientOptions

PUBLISHED_MAX_TOKENS = 4096
"""``num_predict`` of the published client (``src/llm.py``)."""

MIN_WORDS = 20
"""No extraction fits into a smaller budget."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """The options that are the same for all pipelines of one run.

    Attributes:
        published: use the published benchmark's prompts and settings; build such a setting with
            ``as_published``.
        show_question: whether the extractors see the question: either all of them or none.
        words: the budget of an extraction in words, the same number in every prompt.
        max_tokens: maximum number of tokens of a reply, the same for every format.
        constrained: whether the server may constrain JSON replies to their schema, which it
            cannot do for SKN. The prompt stays the same.
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
                "--as-published sets whether the question is shown, the length and the JSON mode",
                where="--as-published",
                hint="Leave out --hide-question, --words, --max-tokens and --constrained.",
            )
        if self.words < MIN_WORDS or self.max_tokens < 1:
            raise SettingError(
                f"an extraction needs a budget of at least {MIN_WORDS} words and one token",
                where=f"words={self.words}, max_tokens={self.max_tokens}",
                hint="Raise --words or --max-tokens.",
            )

    @classmethod
    def as_published(cls) -> Setting:
        """Returns the published benchmark's setting."""
        return cls(
            published=True,
            show_question=False,
            max_tokens=PUBLISHED_MAX_TOKENS,
            constrained=True,
        )

    def params(self) -> dict[str, Any]:
        """Returns the fields as JSON values, for the manifest.

        The published setting has no common budget in words, so ``words`` is left out there.
        """
        fields: dict[str, Any] = msgspec.to_builtins(self)
        if self.published:
            del fields["words"]
        return fields


def open_client(
    options: ClientOptions, setting: Setting, *, seed: int | None = None
) -> ModelClient:
    """Opens a client for the extractors and the agent of one run, with temperature 0.

    In the published setting JSON is requested in the server's plain JSON mode, without a schema.

    Args:
        options: the model, and options for calling it.
        setting: the setting; defines the maximum length of a reply.
        seed: seed of the sampling, for servers that support one.

    Raises:
        EpocheError: see ``ModelClient.open``.
    """
    from eval.model.client import ModelClient

    return ModelClient.open(
        options,
        max_tokens=setting.max_tokens,
        seed=seed,
        structured="json_object" if setting.published else "auto",
        logprobs=False,
    )
