"""The small catalogue that models judge claims of, and what they are asked about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthlink_judging_parts import asked_about, write_shop

from eval.synthlink.catalog import Catalog, read_catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.judging.matters import Matter
from retrieval.corpus import read_corpus


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shop(tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="module")
def catalog(shop: Path) -> Catalog:
    return read_catalog(shop / "catalog.jsonl")


@pytest.fixture(scope="module")
def pages(shop: Path) -> SourcePages:
    return SourcePages(read_corpus(shop / "pages.jsonl"))


@pytest.fixture
def all_matters(catalog: Catalog, pages: SourcePages) -> list[Matter]:
    """Six claims and eighteen anchors."""
    return asked_about(catalog, pages, range(6))
