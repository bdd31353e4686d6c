"""Weights of local models: where they are, and whether they are the ones they claim to be.

For whatever is loaded through sentence-transformers, embedders and cross-encoders alike. Nothing
here retries for a minute: a machine without a model hub learns so within seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import sys
from pathlib import Path
from types import ModuleType

from kg.base.errors import MissingExtraError, MissingFileError, WeightsError
from kg.base.files import sha256_file

HUB_TIMEOUT_S = 5
"""Seconds the hub has to say what a model consists of; the download itself is not limited."""

_HOLDING_WEIGHTS = (".safetensors", ".bin", ".onnx")


def sentence_transformers(wanted_by: str) -> ModuleType:
    """The library, imported when needed.

    Args:
        wanted_by: what needs it, for the message.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        # By name rather than by statement: type checkers run without the extra installed.
        library = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise MissingExtraError(
            "sentence-transformers is not installed",
            where=wanted_by,
            hint="Install it with `pip install 'epoche[dense]'`.",
        ) from error
    # It would draw a bar for every file of weights.
    if (talk := sys.modules.get("transformers.utils.logging")) is not None:
        talk.disable_progress_bar()
    return library


def named_folder(wanted: str, *, instead: str) -> tuple[Path, str]:
    """The folder of a model that was named: the folder itself, or a hub model's.

    Args:
        wanted: a folder, or a name on the hub.
        instead: what to do when it cannot be had, for the message.

    Returns:
        The folder, and the model's name for the manifest (a folder's last part, never its path).

    Raises:
        MissingFileError: it is written like a folder and is not there.
        MissingExtraError: the hub has no such model, or cannot be reached.
    """
    path = Path(wanted).expanduser()
    if path.is_dir():
        return path, path.resolve().name
    if wanted.startswith((".", "/", "~")) or wanted.count("/") > 1:
        raise MissingFileError(
            "the model's folder does not exist",
            where=wanted,
            hint="Check the path, or name a model of the hub as owner/model.",
        )
    return from_hub(wanted, instead=instead), wanted


def from_hub(name: str, *, instead: str) -> Path:
    """A hub model's folder: from the local cache, else downloaded (unless ``HF_HUB_OFFLINE``).

    One call that fails within seconds, where the model classes would retry for over a minute.

    Raises:
        MissingExtraError: as ``named_folder``.
    """
    hub = importlib.import_module("huggingface_hub")
    # Not in the cache: the exceptions that say so differ by version.
    with contextlib.suppress(Exception):
        return Path(hub.snapshot_download(name, local_files_only=True))
    try:
        return Path(hub.snapshot_download(name, etag_timeout=HUB_TIMEOUT_S))
    except Exception as error:
        raise MissingExtraError(
            f"the model cannot be had from the hub: {type(error).__name__}",
            where=name,
            hint=instead,
        ) from error


def weights_sha256(folder: Path) -> str:
    """Hex SHA-256 that identifies a model's weights, whatever its folder is called.

    Of one file its own hash, as published beside it; of several the hash over their names and
    hashes.

    Raises:
        WeightsError: the folder holds no weights.
    """
    files = sorted(
        path for path in folder.rglob("*") if path.suffix in _HOLDING_WEIGHTS and path.is_file()
    )
    # The same weights are often stored in several formats; the first is the one that is loaded.
    for suffix in _HOLDING_WEIGHTS:
        chosen = [path for path in files if path.suffix == suffix]
        if len(chosen) == 1:
            return sha256_file(chosen[0])
        if chosen:
            lines = (f"{path.relative_to(folder)} {sha256_file(path)}\n" for path in chosen)
            return hashlib.sha256("".join(lines).encode()).hexdigest()
    raise WeightsError(
        "the folder holds no model weights",
        where=str(folder),
        hint=f"One of its files must end in {', '.join(_HOLDING_WEIGHTS)}.",
    )


def require_weights(folder: Path, sha256: str, name: str) -> None:
    """Compares a model's weights with those that were published.

    Raises:
        WeightsError: they are others, or there are none.
    """
    found = weights_sha256(folder)
    if found != sha256:
        raise WeightsError(
            f"the weights of {name} are not the published ones: sha256 {found}, not {sha256}",
            where=str(folder),
            hint="Install them again; or name the folder yourself if other weights are meant.",
        )
