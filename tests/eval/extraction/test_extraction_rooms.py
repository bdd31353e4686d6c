"""The rooms of structured extraction: each imports only those before it, as the package says."""

from __future__ import annotations

from import_rooms import files_of, imports_upwards, room_of

import eval.extraction

ORDER = (
    *("settings", "record", "schemas", "matchers", "samples", "verdicts", "scoring", "row"),
    *("measuring", "aggregate", "comparison_record", "comparing"),
    *("baseline", "running", "summary", "outputs", "run_extraction", "own", "commands"),
)


def test_rooms_import_only_those_before_them() -> None:
    rooms = {room_of(eval.extraction, path) for path in files_of(eval.extraction)}
    assert rooms == set(ORDER), "every room has its place"
    assert not imports_upwards(eval.extraction, ORDER)
