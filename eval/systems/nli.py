"""``nli``: a cross-encoder for natural language inference reads the card.

Premise: the card's facts (and rules); hypothesis: the question as a statement. Entailment is YES,
contradiction NO, neutral UNKNOWN. Any sentence-transformers ``CrossEncoder`` with these three
classes will do; which output is which is read from the model's own configuration and never
guessed. It runs on the CPU, one card at a time, and gives the same rows every time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from cards.card import CardView
from eval.questions.declarative import statement_of
from eval.registry import register
from eval.result import Answer
from eval.settings import Settings
from eval.system import SystemOptions
from kg.base.errors import SettingError, WeightsError
from kg.claims import Gold
from kg.words.plain_text import one_line

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Relation = Literal["entailment", "contradiction", "neutral"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)

_ANSWERS: dict[Relation, Gold] = {
    "entailment": "YES",
    "contradiction": "NO",
    "neutral": "UNKNOWN",
}
_SPELLINGS: dict[str, Relation] = {
    "entailment": "entailment",
    "entail": "entailment",
    "entails": "entailment",
    "entailed": "entailment",
    "contradiction": "contradiction",
    "contradict": "contradiction",
    "contradicts": "contradiction",
    "contradictory": "contradiction",
    "neutral": "neutral",
}
_INSTEAD = "Name a folder that holds a CrossEncoder for entailment, contradiction and neutral."


class Thresholds(NamedTuple):
    """Least probabilities at which the model is taken at its word; below, the answer is UNKNOWN."""

    entailment: float = 0.0
    contradiction: float = 0.0


class Encoder(NamedTuple):
    """A loaded cross-encoder.

    Attributes:
        model: the sentence-transformers object.
        name: for the manifest; a folder's last part, never its path.
        sha256: of its weights.
        order: which relation each output stands for.
    """

    model: Any
    name: str
    sha256: str
    order: tuple[Relation, ...]


class Nli:
    """Compares the card with the statement its question asks about.

    Args:
        encoder: the model.
        rules: whether the card's rules are part of the premise.
        each: whether every fact is a premise of its own, the strongest deciding; else all facts
            are one premise.
        thresholds: for YES and NO.
        batch: pairs that go through the model at once.
    """

    name = "nli"

    def __init__(
        self,
        encoder: Encoder,
        *,
        rules: bool = True,
        each: bool = False,
        thresholds: Thresholds | None = None,
        batch: int = 32,
    ) -> None:
        self._encoder = encoder
        self._rules = rules
        self._each = each
        self._thresholds = thresholds or Thresholds()
        self._batch = batch

    def params(self) -> dict[str, Any]:
        """Model and premise; ``confidence`` is the softmax probability of the answer's class."""
        return {
            "model": self._encoder.name,
            "weights_sha256": self._encoder.sha256,
            "rules": self._rules,
            "premise": "each" if self._each else "all",
            "entailment": self._thresholds.entailment,
            "contradiction": self._thresholds.contradiction,
            "batch": self._batch,
            "confidence": "softmax",
        }

    def answer(self, card: CardView) -> Answer:
        """YES, NO or UNKNOWN by the likeliest relation, with its probability as the confidence."""
        hypothesis = statement_of(card.question)
        pairs = [(premise, hypothesis.text) for premise in self._premises(card)]
        rows = _softmax(self._logits(pairs))
        notes = []
        if not hypothesis.turned:
            notes.append("the question is framed, not turned into a statement")
        if cut := sum(map(self._is_cut, pairs)):
            notes.append(f"{cut} of {len(pairs)} premises are longer than the model can read")
        shown, probabilities = self._strongest(rows)
        relation = max(RELATIONS, key=lambda name: probabilities[name])
        if relation != "neutral" and probabilities[relation] < getattr(self._thresholds, relation):
            notes.append(f"{relation} is below its threshold")
            relation = "neutral"
        told = ", ".join(f"{name} {probabilities[name]:.4f}" for name in RELATIONS)
        return Answer(
            pred=_ANSWERS[relation],
            confidence=round(probabilities[relation], 6),
            raw=f"{told}: {pairs[shown][0]} ⊢ {hypothesis.text}",
            note="; ".join(notes),
        )

    def _premises(self, card: CardView) -> list[str]:
        facts = [one_line(fact) for fact in card.facts]
        rules = [one_line(rule) for rule in card.rules] if self._rules else []
        groups = [[fact] for fact in facts] if self._each and facts else [facts]
        return [" ".join((*group, *rules)) for group in groups]

    def _logits(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        import numpy as np
        import torch

        scores = self._encoder.model.predict(
            list(pairs),
            batch_size=self._batch,
            show_progress_bar=False,
            # The model's own activation would otherwise be applied first, whatever it is.
            activation_fn=torch.nn.Identity(),
            convert_to_numpy=True,
        )
        return np.asarray(scores, dtype=np.float64).reshape(len(pairs), len(self._encoder.order))

    def _is_cut(self, pair: tuple[str, str]) -> bool:
        """Whether the model cannot read the pair to its end."""
        model = self._encoder.model
        limit = getattr(model, "max_seq_length", None) or model.tokenizer.model_max_length
        return len(model.tokenizer(*pair, verbose=False)["input_ids"]) > int(limit)

    def _strongest(self, rows: npt.NDArray[np.float64]) -> tuple[int, dict[Relation, float]]:
        """The premise that is furthest from neutral, and its probabilities; the first of equals.

        Of a single premise simply its probabilities.
        """
        order = self._encoder.order
        decided = [
            max(row[order.index("entailment")], row[order.index("contradiction")]) for row in rows
        ]
        place = decided.index(max(decided))
        return place, {name: float(rows[place][order.index(name)]) for name in RELATIONS}


def load_encoder(model: str) -> Encoder:
    """Loads a cross-encoder.

    Args:
        model: a folder or a name on the hub.

    Raises:
        MissingExtraError: sentence-transformers is not installed, or the hub cannot be reached.
        MissingFileError: a folder was named that is not there.
        WeightsError: it cannot be loaded, or its outputs cannot be told.
    """
    from kg.embedding.cross_encoder import load_cross_encoder

    loaded = load_cross_encoder(model, wanted_by="nli", instead=_INSTEAD)
    labels = getattr(loaded.model.config, "id2label", None) or {}
    return Encoder(*loaded, relations_of(labels, where=model))


def relations_of(labels: dict[int, str], *, where: str) -> tuple[Relation, ...]:
    """Which relation each output of a model stands for, by its configuration's ``id2label``.

    Raises:
        WeightsError: they are not exactly the three relations. Models trained on the same data
            order them differently, so a guess from the position would be a coin toss.
    """
    ordered = [str(labels[place]) for place in sorted(labels)]
    found = [_SPELLINGS.get(re.sub(r"[\W_]+", "", label).casefold()) for label in ordered]
    known = [relation for relation in found if relation is not None]
    if len(known) != len(found) or sorted(known) != sorted(RELATIONS):
        raise WeightsError(
            "the model does not say which of its outputs are entailment, contradiction and "
            f"neutral: id2label is {ordered}",
            where=where,
            hint="Set id2label in its config.json, as its training data order them.",
        )
    return tuple(known)


def _softmax(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Rows of logits as rows of probabilities."""
    import numpy as np

    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


@register("nli")
def create(options: SystemOptions) -> Nli:
    """A local entailment model (--set model=FOLDER) compares the card with the question."""
    settings = Settings(options.settings, "nli")
    model = settings.text("model", "")
    rules = settings.choice("rules", ("yes", "no")) == "yes"
    each = settings.choice("premise", ("all", "each")) == "each"
    thresholds = Thresholds(
        settings.fraction("entailment", 0.0), settings.fraction("contradiction", 0.0)
    )
    batch = settings.whole("batch", 32, least=1)
    settings.refuse_others()
    if not model:
        raise SettingError(
            "system nli needs a model", where="--set model=…", hint=f"{_INSTEAD} Or a hub name."
        )
    return Nli(load_encoder(model), rules=rules, each=each, thresholds=thresholds, batch=batch)
