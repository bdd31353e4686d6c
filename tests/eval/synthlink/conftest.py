"""Fixtures: a small catalogue, its pages, and the items of it that a model judges."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthlink_judge_parts import list_items_to_judge, write_inputs

from eval.synthlink.catalog import Catalog, read_catalog
from eval.synthlink.corrected.evidence import SourcePages
from eval.synthlink.judges.judge_items import JudgeItem
from retrieval.corpus import read_corpus


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="module")
def catalog(workspace: Path) -> Catalog:
    return read_catalog(workspace / "catalog.jsonl")


@pytest.fixture(scope="module")
def pages(workspace: Path) -> SourcePages:
    return SourcePages(read_corpus(workspace / "pages.jsonl"))


@pytest.fixture
def all_judge_items(catalog: Catalog, pages: SourcePages) -> list[JudgeItem]:
    """Returns six claims and eighteen anchors, which are facts with a known verdict."""
    return list_items_to_judge(catalog, pages, range(6))
