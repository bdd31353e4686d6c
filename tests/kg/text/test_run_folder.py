"""Tests that a run folder is written as a whole, verified when read, and can be moved."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from library_documents import write_documents

from kg.base.errors import (
    EmbedderMismatchError,
    MissingFileError,
    RunFolderError,
    SettingError,
    WriteError,
)
from kg.base.files import sha256_file
from kg.embedding.embedder import Embedder
from kg.embedding.factory import open_embedder
from kg.text.canonical.verifier import RuleVerifier
from kg.text.keywords.yake_extractor import Yake
from kg.text.run import layout, replacement
from kg.text.run.comparison import RunComparison, compare_runs
from kg.text.run.folder import Run, open_run
from kg.text.run.inspection import inspect_run
from kg.text.run.pipeline import BuildPlan, build_run
from kg.text.run.replacement import (
    check_replaceable,
    get_building_path,
    get_previous_path,
    replace_folder,
)
from kg.text.run.sources import find_source_files


def build_small_run(folder: Path, **changes: object) -> Run:
    documents = write_documents(folder / "documents")
    plan = BuildPlan(
        documents=tuple(find_source_files([documents], [".md"])), out=folder / "runs" / "library"
    )
    plan = msgspec.structs.replace(plan, **changes)
    return build_run(plan, Yake(), RuleVerifier(), open_embedder("lexical"))


@pytest.fixture(scope="module")
def runs_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    build_small_run(folder)
    return folder


@pytest.fixture
def runs_folder(runs_root: Path, tmp_path: Path) -> Path:
    """A copy of the runs to damage."""
    shutil.copytree(runs_root / "runs", tmp_path / "runs", symlinks=True)
    return tmp_path / "runs"


def read_every_part(run: Run) -> None:
    """Reads every part of a run."""
    _ = run.chunks, run.keywords, run.table, run.concepts, run.sections
    _ = run.canonical_embeddings, run.open_lookup()


def read_run_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def replace_with_checksum(folder: Path, name: str, data: bytes) -> None:
    """Replaces a file of a run and updates its checksum in the metadata."""
    (folder / name).write_bytes(data)
    metadata = json.loads((folder / layout.METADATA).read_text("utf-8"))
    metadata["files"][name] = {"bytes": len(data), "sha256": sha256_file(folder / name)}
    (folder / layout.METADATA).write_text(json.dumps(metadata), "utf-8")


def test_run_contains_what_was_built(runs_root: Path) -> None:
    run = open_run(runs_root / "runs" / "library")
    read_every_part(run)
    # The embeddings of the lexical embedder are computed again.
    files = set(layout.FILES) - {layout.EMBEDDINGS}
    assert {path.name for path in run.folder.iterdir()} == files
    assert [chunk.id for chunk in run.chunks][:2] == ["1-lending#1", "1-lending#1.1"]
    assert [row.chunk_id for row in run.keywords] == [chunk.id for chunk in run.chunks]
    assert set(run.metadata.files) == files - {layout.METADATA}
    assert run.metadata.counts["documents"] == 3
    assert run.metadata.counts["concepts"] == len(run.concepts)
    assert run.concepts.match_concepts("What are spare parts?") == ["spare part"]
    assert run.embedder_name == "lexical"
    lookup = run.open_lookup()
    assert lookup is not None
    assert lookup.resolve_keyword("Spare-Parts") == "spare part"
    assert run.canonical_embeddings.shape[0] == len(run.canonical_keywords)
    assert str(runs_root) not in b"".join(read_run_bytes(run.folder).values()).decode(
        "utf-8", "replace"
    )


def test_stages_can_be_left_out(tmp_path: Path) -> None:
    run = build_small_run(tmp_path, canonical=False, sections=False)
    read_every_part(run)
    assert run.table is None
    assert run.open_lookup() is None
    assert run.sections is None
    assert run.embedder_name == ""
    assert set(read_run_bytes(run.folder)) == set(layout.FILES) - {
        layout.TABLE, layout.CANONICAL, layout.EMBEDDINGS, layout.SECTIONS,
    }  # fmt: skip
    assert inspect_run(run).sections is None


def test_the_same_documents_give_the_same_bytes_in_another_folder(
    runs_root: Path, tmp_path: Path
) -> None:
    second_run = build_small_run(tmp_path / "elsewhere")
    assert read_run_bytes(second_run.folder) == read_run_bytes(runs_root / "runs" / "library")
    assert second_run.sha256 == open_run(runs_root / "runs").sha256


def test_runs_and_latest_link_can_be_moved(runs_folder: Path, tmp_path: Path) -> None:
    assert (runs_folder / "latest").readlink() == Path("library")
    new_runs_folder = tmp_path / "new" / "place"
    runs_folder.parent.joinpath("new").mkdir()
    runs_folder.rename(new_runs_folder)
    for path in (new_runs_folder, new_runs_folder / "latest", new_runs_folder / "library"):
        read_every_part(open_run(path))


def test_real_folder_named_latest_is_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs" / "latest").mkdir(parents=True)
    read_every_part(build_small_run(tmp_path))
    assert "a file or folder has its name" in capfd.readouterr().err
    assert (tmp_path / "runs" / "latest").is_dir()


# -- damaged runs


LEXICAL_FILES = tuple(name for name in layout.FILES if name != layout.EMBEDDINGS)
"""The files of a run whose embeddings are computed again."""


@pytest.mark.parametrize("name", LEXICAL_FILES)
@pytest.mark.parametrize("damage", ["removed", "emptied", "cut", "longer", "changed", "a folder"])
def test_damaged_run_is_detected(runs_folder: Path, name: str, damage: str) -> None:
    path = runs_folder / "library" / name
    data = path.read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage != "removed":
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes(
            {"emptied": b"", "cut": data[:middle], "longer": data + b" ", "changed": flipped}[
                damage
            ]
        )
    if name == layout.METADATA and damage == "longer":
        # White space after JSON is harmless, and the metadata file has no checksum.
        read_every_part(open_run(runs_folder / "library"))
        return
    with pytest.raises(RunFolderError):
        read_every_part(open_run(runs_folder / "library"))


def test_damage_gives_one_error_line_with_a_hint(runs_folder: Path) -> None:
    (runs_folder / "library" / layout.GRAPH).write_bytes(b"{}")
    with pytest.raises(RunFolderError) as caught:
        open_run(runs_folder)
    assert caught.value.exit_code == 31
    assert "graph.json" in caught.value.format_line()
    assert "epoche kg build" in caught.value.format_line()


def test_object_arrays_are_never_unpickled(runs_folder: Path) -> None:
    class PickleTrap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (os.mkdir, (str(runs_folder / "sprung"),))

    buffer = io.BytesIO()
    np.save(buffer, np.array([PickleTrap()], dtype=object), allow_pickle=True)
    replace_with_checksum(runs_folder / "library", layout.EMBEDDINGS, buffer.getvalue())
    with pytest.raises(RunFolderError, match="not an array"):
        read_every_part(open_run(runs_folder))
    assert not (runs_folder / "sprung").exists()


def make_array_bytes(values: object, dtype: type) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(values, dtype=dtype))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"not numpy",
        make_array_bytes([[1.0, 2.0]], np.float64),
        make_array_bytes([[1.0, np.nan]], np.float32),
        make_array_bytes([1], np.int8),
        # The right type and width, but one row instead of one per keyword.
        make_array_bytes(np.zeros((1, 512)), np.int8),
        # A valid header that announces far more numbers than the file has.
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, "
        b"'shape': (4000000000, 4000000000), }" + b" " * 37 + b"\n",
    ],
)
def test_unexpected_arrays_are_refused(runs_folder: Path, data: bytes) -> None:
    replace_with_checksum(runs_folder / "library", layout.EMBEDDINGS, data)
    with pytest.raises(RunFolderError):
        read_every_part(open_run(runs_folder))


def test_embeddings_of_a_model_are_stored_in_a_quarter_of_the_space(tmp_path: Path) -> None:
    lexical = open_embedder("lexical")
    run = build_small_run(tmp_path)
    plan = BuildPlan(
        documents=tuple(find_source_files([tmp_path], [".md"])), out=tmp_path / "other"
    )
    model_run = build_run(plan, Yake(), RuleVerifier(), Embedder(lexical.encode, "model", ""))
    assert (model_run.folder / layout.EMBEDDINGS).stat().st_size < (
        600 * len(model_run.canonical_keywords) + 200
    )
    expected = run.canonical_embeddings
    assert model_run.canonical_keywords == run.canonical_keywords
    cosines = np.sum(expected * model_run.canonical_embeddings, axis=1)
    assert cosines.min() > 0.99
    assert np.abs(np.linalg.norm(model_run.canonical_embeddings, axis=1) - 1).max() < 1e-5


def test_packed_files_that_are_damaged_or_too_large_are_refused(
    runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (runs_folder / "library" / layout.GRAPH).read_bytes()
    for damaged in (data[:-20], b"{}", gzip.compress(b"[" * 100_000)):
        replace_with_checksum(runs_folder / "library", layout.GRAPH, damaged)
        with pytest.raises(RunFolderError):
            read_every_part(open_run(runs_folder))
    replace_with_checksum(runs_folder / "library", layout.GRAPH, gzip.compress(b" " * 1_000_000))
    monkeypatch.setattr(layout, "MAX_FILE_BYTES", 100_000)
    with pytest.raises(RunFolderError, match="too large when unpacked"):
        read_every_part(open_run(runs_folder))


def test_two_runs_are_compared(runs_root: Path, tmp_path: Path) -> None:
    before = open_run(runs_root / "runs")
    assert compare_runs(before, before) == RunComparison(
        settings=(), documents=(), concepts=(), links=()
    )
    build_small_run(tmp_path)
    documents = before.metadata.documents
    changed, removed, kept = (tmp_path / "documents" / row.filename for row in documents[:3])
    changed.write_text(changed.read_text("utf-8") + "\n\nThe gearbox of the lathe.\n", "utf-8")
    removed.unlink()
    (tmp_path / "documents" / "new.md").write_text("# 9 Welding\n\nA torch welds.", "utf-8")
    plan = BuildPlan(
        documents=tuple(find_source_files([kept.parent], [".md"])), out=tmp_path / "after"
    )
    after = build_run(plan, Yake(), RuleVerifier(), open_embedder("lexical"))
    comparison = compare_runs(before, after)
    states = {
        change.key: (change.before is None, change.after is None) for change in comparison.documents
    }
    assert states == {
        documents[0].name: (False, False),
        documents[1].name: (False, True),
        "new": (True, False),
    }
    concepts = {change.key: change for change in comparison.concepts}
    assert any(change.before is None for change in comparison.concepts)
    assert any(change.after is None for change in comparison.concepts)
    # Every difference is listed, and nothing else.
    for node in set(before.concepts.nodes) ^ set(after.concepts.nodes):
        assert node in concepts
    for change in comparison.links:
        assert change.before != change.after
    n_links = before.concepts.graph.number_of_edges() + sum(
        (change.before is None) - (change.after is None) for change in comparison.links
    )
    assert n_links == after.concepts.graph.number_of_edges()
    text = comparison.render_text()
    assert "DOCUMENTS: 1 came, 1 went, 1 changed" in text
    assert "+ new.md" in text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (layout.TABLE, b'{"forms": {"a": "b", "b": "c", "c": "c"}, "labels": {"c": "c"}}'),
        (layout.TABLE, b"[" * 100_000),
        (layout.CANONICAL, b'["other"]'),
        (layout.SECTIONS, b'{"schema": 1, "nodes": [{"id": "a", "heading": "", "parent": "a"}]}'),
        (layout.SECTIONS, b"[" * 100_000),
        (layout.GRAPH, b'{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "z"}]}'),
    ],
)
def test_invalid_content_with_a_right_checksum_is_refused(
    runs_folder: Path, name: str, data: bytes
) -> None:
    data = gzip.compress(data) if name.endswith(".gz") else data
    replace_with_checksum(runs_folder / "library", name, data)
    with pytest.raises(RunFolderError):
        read_every_part(open_run(runs_folder))


@pytest.mark.parametrize("name", [layout.CONFIG, layout.METADATA])
def test_error_message_names_an_unknown_version(runs_folder: Path, name: str) -> None:
    path = runs_folder / "library" / name
    data = path.read_bytes().replace(b"epoche.run/2", b"epoche.run/9")
    if name == layout.METADATA:
        path.write_bytes(data)
    else:
        replace_with_checksum(runs_folder / "library", name, data)
    with pytest.raises(RunFolderError, match=r"epoche\.run/9"):
        open_run(runs_folder)


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "other.json", layout.METADATA])
def test_metadata_cannot_name_other_files(runs_folder: Path, name: str) -> None:
    path = runs_folder / "library" / layout.METADATA
    metadata = json.loads(path.read_text("utf-8"))
    metadata["files"][name] = {"bytes": 1, "sha256": ""}
    path.write_text(json.dumps(metadata), "utf-8")
    with pytest.raises(RunFolderError, match="no run has"):
        open_run(runs_folder)


def test_links_key_of_older_networkx_is_read(runs_folder: Path, runs_root: Path) -> None:
    data = gzip.decompress((runs_root / "runs" / "library" / layout.GRAPH).read_bytes())
    assert b'"edges":[' in data
    data = gzip.compress(data.replace(b'"edges":[', b'"links":['))
    replace_with_checksum(runs_folder / "library", layout.GRAPH, data)
    concepts = open_run(runs_folder).concepts
    expected = open_run(runs_root / "runs").concepts
    assert list(concepts.graph.edges(data=True)) == list(expected.graph.edges(data=True))


@pytest.mark.parametrize("kind", ["nothing", "empty", "other", "file", "dangling", "loop", "long"])
def test_invalid_run_folders_are_reported(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "run"
    if kind == "empty":
        path.mkdir()
    elif kind == "other":
        path.mkdir()
        (path / "letter.txt").touch()
    elif kind == "file":
        path.touch()
    elif kind == "dangling":
        path.mkdir()
        (path / "latest").symlink_to("gone")
    elif kind == "loop":
        path.mkdir()
        (path / "latest").symlink_to("latest")
    elif kind == "long":
        path = tmp_path / ("x" * 5000)
    with pytest.raises((RunFolderError, MissingFileError)):
        open_run(path)


# -- embedding models


def test_another_embedding_model_is_refused_everywhere(runs_root: Path, tmp_path: Path) -> None:
    lexical = open_embedder("lexical")
    run = open_run(runs_root / "runs", lexical)
    for other_embedder in (
        Embedder(lexical.encode, "another", lexical.sha256),
        Embedder(lexical.encode, lexical.name, "0" * 64),
    ):
        with pytest.raises(EmbedderMismatchError):
            open_run(runs_root / "runs", other_embedder)
        with pytest.raises(EmbedderMismatchError) as caught:
            run.open_lookup(other_embedder)
        assert caught.value.exit_code == 32
    small_run = build_small_run(tmp_path)
    old_bytes = read_run_bytes(small_run.folder)
    added_document = tmp_path / "more.md"
    added_document.write_text(
        "# 4 Keys\n\nA key opens the library. The key hangs in the workshop.", "utf-8"
    )
    plan = BuildPlan(documents=(added_document,), out=small_run.folder, extend=True)
    with pytest.raises(EmbedderMismatchError):
        build_run(plan, Yake(), RuleVerifier(), Embedder(lexical.encode, "another", ""))
    # Other settings are refused as well: the added documents would change existing chunks.
    for other_plan in (
        msgspec.structs.replace(plan, canonical=False),
        msgspec.structs.replace(plan, chunk_size=500, overlap=100),
    ):
        with pytest.raises(SettingError, match=r"different settings: (canonical|chunk_size)"):
            build_run(other_plan, Yake(), RuleVerifier(), lexical)
    assert read_run_bytes(small_run.folder) == old_bytes
    extended = build_run(plan, Yake(), RuleVerifier(), lexical)
    assert [chunk.id for chunk in extended.chunks][-1] == "more#4"
    assert len(extended.metadata.documents) == 4
    read_every_part(extended)


# -- replacing a folder


@pytest.fixture(params=["exchanged", "renamed"])
def replace_mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test for both ways to replace a folder: exchanging two folders, and renaming."""
    if request.param == "renamed":
        monkeypatch.setattr(replacement, "_exchange_folders", lambda _one, _other: False)
    return str(request.param)


def write_folder(folder: Path, content: str, error: BaseException | None = None) -> None:
    """Replaces a folder by one with a file ``a``; raises ``error`` before the end, if given."""
    with replace_folder(folder, ("a", "b")) as new_folder:
        (new_folder / "a").write_text(content)
        if error is not None:
            raise error


@pytest.mark.usefixtures("replace_mode")
def test_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write_folder(folder, "one")
    write_folder(folder, "two")
    assert read_run_bytes(folder) == {"a": b"two"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.usefixtures("replace_mode")
def test_failure_keeps_the_old_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write_folder(folder, "one")
    with pytest.raises(KeyboardInterrupt):
        write_folder(folder, "two", KeyboardInterrupt())
    assert read_run_bytes(folder) == {"a": b"one"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.usefixtures("replace_mode")
def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write_folder(folder, "one")
    get_building_path(folder).mkdir()
    (get_building_path(folder) / "a").write_text("half")
    (get_building_path(folder) / ".b.x7_q").write_text("torn")
    get_previous_path(folder).mkdir()
    (get_previous_path(folder) / "a").write_text("older")
    write_folder(folder, "two")
    assert read_run_bytes(folder) == {"a": b"two"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_kill_between_two_renames_keeps_the_old_run(runs_folder: Path) -> None:
    folder = runs_folder / "library"
    old_bytes = read_run_bytes(folder)
    folder.rename(get_previous_path(folder))
    with pytest.raises(RunFolderError, match="killed"):
        open_run(folder)
    with pytest.raises(RuntimeError), replace_folder(folder, layout.FILES):
        raise RuntimeError
    assert read_run_bytes(folder) == old_bytes
    read_every_part(open_run(runs_folder))


def test_folders_are_exchanged_by_the_system(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "was-a").touch()
    if not replacement._exchange_folders(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this system cannot exchange two folders")
    assert (tmp_path / "b" / "was-a").exists()


@pytest.mark.parametrize("existing_names", [["letter.txt"], ["a"], ["a", "mark", "thesis"], ["a/"]])
def test_user_files_are_never_replaced(tmp_path: Path, existing_names: list[str]) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in existing_names:
        (folder / name).mkdir() if name.endswith("/") else (folder / name).touch()
    # A folder may be replaced if it has only the named files, one of which marks it as a run.
    with pytest.raises(WriteError):
        check_replaceable(folder, ("a", "mark"), "mark")


@pytest.mark.parametrize("name", ["latest", "", "..", "file", "link"])
def test_unusable_run_locations_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(WriteError):
        build_small_run(tmp_path / "build", out=Path("/") if name == "" else tmp_path / name)
