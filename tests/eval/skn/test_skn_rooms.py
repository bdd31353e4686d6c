"""The rooms of SKN against JSON: each imports only those before it, as the package says."""

from __future__ import annotations

from import_rooms import files_of, imports_upwards, room_of

import eval.skn

ORDER = (
    *("grammar", "notation", "commands", "pipelines", "setting", "formats", "extractors", "agent"),
    *("abstaining", "rules", "judges", "running", "scoring", "published"),
    *("metrics", "summary", "outputs", "benchmark"),
)


def test_rooms_import_only_those_before_them() -> None:
    rooms = {room_of(eval.skn, path) for path in files_of(eval.skn)}
    assert rooms == set(ORDER), "every room has its place"
    assert not imports_upwards(eval.skn, ORDER)
