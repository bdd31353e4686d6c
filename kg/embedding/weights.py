"""Locates the weights of local models, embedders and cross-encoders, and checks their hashes.

On a machine without access to a model hub, loading fails within seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from kg.base.errors import MissingExtraError, MissingFileError, WeightsError
from kg.base.files import sha256_file

HUB_TIMEOUT_S = 5
"""Timeout in seconds for a model's file list; the download itself is not limited."""

_WEIGHTS_SUFFIXES = (".safetensors", ".bin", ".onnx")
"""Extensions of weight files, in the order in which the library prefers them."""


def import_sentence_transformers(required_by: str) -> ModuleType:
    """Imports the library ``sentence_transformers`` when it is first needed.

    Args:
        required_by: the component that needs it, for the message.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        # By name rather than by an import statement: type checkers run without this extra.
        library = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise MissingExtraError(
            "sentence-transformers is not installed",
            where=required_by,
            hint="Install it with `pip install 'epoche[dense]'`.",
        ) from error
    # transformers would print a progress bar for every file of weights.
    if (transformers_logging := sys.modules.get("transformers.utils.logging")) is not None:
        transformers_logging.disable_progress_bar()
    return library


def resolve_model_folder(model: str, *, hint: str) -> tuple[Path, str]:
    """Finds the folder of a model: the given folder, or that of a hub model.

    Args:
        model: a folder, or a name on the hub.
        hint: what to do if the model is not available, for the message.

    Returns:
        The folder, and the model's name for the manifest (a folder's last part, never its path).

    Raises:
        MissingFileError: the name looks like a path, but the folder does not exist.
        MissingExtraError: the model is not on the hub, or the hub cannot be reached.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return path, path.resolve().name
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise MissingFileError(
            "the model's folder does not exist",
            where=model,
            hint="Check the path, or give a hub model as owner/model.",
        )
    return download_from_hub(model, hint=hint), model


def download_from_hub(name: str, *, hint: str, files: Sequence[str] | None = None) -> Path:
    """Returns a hub model's folder: from the local cache, else downloaded.

    Nothing is downloaded if ``HF_HUB_OFFLINE`` is set. Without access to the hub this fails within
    seconds, whereas the model classes would retry for over a minute.

    Args:
        name: its name on the hub.
        hint: what to do if it is not available, for the message.
        files: the only files to download; by default all.

    Raises:
        MissingExtraError: as ``resolve_model_folder``.
    """
    hub = importlib.import_module("huggingface_hub")
    # The exception for a model that is not in the cache differs between versions.
    with contextlib.suppress(Exception):
        return Path(hub.snapshot_download(name, local_files_only=True))
    try:
        return Path(hub.snapshot_download(name, etag_timeout=HUB_TIMEOUT_S, allow_patterns=files))
    except Exception as error:
        raise MissingExtraError(
            f"the model cannot be downloaded from the hub: {type(error).__name__}",
            where=name,
            hint=hint,
        ) from error


def hash_weights(folder: Path) -> str:
    """Computes a hex SHA-256 that identifies a model's weights, whatever its folder's name.

    For a single file it is the file's hash, as hubs publish it; for several files, the hash of
    their names and hashes.

    Raises:
        WeightsError: the folder contains no weights.
    """
    files = sorted(
        path for path in folder.rglob("*") if path.suffix in _WEIGHTS_SUFFIXES and path.is_file()
    )
    # The same weights are often stored in several formats; the library loads the first of
    # ``_WEIGHTS_SUFFIXES`` that is present.
    for suffix in _WEIGHTS_SUFFIXES:
        weight_files = [path for path in files if path.suffix == suffix]
        if len(weight_files) == 1:
            return sha256_file(weight_files[0])
        if weight_files:
            hash_lines = (
                f"{path.relative_to(folder)} {sha256_file(path)}\n" for path in weight_files
            )
            return hashlib.sha256("".join(hash_lines).encode()).hexdigest()
    raise WeightsError(
        "the folder contains no model weights",
        where=str(folder),
        hint=f"One of its files must end in {', '.join(_WEIGHTS_SUFFIXES)}.",
    )


def require_weights(folder: Path, sha256: str, name: str) -> None:
    """Checks that a model's weights are the published ones.

    Raises:
        WeightsError: the weights are different, or there are none.
    """
    _require_hash(hash_weights(folder), sha256, f"the weights of {name}", folder)


def require_file_hash(file: Path, sha256: str, name: str) -> None:
    """Checks that another file of a model is the published one.

    Raises:
        WeightsError: it is different or missing.
    """
    actual = sha256_file(file) if file.is_file() else "of no file"
    _require_hash(actual, sha256, f"the {file.name} of {name}", file.parent)


def _require_hash(actual: str, sha256: str, what: str, folder: Path) -> None:
    if actual != sha256:
        raise WeightsError(
            f"{what}: sha256 {actual}, not {sha256} as published",
            where=str(folder),
            hint="Install the model again; to use another one on purpose, give its folder.",
        )
