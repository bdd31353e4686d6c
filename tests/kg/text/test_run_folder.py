"""The run's folder: whole or not there, checked when read, movable, and never unpickled."""

from __future__ import annotations

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
from kg.embedding.choosing import open_embedder
from kg.embedding.embedder import Embedder
from kg.text.canonical.verifier import RuleVerifier
from kg.text.keywords.statistical import Yake
from kg.text.run import form, replacing
from kg.text.run.folder import Run, open_run
from kg.text.run.inspection import inspect_run
from kg.text.run.pipeline import BuildPlan, build
from kg.text.run.replacing import (
    building_beside,
    check_replaceable,
    previous_beside,
    replacing_folder,
)
from kg.text.run.sources import source_files


def built(folder: Path, **changes: object) -> Run:
    documents = write_documents(folder / "documents")
    plan = BuildPlan(
        documents=tuple(source_files([documents], [".md"])), out=folder / "runs" / "library"
    )
    plan = msgspec.structs.replace(plan, **changes)
    return build(plan, Yake(), RuleVerifier(), open_embedder("lexical"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    built(folder)
    return folder


@pytest.fixture
def shop(made: Path, tmp_path: Path) -> Path:
    """A copy of the runs to spoil."""
    shutil.copytree(made / "runs", tmp_path / "runs", symlinks=True)
    return tmp_path / "runs"


def everything(run: Run) -> None:
    """Reads every part of a run."""
    _ = run.chunks, run.keywords, run.table, run.concepts, run.sections
    _ = run.canonical_embeddings, run.lookup()


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def resealed(folder: Path, name: str, data: bytes) -> None:
    """Replaces a file of a run and lets the metadata say that this is what was written."""
    (folder / name).write_bytes(data)
    metadata = json.loads((folder / form.METADATA).read_text("utf-8"))
    metadata["files"][name] = {"bytes": len(data), "sha256": sha256_file(folder / name)}
    (folder / form.METADATA).write_text(json.dumps(metadata), "utf-8")


def test_a_run_holds_what_was_built(made: Path) -> None:
    run = open_run(made / "runs" / "library")
    everything(run)
    assert {path.name for path in run.folder.iterdir()} == set(form.FILES)
    assert [chunk.id for chunk in run.chunks][:2] == ["1-lending#1", "1-lending#1.1"]
    assert [row.chunk_id for row in run.keywords] == [chunk.id for chunk in run.chunks]
    assert set(run.metadata.files) == set(form.FILES) - {form.METADATA}
    assert run.metadata.counts["documents"] == 3
    assert run.metadata.counts["concepts"] == len(run.concepts)
    assert run.concepts.match("What are spare parts?") == ["spare part"]
    assert run.embedder_name == "lexical"
    lookup = run.lookup()
    assert lookup is not None
    assert lookup.resolve("Spare-Parts") == "spare part"
    assert run.canonical_embeddings.shape[0] == len(run.canonical_keywords)
    assert str(made) not in b"".join(bytes_of(run.folder).values()).decode("utf-8", "replace")


def test_stages_can_be_left_out(tmp_path: Path) -> None:
    run = built(tmp_path, canonical=False, sections=False)
    everything(run)
    assert run.table is None
    assert run.lookup() is None
    assert run.sections is None
    assert run.embedder_name == ""
    assert set(bytes_of(run.folder)) == set(form.FILES) - {
        form.TABLE, form.CANONICAL, form.EMBEDDINGS, form.SECTIONS,
    }  # fmt: skip
    assert inspect_run(run).sections is None


def test_the_same_documents_give_the_same_bytes_in_another_folder(
    made: Path, tmp_path: Path
) -> None:
    again = built(tmp_path / "elsewhere")
    assert bytes_of(again.folder) == bytes_of(made / "runs" / "library")
    assert again.sha256 == open_run(made / "runs").sha256


def test_runs_and_their_latest_can_move(shop: Path, tmp_path: Path) -> None:
    assert (shop / "latest").readlink() == Path("library")
    moved = tmp_path / "new" / "place"
    shop.parent.joinpath("new").mkdir()
    shop.rename(moved)
    for path in (moved, moved / "latest", moved / "library"):
        everything(open_run(path))


def test_a_real_folder_called_latest_is_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs" / "latest").mkdir(parents=True)
    everything(built(tmp_path))
    assert "it is no link" in capfd.readouterr().err
    assert (tmp_path / "runs" / "latest").is_dir()


# -- what is damaged


@pytest.mark.parametrize("name", form.FILES)
@pytest.mark.parametrize("harm", ["removed", "emptied", "cut", "longer", "changed", "a folder"])
def test_a_damaged_run_is_noticed(shop: Path, name: str, harm: str) -> None:
    path = shop / "library" / name
    data = path.read_bytes()
    path.unlink()
    if harm == "a folder":
        path.mkdir()
    elif harm != "removed":
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes(
            {"emptied": b"", "cut": data[:middle], "longer": data + b" ", "changed": flipped}[harm]
        )
    if name == form.METADATA and harm == "longer":
        everything(open_run(shop / "library"))  # white space after JSON says nothing
        return
    with pytest.raises(RunFolderError):
        everything(open_run(shop / "library"))


def test_every_damage_ends_in_one_line(shop: Path) -> None:
    (shop / "library" / form.GRAPH).write_bytes(b"{}")
    with pytest.raises(RunFolderError) as caught:
        open_run(shop)
    assert caught.value.exit_code == 31
    assert "graph.json" in caught.value.one_line()
    assert "epoche kg build" in caught.value.one_line()


def test_no_array_of_objects_is_unpickled(shop: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (os.mkdir, (str(shop / "sprung"),))

    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    resealed(shop / "library", form.EMBEDDINGS, buffer.getvalue())
    with pytest.raises(RunFolderError, match="not an array"):
        everything(open_run(shop))
    assert not (shop / "sprung").exists()


def an_array(values: object, kind: type) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(values, dtype=kind))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"not numpy",
        an_array([[1.0, 2.0]], np.float64),
        an_array([1.0], np.float32),
        an_array(np.zeros((1, 512)), np.float32),
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, "
        b"'shape': (4000000000, 4000000000), }" + b" " * 37 + b"\n",
    ],
)
def test_other_arrays_are_refused(shop: Path, data: bytes) -> None:
    resealed(shop / "library", form.EMBEDDINGS, data)
    with pytest.raises(RunFolderError):
        everything(open_run(shop))


def test_numbers_that_are_none_are_refused(shop: Path, made: Path) -> None:
    found = np.array(open_run(made / "runs").canonical_embeddings)
    found[0, 0] = np.nan
    resealed(shop / "library", form.EMBEDDINGS, an_array(found, np.float32))
    with pytest.raises(RunFolderError, match="finite"):
        everything(open_run(shop))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (form.TABLE, b'{"forms": {"a": "b", "b": "c", "c": "c"}, "labels": {"c": "c"}}'),
        (form.TABLE, b"[" * 100_000),
        (form.CANONICAL, b'["other"]'),
        (form.SECTIONS, b'{"schema": 1, "nodes": [{"id": "a", "heading": "", "parent": "a"}]}'),
        (form.SECTIONS, b"[" * 100_000),
        (form.GRAPH, b'{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "z"}]}'),
    ],
)
def test_references_in_circles_or_to_nothing_are_refused(
    shop: Path, name: str, data: bytes
) -> None:
    resealed(shop / "library", name, data)
    with pytest.raises(RunFolderError):
        everything(open_run(shop))


@pytest.mark.parametrize("name", [form.CONFIG, form.METADATA])
def test_other_versions_are_named(shop: Path, name: str) -> None:
    path = shop / "library" / name
    data = path.read_bytes().replace(b"epoche.run/1", b"epoche.run/9")
    if name == form.METADATA:
        path.write_bytes(data)
    else:
        resealed(shop / "library", name, data)
    with pytest.raises(RunFolderError, match=r"epoche\.run/9"):
        open_run(shop)


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "other.json", form.METADATA])
def test_metadata_reach_no_other_file(shop: Path, name: str) -> None:
    path = shop / "library" / form.METADATA
    metadata = json.loads(path.read_text("utf-8"))
    metadata["files"][name] = {"bytes": 1, "sha256": ""}
    path.write_text(json.dumps(metadata), "utf-8")
    with pytest.raises(RunFolderError, match="none of a run"):
        open_run(shop)


def test_links_of_older_networkx_are_read_from_a_run(shop: Path, made: Path) -> None:
    data = (made / "runs" / "library" / form.GRAPH).read_bytes()
    assert b'"edges":[' in data
    resealed(shop / "library", form.GRAPH, data.replace(b'"edges":[', b'"links":['))
    concepts = open_run(shop).concepts
    same = open_run(made / "runs").concepts
    assert list(concepts.graph.edges(data=True)) == list(same.graph.edges(data=True))


@pytest.mark.parametrize("kind", ["nothing", "empty", "other", "file", "dangling", "loop", "long"])
def test_what_is_no_run_is_said(tmp_path: Path, kind: str) -> None:
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


# -- which model


def test_another_model_is_refused_wherever_it_comes_in(made: Path, tmp_path: Path) -> None:
    lexical = open_embedder("lexical")
    run = open_run(made / "runs", lexical)
    for other in (
        Embedder(lexical.encode, "another", lexical.sha256),
        Embedder(lexical.encode, lexical.name, "0" * 64),
    ):
        with pytest.raises(EmbedderMismatchError):
            open_run(made / "runs", other)
        with pytest.raises(EmbedderMismatchError) as caught:
            run.lookup(other)
        assert caught.value.exit_code == 32
    own = built(tmp_path)
    before = bytes_of(own.folder)
    more = tmp_path / "more.md"
    more.write_text("# 4 Keys\n\nA key opens the library. The key hangs in the workshop.", "utf-8")
    plan = BuildPlan(documents=(more,), out=own.folder, extend=True)
    with pytest.raises(EmbedderMismatchError):
        build(plan, Yake(), RuleVerifier(), Embedder(lexical.encode, "another", ""))
    # Nor with other settings: what is added would change what is there.
    for other_plan in (
        msgspec.structs.replace(plan, canonical=False),
        msgspec.structs.replace(plan, chunk_size=500, overlap=100),
    ):
        with pytest.raises(SettingError, match=r"other settings of (canonical|chunk_size)"):
            build(other_plan, Yake(), RuleVerifier(), lexical)
    assert bytes_of(own.folder) == before
    extended = build(plan, Yake(), RuleVerifier(), lexical)
    assert [chunk.id for chunk in extended.chunks][-1] == "more#4"
    assert len(extended.metadata.documents) == 4
    everything(extended)


# -- replacing a folder


@pytest.fixture(params=["exchanged", "renamed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to replace a folder: where the system can exchange two, and where it cannot."""
    if request.param == "renamed":
        monkeypatch.setattr(replacing, "_exchange", lambda _one, _other: False)
    return str(request.param)


def write(folder: Path, content: str, stop: BaseException | None = None) -> None:
    with replacing_folder(folder, ("a", "b")) as inside:
        (inside / "a").write_text(content)
        if stop is not None:
            raise stop


@pytest.mark.usefixtures("way")
def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write(folder, "one")
    write(folder, "two")
    assert bytes_of(folder) == {"a": b"two"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.usefixtures("way")
def test_a_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write(folder, "one")
    with pytest.raises(KeyboardInterrupt):
        write(folder, "two", KeyboardInterrupt())
    assert bytes_of(folder) == {"a": b"one"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.usefixtures("way")
def test_what_kill_9_left_is_cleared_away(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write(folder, "one")
    building_beside(folder).mkdir()
    (building_beside(folder) / "a").write_text("half")
    (building_beside(folder) / ".b.x7_q").write_text("torn")
    previous_beside(folder).mkdir()
    (previous_beside(folder) / "a").write_text("older")
    write(folder, "two")
    assert bytes_of(folder) == {"a": b"two"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_killed_between_two_renames_the_old_run_is_kept(shop: Path) -> None:
    folder = shop / "library"
    before = bytes_of(folder)
    folder.rename(previous_beside(folder))
    with pytest.raises(RunFolderError, match="killed"):
        open_run(folder)
    with pytest.raises(RuntimeError), replacing_folder(folder, form.FILES):
        raise RuntimeError
    assert bytes_of(folder) == before
    everything(open_run(shop))


def test_the_system_exchanges_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "was-a").touch()
    if not replacing._exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this system cannot exchange two folders")
    assert (tmp_path / "b" / "was-a").exists()


@pytest.mark.parametrize("held", [["letter.txt"], ["a"], ["a", "mark", "thesis"], ["a/"]])
def test_nothing_that_may_be_the_users_is_replaced(tmp_path: Path, held: list[str]) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in held:
        (folder / name).mkdir() if name.endswith("/") else (folder / name).touch()
    with pytest.raises(WriteError):
        check_replaceable(folder, ("a", "mark"), "mark")


@pytest.mark.parametrize("name", ["latest", "", "..", "file", "link"])
def test_places_where_no_run_can_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(WriteError):
        built(tmp_path / "build", out=Path("/") if name == "" else tmp_path / name)
