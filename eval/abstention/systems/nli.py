"""``nli``: reads the card with a cross-encoder for natural language inference.

The premise is the card's facts (and rules), the hypothesis the question as a statement. Entailment
is YES, contradiction NO, neutral UNKNOWN. Any sentence-transformers ``CrossEncoder`` with these
three classes works; the order of its outputs is read from the model's configuration and never
guessed. It runs on the CPU, one card at a time, and gives the same rows every time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from cards.card import CardView
from eval.abstention.result import Answer
from eval.abstention.system import SystemOptions
from eval.abstention.systems.registry import register
from eval.harness.systems.settings import Settings
from eval.questions.declarative import convert_to_statement
from kg.base.errors import SettingError, WeightsError
from kg.base.plain_text import to_one_line
from kg.claims import Gold

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
# The names that published models give to their outputs → relation.
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
_MODEL_HINT = "Name a folder with a CrossEncoder for entailment, contradiction and neutral."


class Thresholds(NamedTuple):
    """Minimum probabilities for YES and NO; below these the answer is UNKNOWN."""

    entailment: float = 0.0
    contradiction: float = 0.0


class Encoder(NamedTuple):
    """A loaded cross-encoder.

    Attributes:
        model: the sentence-transformers object.
        name: the name in the manifest; for a folder, only the last part of its path.
        sha256: SHA-256 of its weights.
        order: the relation that each output stands for, in the order of the outputs.
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
        per_fact: whether every fact is a separate premise, so that the premise with the strongest
            entailment or contradiction decides; otherwise all facts are one premise.
        thresholds: minimum probabilities for YES and NO.
        batch: number of pairs per call of the model.
    """

    name = "nli"

    def __init__(
        self,
        encoder: Encoder,
        *,
        rules: bool = True,
        per_fact: bool = False,
        thresholds: Thresholds | None = None,
        batch: int = 32,
    ) -> None:
        self._encoder = encoder
        self._rules = rules
        self._per_fact = per_fact
        self._thresholds = thresholds or Thresholds()
        self._batch = batch

    def params(self) -> dict[str, Any]:
        """Returns the parameters of model and premise, and the kind of confidence."""
        return {
            "model": self._encoder.name,
            "weights_sha256": self._encoder.sha256,
            "rules": self._rules,
            "premise": "each" if self._per_fact else "all",
            "entailment": self._thresholds.entailment,
            "contradiction": self._thresholds.contradiction,
            "batch": self._batch,
            "confidence": "softmax",
        }

    def answer(self, card: CardView) -> Answer:
        """Answers by the most probable relation, with its probability as the confidence."""
        hypothesis = convert_to_statement(card.question)
        pairs = [(premise, hypothesis.text) for premise in self._build_premises(card)]
        probability_rows = _compute_softmax(self._compute_logits(pairs))
        notes = []
        if not hypothesis.is_converted:
            notes.append("the question is framed, not turned into a statement")
        if n_cut := sum(map(self._is_cut, pairs)):
            notes.append(f"{n_cut} of {len(pairs)} premises are longer than the model can read")
        strongest, probabilities = self._choose_premise(probability_rows)
        relation = max(RELATIONS, key=lambda name: probabilities[name])
        if relation != "neutral" and probabilities[relation] < getattr(self._thresholds, relation):
            notes.append(f"{relation} is below its threshold")
            relation = "neutral"
        summary = ", ".join(f"{name} {probabilities[name]:.4f}" for name in RELATIONS)
        return Answer(
            pred=_ANSWERS[relation],
            confidence=round(probabilities[relation], 6),
            raw=f"{summary}: {pairs[strongest][0]} ⊢ {hypothesis.text}",
            note="; ".join(notes),
        )

    def _build_premises(self, card: CardView) -> list[str]:
        facts = [to_one_line(fact) for fact in card.facts]
        rules = [to_one_line(rule) for rule in card.rules] if self._rules else []
        groups = [[fact] for fact in facts] if self._per_fact and facts else [facts]
        return [" ".join((*group, *rules)) for group in groups]

    def _compute_logits(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        import numpy as np
        import torch

        scores = self._encoder.model.predict(
            list(pairs),
            batch_size=self._batch,
            show_progress_bar=False,
            # The identity makes the model return logits, instead of applying its own activation.
            activation_fn=torch.nn.Identity(),
            convert_to_numpy=True,
        )
        return np.asarray(scores, dtype=np.float64).reshape(len(pairs), len(self._encoder.order))

    def _is_cut(self, pair: tuple[str, str]) -> bool:
        """Returns whether the pair is longer than the model's maximum input."""
        model = self._encoder.model
        limit = getattr(model, "max_seq_length", None) or model.tokenizer.model_max_length
        return len(model.tokenizer(*pair, verbose=False)["input_ids"]) > int(limit)

    def _choose_premise(
        self, probability_rows: npt.NDArray[np.float64]
    ) -> tuple[int, dict[Relation, float]]:
        """Chooses the premise with the highest probability of entailment or contradiction.

        Of equal premises, the first is chosen.

        Returns:
            Index of the premise, and its relation → probability.
        """
        order = self._encoder.order
        decisiveness = [
            max(row[order.index("entailment")], row[order.index("contradiction")])
            for row in probability_rows
        ]
        best = decisiveness.index(max(decisiveness))
        return best, {name: float(probability_rows[best][order.index(name)]) for name in RELATIONS}


def load_encoder(model: str) -> Encoder:
    """Loads a cross-encoder.

    Args:
        model: a folder or a name on the hub.

    Raises:
        MissingExtraError: sentence-transformers is not installed, or the hub cannot be reached.
        MissingFileError: the folder does not exist.
        WeightsError: the model cannot be loaded, or its configuration does not name its outputs.
    """
    from kg.embedding.cross_encoder import load_cross_encoder

    cross_encoder = load_cross_encoder(model, required_by="nli", hint=_MODEL_HINT)
    labels = getattr(cross_encoder.model.config, "id2label", None) or {}
    return Encoder(*cross_encoder, parse_relations(labels, where=model))


def parse_relations(labels: dict[int, str], *, where: str) -> tuple[Relation, ...]:
    """Parses the relation of each output from ``id2label`` of the model's configuration.

    The position of an output does not tell its relation: models trained on the same data order
    their outputs differently.

    Args:
        labels: output index → label.
        where: the model, for the error message.

    Raises:
        WeightsError: the labels are not exactly the three relations.
    """
    ordered = [str(labels[index]) for index in sorted(labels)]
    relations = [_SPELLINGS.get(re.sub(r"[\W_]+", "", label).casefold()) for label in ordered]
    named_relations = [relation for relation in relations if relation is not None]
    if len(named_relations) != len(relations) or sorted(named_relations) != sorted(RELATIONS):
        raise WeightsError(
            "the model does not say which of its outputs are entailment, contradiction and "
            f"neutral: id2label is {ordered}",
            where=where,
            hint="Set id2label in its config.json, in the order of its training data.",
        )
    return tuple(named_relations)


def _compute_softmax(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Computes rows of probabilities from rows of logits."""
    import numpy as np

    # Subtracting the maximum does not change the result, and avoids overflow.
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


@register("nli")
def create_system(options: SystemOptions) -> Nli:
    """A local entailment model (--set model=FOLDER) compares the card with the question."""
    settings = Settings(options.settings, "nli")
    model = settings.get_text("model", "")
    rules = settings.get_choice("rules", ("yes", "no")) == "yes"
    per_fact = settings.get_choice("premise", ("all", "each")) == "each"
    thresholds = Thresholds(
        settings.get_fraction("entailment", 0.0), settings.get_fraction("contradiction", 0.0)
    )
    batch = settings.get_int("batch", 32, minimum=1)
    settings.refuse_unknown()
    if not model:
        raise SettingError(
            "system nli needs a model", where="--set model=…", hint=f"{_MODEL_HINT} Or a hub name."
        )
    return Nli(
        load_encoder(model), rules=rules, per_fact=per_fact, thresholds=thresholds, batch=batch
    )
