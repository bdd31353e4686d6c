"""Shared by all rooms' tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# Examples are timed on machines that do other things too; a slow one is no failure.
settings.register_profile("epoche", deadline=None)
settings.load_profile("epoche")


@pytest.fixture(scope="session")
def published_data() -> Path:
    """Folder of the published experiments' files; the test is skipped where there is none.

    ``EPOCHE_PUBLISHED_DATA`` names it; otherwise it is looked for beside the checkout.
    """
    named = os.environ.get("EPOCHE_PUBLISHED_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data" / "published"
    if not folder.is_dir():
        pytest.skip("the published files are not here (EPOCHE_PUBLISHED_DATA)")
    return folder
