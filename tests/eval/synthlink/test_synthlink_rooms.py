"""The rooms of SynthLink: each imports only those before it, as the package says."""

from __future__ import annotations

from import_rooms import files_of, imports_upwards, room_of

import eval.synthlink

ORDER = (
    *("question", "catalog_markdown", "catalog", "predictions"),
    *("measures", "corrected", "literal", "verdicts"),
    *("record", "scores", "comparing", "score_options", "tables", "outputs", "manifest"),
    *("scoring_files", "agents", "running", "judging"),
)


def test_rooms_import_only_those_before_them() -> None:
    rooms = {room_of(eval.synthlink, path) for path in files_of(eval.synthlink)}
    assert rooms == set(ORDER), "every room has its place"
    assert not imports_upwards(eval.synthlink, ORDER)
