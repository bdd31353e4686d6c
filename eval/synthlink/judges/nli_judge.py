"""Judges claims with an NLI cross-encoder from a folder on disk, without a server.

A cross-encoder reads a premise and a hypothesis together and says whether the premise entails the
hypothesis, contradicts it, or does neither. It runs with ONNX Runtime; the folder has the files
that such models are published with: ``config.json``, ``tokenizer.json`` and ``model.onnx``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from eval.synthlink.verdicts.record import Finding, VerdictLine
from eval.synthlink.verdicts.score_update import hash_answer
from kg.base.errors import MissingFileError, SettingError
from kg.base.files import require_file, sha256_file

if TYPE_CHECKING:
    from eval.synthlink.judges.judge_items import JudgeItem

MIN_PROBABILITY: Final = 0.5
"""Minimum probability of a verdict other than ``not_told``."""
_MAX_TOKENS: Final = 512
"""Longer pairs are not judged: such models cut them, and a verdict on a part could be different."""
_BATCH: Final = 16
_LABELS: Final[dict[str, Finding]] = {
    "entail": "supported",
    "contradict": "contradicted",
    "neutral": "not_told",
}
_HINT: Final = (
    "The folder of an NLI cross-encoder has config.json with three labels (entailment, neutral, "
    "contradiction), tokenizer.json and model.onnx."
)


class NliJudge:
    """A cross-encoder.

    Args:
        folder: the folder of the model.

    Raises:
        MissingFileError: a file of the model is missing.
        SettingError: the model is no NLI model, or ONNX Runtime is not installed.
    """

    def __init__(self, folder: Path) -> None:
        config_path, tokenizer_path, model_path = check_nli_model(folder)
        import onnxruntime
        import tokenizers

        self.name = f"nli/{folder.resolve().name}"
        self._findings = _read_labels(config_path)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_path))
        self._tokenizer.no_truncation()
        self._session = onnxruntime.InferenceSession(
            str(model_path), providers=["CPUExecutionProvider"]
        )
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._sha256 = {path.name: sha256_file(path) for path in (config_path, model_path)}

    def params(self) -> dict[str, Any]:
        """Returns all settings that influence verdicts."""
        return {
            "models": [{"model": self.name, "sha256": self._sha256}],
            "min_probability": MIN_PROBABILITY,
            "planned_votes": 1,
        }

    def judge_item(self, item: JudgeItem, key: str) -> VerdictLine:
        """Judges an item; without a verdict if all its evidence is too long for the model.

        Args:
            item: the item.
            key: hash that identifies it in the journal.
        """
        view = item.view
        verdict = self._judge_claim(view.claim, view.evidence)
        return VerdictLine(
            key=key,
            kind=item.kind,
            question_id=item.question_id,
            claim=view.claim,
            verdict=verdict,
            planned=1,
            votes=(verdict,),
            answer_sha256=hash_answer(view.evidence[0]) if item.kind == "step" else "",
        )

    def _judge_claim(self, claim: str, evidence: Sequence[str]) -> Finding | None:
        """Returns the verdict of the piece of evidence that is surest of one.

        A piece that entails the claim counts more than one that contradicts it: pages on other
        matters are often called contradictions. Returns None if every piece is too long.
        """
        probabilities = self._classify([(piece, claim) for piece in evidence])
        if not len(probabilities):
            return None
        best: dict[Finding, float] = {
            finding: float(probabilities[:, index].max())
            for index, finding in enumerate(self._findings)
        }
        if best["supported"] >= MIN_PROBABILITY:
            return "supported"
        return "contradicted" if best["contradicted"] >= MIN_PROBABILITY else "not_told"

    def _classify(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray[Any, Any]:
        """Returns the probability of each label, shape (pairs that fit, labels)."""
        encodings = [self._tokenizer.encode(premise, claim) for premise, claim in pairs]
        encodings = [one for one in encodings if len(one.ids) <= _MAX_TOKENS]
        found = []
        for start in range(0, len(encodings), _BATCH):
            batch = encodings[start : start + _BATCH]
            width = max(len(one.ids) for one in batch)
            arrays = {
                "input_ids": _pad([one.ids for one in batch], width),
                "attention_mask": _pad([one.attention_mask for one in batch], width),
                "token_type_ids": _pad([one.type_ids for one in batch], width),
            }
            feeds = {name: array for name, array in arrays.items() if name in self._inputs}
            logits = np.asarray(self._session.run(None, feeds)[0], dtype=np.float64)
            weights = np.exp(logits - logits.max(axis=1, keepdims=True))
            found.append(weights / weights.sum(axis=1, keepdims=True))
        return np.concatenate(found) if found else np.empty((0, len(self._findings)))


def check_nli_model(folder: Path) -> tuple[Path, Path, Path]:
    """Checks that the folder of a model can be used, without loading the model.

    Returns:
        Its configuration, tokenizer and network.

    Raises:
        MissingFileError, SettingError: as ``NliJudge``.
    """
    try:
        import onnxruntime  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise SettingError(
            f"--nli needs {error.name}",
            where="--nli",
            hint="Install it with: pip install 'epoche[onnx]'",
        ) from error
    config_path = require_file(folder / "config.json", "configuration of the NLI model")
    tokenizer_path = require_file(folder / "tokenizer.json", "tokenizer of the NLI model")
    model_path = _find_model(folder)
    _read_labels(config_path)
    return config_path, tokenizer_path, model_path


def _pad(rows: Sequence[Sequence[int]], width: int) -> np.ndarray[Any, Any]:
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=np.int64)


def _find_model(folder: Path) -> Path:
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path.is_file():
            return path
    raise MissingFileError("no model.onnx in the folder", where=str(folder), hint=_HINT)


def _read_labels(path: Path) -> list[Finding]:
    """Returns the verdict of each label of the model, in order."""
    try:
        labels = msgspec.json.decode(path.read_bytes())["id2label"]
        names = [str(labels[str(index)]).lower() for index in range(len(labels))]
        findings = [
            next(finding for part, finding in _LABELS.items() if part in name) for name in names
        ]
    except (msgspec.DecodeError, KeyError, TypeError, StopIteration) as error:
        raise SettingError(
            "not the configuration of an NLI model", where=str(path), hint=_HINT
        ) from error
    if sorted(findings) != sorted(_LABELS.values()):
        raise SettingError("not the three labels of an NLI model", where=str(path), hint=_HINT)
    return findings
