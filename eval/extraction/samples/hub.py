"""Reads the rows of a data set on the Hugging Face hub, or from the cache if it is unreachable."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eval.extraction.samples.row_files import Row, row_from_arrow
from kg.base.errors import MissingExtraError, SettingError
from kg.base.plain_text import clean_text, join_list

HUB_TIMEOUT_S = 10.0
"""Time limit for the first request to the hub; later requests have the library's own limits."""

# Owner and name, each of at most 96 letters, digits, underscores, dots and hyphens.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_HINT = "Check the path, or for a data set on the hub its name and the connection."


def is_hub_name(source: str) -> bool:
    """Returns whether ``source`` has the form ``owner/name`` of a data set on the hub."""
    return _NAME.fullmatch(source) is not None


class HubRows:
    """The rows of one split of a data set.

    Args:
        name: ``owner/name``.
        split: the requested split. If it does not exist and there is only one other, that one is
            read instead (the loader adds a note): ``paraloq/json_data_extraction`` only has
            ``train``, which is fine here because nothing is trained.
        cache: folder for downloads; by default the library's own.

    Attributes:
        split: the split that is read.
        count: number of rows of the split.
        from_cache: whether the hub was unreachable and earlier downloads are read.

    Raises:
        MissingExtraError: ``datasets`` is not installed; or the data set is not in the cache, and
            the hub does not have it or cannot be reached.
        SettingError: there is no such split, and more than one other to choose from.
    """

    def __init__(self, name: str, split: str, cache: Path | None) -> None:
        splits, self.from_cache = _load_splits(name, cache)
        self.split = split
        if split not in splits:
            if len(splits) != 1:
                raise SettingError(
                    f"no split {clean_text(split)!r}",
                    where=name,
                    hint=f"Available splits: {join_list(sorted(map(str, splits)))}.",
                )
            self.split = next(iter(splits))
        self._table = splits[self.split]
        self.count: int = len(self._table)

    def __iter__(self) -> Iterator[Row]:
        for number, values in enumerate(self._table, start=1):
            yield row_from_arrow(number, values)


def _load_splits(name: str, cache: Path | None) -> tuple[dict[str, Any], bool]:
    """Returns the tables of all splits, and whether they come from the cache."""
    try:
        # Imported by name, because type checkers run without the extra installed.
        datasets = importlib.import_module("datasets")
        hub = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtraError(
            "no such file or folder, and without the package datasets no data set of that name on "
            "the hub",
            where=name,
            hint="Check the path; or for a data set on the hub, `pip install 'epoche[hub]'`.",
        ) from error
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    cache_folder = None if cache is None else str(cache)
    try:
        if _is_reachable(hub, name):
            return dict(datasets.load_dataset(name, cache_dir=cache_folder)), False
        with _force_offline(hub):  # read the cache without half a minute of retries
            return dict(datasets.load_dataset(name, cache_dir=cache_folder)), True
    except Exception as error:  # the exception types differ between versions of the library
        raise MissingExtraError(
            "no such file or folder, and a data set of that name cannot be loaded from the hub: "
            f"{type(error).__name__}: {error}",
            where=name,
            hint=_HINT,
        ) from error


def _is_reachable(hub: Any, name: str) -> bool:
    """Returns whether the hub is reachable, even if it does not have the data set.

    A missing data set is reported later, by ``load_dataset``.
    """
    if hub.constants.HF_HUB_OFFLINE:
        return False
    try:
        hub.HfApi().dataset_info(name, timeout=HUB_TIMEOUT_S)
    except hub.errors.HfHubHTTPError:
        return True
    except Exception:  # no DNS, no route, refused, timeout: the type depends on the HTTP library
        return False
    return True


@contextmanager
def _force_offline(hub: Any) -> Iterator[None]:
    was_offline = hub.constants.HF_HUB_OFFLINE
    hub.constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        hub.constants.HF_HUB_OFFLINE = was_offline
