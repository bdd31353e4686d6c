"""Rows of a data set on a hub, through the ``datasets`` package, or of its cache without a hub."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eval.extraction.samples.row_files import Row, arrow_row
from kg.base.errors import MissingExtraError, SettingError
from kg.words.plain_text import listing, plain

HUB_TIMEOUT_S = 10.0
"""Seconds the hub has to say that it is there; what follows is the library's own affair."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_INSTEAD = "Check the name and the connection, or name a local JSONL or Parquet file instead."


def is_hub_name(source: str) -> bool:
    """Whether ``source`` is written like a data set of a hub: ``owner/name``."""
    return _NAME.fullmatch(source) is not None


class HubRows:
    """The rows of one split.

    Args:
        name: ``owner/name``.
        split: the split wanted. If there is no such split and only one other, that one is taken
            and said so: ``paraloq/json_data_extraction`` has ``train`` only, and the whole of a
            set is for measuring, since nothing is trained here.
        cache: folder for what is fetched; by default the library's own.

    Attributes:
        split: the split that is read.
        count: its rows.
        from_cache: whether the hub did not answer and what was fetched earlier is read.

    Raises:
        MissingExtraError: ``datasets`` is not installed; or the hub has no such set or cannot be
            reached, and the cache does not hold it.
        SettingError: there is no such split, and several others.
    """

    def __init__(self, name: str, split: str, cache: Path | None) -> None:
        found, self.from_cache = _splits(name, cache)
        self.split = split
        if split not in found:
            if len(found) != 1:
                raise SettingError(
                    f"no split {plain(split)!r}",
                    where=name,
                    hint=f"There are {listing(sorted(map(str, found)))}.",
                )
            self.split = next(iter(found))
        self._table = found[self.split]
        self.count: int = len(self._table)

    def __iter__(self) -> Iterator[Row]:
        for number, values in enumerate(self._table, start=1):
            yield arrow_row(number, values)


def _splits(name: str, cache: Path | None) -> tuple[dict[str, Any], bool]:
    """The tables of all splits, and whether they are what was fetched earlier."""
    try:
        # By name rather than by statement: type checkers run without the extra installed.
        datasets = importlib.import_module("datasets")
        hub = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtraError(
            "datasets is not installed",
            where=name,
            hint="Install it with `pip install 'epoche[hub]'`, or name a local file.",
        ) from error
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    where = None if cache is None else str(cache)
    try:
        if _answers(hub, name):
            return dict(datasets.load_dataset(name, cache_dir=where)), False
        with _offline(hub):  # what the cache holds, without half a minute of retries
            return dict(datasets.load_dataset(name, cache_dir=where)), True
    except Exception as error:  # the library raises what it pleases, by version
        raise MissingExtraError(
            f"the data set cannot be had from the hub: {type(error).__name__}: {error}",
            where=name,
            hint=_INSTEAD,
        ) from error


def _answers(hub: Any, name: str) -> bool:
    """Whether the hub can be reached; a set it does not have is found out later, and named."""
    if hub.constants.HF_HUB_OFFLINE:
        return False
    try:
        hub.HfApi().dataset_info(name, timeout=HUB_TIMEOUT_S)
    except hub.errors.HfHubHTTPError:
        return True
    except Exception:  # no name service, no route, refused, too slow: by the HTTP library in use
        return False
    return True


@contextmanager
def _offline(hub: Any) -> Iterator[None]:
    before = hub.constants.HF_HUB_OFFLINE
    hub.constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        hub.constants.HF_HUB_OFFLINE = before
