"""Tests of ``epoche kg build``: its flags, interruptions at any moment, and invalid input."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from forked_commands import Forker
from library_documents import LENDING, write_documents
from stage_calls import (
    block_at_fsync,
    check_error_line,
    check_usage_error,
    command_line,
    limit_file_size,
    run_epoche,
    run_process,
    stop_process,
    wait_for_condition,
)

from kg.text.run import layout
from kg.text.run.folder import Run, open_run

BUILD = ("kg", "build", "documents", "--out", "runs/library")
OLD_BUILD = (*BUILD, "--no-canonical", "--chunk-size", "400", "--overlap", "50")
PLAIN_BUILD = (*BUILD, "--no-canonical")
"""A build that does not load the embedder, which takes a second in every new process."""
KILL_COUNT = 12


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_documents(tmp_path / "documents")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_run_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_every_part(run: Run) -> None:
    _ = run.chunks, run.keywords, run.table, run.concepts, run.sections, run.canonical_embeddings


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_run_is_built_and_summarised(workspace: Path) -> None:
    result = run_epoche(*BUILD)
    assert result.code == 0, result.err
    run = open_run("runs")
    assert "3 documents, 12 chunks" in result.out
    assert f"[run:{run.sha256[:12]}]" in result.out
    assert list_names(workspace / "runs") == ["keyword_cache.jsonl", "latest", "library"]
    assert run.concepts.match_concepts("Who is a VOLUNTEER in the workshop?") == [
        "volunteer",
        "workshop",
    ]


def test_flags_select_what_is_built(workspace: Path) -> None:
    flags = ("--top-n", 4, "--no-sections", "--min-cooccurrence", 2, "--drop-isolates")
    assert run_epoche(*BUILD, *flags, "--no-resume", "--threshold", 0.9).code == 0
    run = open_run("runs")
    assert max(len(row.keywords) for row in run.keywords) <= 4
    assert run.sections is None
    assert all(weight >= 2 for _, _, weight in run.concepts.graph.edges(data="weight"))
    assert all(degree for _, degree in run.concepts.graph.degree())
    assert run.config.canonical is not None
    assert run.config.canonical.threshold == 0.9
    assert list_names(workspace / "runs") == ["latest", "library"]


def test_given_chunks_are_used_unchanged(workspace: Path) -> None:
    assert run_epoche(*BUILD).code == 0
    chunks = workspace / "runs" / "library" / layout.CHUNKS
    assert run_epoche("kg", "build", chunks, "--out", "again/library").code == 0
    second_run, first_run = open_run("again"), open_run("runs")
    assert second_run.chunks == first_run.chunks
    assert second_run.concepts.nodes == first_run.concepts.nodes


def test_bytes_depend_only_on_documents_and_flags(workspace: Path, tmp_path: Path) -> None:
    other_folder = tmp_path / "another" / "folder"
    write_documents(other_folder / "documents")
    outputs = []
    for folder, seed in ((workspace, "0"), (other_folder, "4242")):
        result = run_process(command_line(*BUILD), folder, PYTHONHASHSEED=seed)
        assert result.code == 0, result.err
        outputs.append((result.out, read_run_bytes(folder / "runs" / "library")))
    assert outputs[0] == outputs[1]
    assert run_epoche(*BUILD).code == 0  # replaces the run, with all keywords from the cache
    assert read_run_bytes(workspace / "runs" / "library") == outputs[0][1]


def test_build_after_a_kill_gives_the_same_run(workspace: Path) -> None:
    reference = workspace / "reference"
    write_documents(reference / "documents")
    old_bytes, new_bytes = (
        read_run_bytes(build_in_folder(reference, command)) for command in (OLD_BUILD, BUILD)
    )
    assert old_bytes != new_bytes
    rng = random.Random(20)
    outcomes: set[str] = set()
    with Forker(workspace) as forker:
        forker.warm_up(*BUILD)
        build_time = measure_build_time(forker)
        assert forker.run(*OLD_BUILD) == 0
        for _ in range(KILL_COUNT):
            # The kill comes at a random time, in some rounds after the end of the build.
            build = forker.start(*BUILD, *(() if rng.random() < 0.5 else ("--no-resume",)))
            time.sleep(rng.random() * 1.2 * build_time)
            os.kill(build.pid, signal.SIGKILL)
            outcomes.add("done" if build.wait() == 0 else "killed")
            current_bytes = read_run_bytes(workspace / "runs" / "library")
            assert current_bytes in (old_bytes, new_bytes)
            read_every_part(open_run("runs"))
            if current_bytes == new_bytes:
                assert forker.run(*OLD_BUILD) == 0
        assert forker.run(*BUILD) == 0
    assert "killed" in outcomes
    assert read_run_bytes(workspace / "runs" / "library") == new_bytes
    assert list_names(workspace / "runs") == ["keyword_cache.jsonl", "latest", "library"]


def build_in_folder(folder: Path, command: tuple[str, ...]) -> Path:
    parts = [str(folder / part) if "/" in part or part == "documents" else part for part in command]
    assert run_epoche(*parts).code == 0
    return folder / "runs" / "library"


def measure_build_time(forker: Forker) -> float:
    start = time.monotonic()
    assert forker.run(*BUILD, "--no-resume") == 0
    return time.monotonic() - start


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_signal_while_writing_keeps_the_old_run(
    workspace: Path, signal_number: signal.Signals
) -> None:
    assert run_epoche(*OLD_BUILD).code == 0
    old_bytes, ready = read_run_bytes(workspace / "runs" / "library"), workspace / "ready"
    process = subprocess.Popen(
        block_at_fsync(ready, *PLAIN_BUILD), cwd=workspace, stderr=subprocess.DEVNULL
    )
    wait_for_condition(ready.exists, process)
    code = stop_process(process, signal_number)
    assert code == (130 if signal_number is signal.SIGINT else -9)
    assert read_run_bytes(workspace / "runs" / "library") == old_bytes
    read_every_part(open_run("runs"))
    leftovers = [name for name in list_names(workspace / "runs") if name.startswith(".")]
    assert leftovers == ([".library.building"] if signal_number is signal.SIGKILL else [])
    assert run_epoche(*PLAIN_BUILD).code == 0
    assert not [name for name in list_names(workspace / "runs") if name.startswith(".")]


def test_full_disk_keeps_the_old_run(workspace: Path) -> None:
    assert run_epoche(*OLD_BUILD).code == 0
    old_bytes = read_run_bytes(workspace / "runs" / "library")
    error_line = check_error_line(
        run_process(limit_file_size(command_line(*PLAIN_BUILD, "--no-resume"), 2_000), workspace),
        15,
    )
    assert "cannot write" in error_line
    assert read_run_bytes(workspace / "runs" / "library") == old_bytes
    assert list_names(workspace / "runs") == ["keyword_cache.jsonl", "latest", "library"]


def test_cached_keywords_are_not_extracted_again(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kg.text.keywords.yake_extractor import Yake

    chunk_ids: list[str] = []
    original_extract = Yake.extract_keywords

    def record_extract(self: Yake, chunks: list, on_done: object) -> object:  # type: ignore[type-arg]
        chunk_ids.extend(chunk.id for chunk in chunks)
        return original_extract(self, chunks, on_done)  # type: ignore[arg-type]

    monkeypatch.setattr(Yake, "extract_keywords", record_extract)
    assert run_epoche(*BUILD).code == 0
    assert len(chunk_ids) == 12
    (workspace / "documents" / "3-members.md").write_text("# 3 Members\n\nA member pays.", "utf-8")
    assert run_epoche(*BUILD).code == 0
    assert chunk_ids[12:] == ["3-members#3"]


# -- invalid input


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("missing", 3),
        ("empty folder", 30),
        ("empty document", 30),
        ("one space", 30),
        ("pictures", 30),
        ("same slug", 0),
        ("same chunk", 13),
        ("chunk of nothing", 12),
        ("10 MB line", 12),
        ("17 MB document", 30),
        ("headings in circles", 0),
        ("one word", 0),
        ("a run there that is none", 15),
        ("latest", 15),
        ("overlap", 19),
    ],
)
def test_bad_input_gives_one_error_line_or_a_run(workspace: Path, case: str, code: int) -> None:
    documents, flags = workspace / "documents", ["--out", "runs/library"]
    inputs = [documents]
    if case == "missing":
        inputs = [workspace / "gone.md"]
    elif case == "empty folder":
        inputs = [workspace / "void"]
        (workspace / "void").mkdir()
    elif case == "empty document":
        inputs = [documents / "4.md"]
        inputs[0].touch()
    elif case == "one space":
        inputs = [documents / "4.txt"]
        inputs[0].write_text(" \n\t\n")
    elif case == "pictures":
        inputs = [documents / "picture.png"]
        inputs[0].write_bytes(b"\x89PNG")
    elif case == "same slug":
        (documents / "1 LENDING.md").write_text(LENDING, "utf-8")
    elif case in ("same chunk", "chunk of nothing"):
        text = "" if case == "chunk of nothing" else "A tool."
        chunks = workspace / "more.jsonl"
        chunks.write_text(f'{{"id": "1-lending#1.1", "text": "{text}"}}\n')
        inputs.append(chunks)
    elif case == "10 MB line":
        inputs = [workspace / "line.jsonl"]
        inputs[0].write_text(f'{{"id": "a", "text": "{"drill hammer " * 800_000}"}}')
    elif case == "17 MB document":
        inputs = [documents / "4.txt"]
        inputs[0].write_text("drill hammer " * 1_400_000)
    elif case == "headings in circles":
        rows = (
            f'{{"id": "c{n}", "text": "A tool.", "metadata": {{"document": "d", "section": "{a}",'
            f' "section_path": ["{b}", "{a}"]}}}}\n'
            for n, (a, b) in enumerate([("1 A", "1.1 B"), ("1.1 B", "1 A"), ("1 A", "1 A")])
        )
        inputs = [workspace / "circles.jsonl"]
        inputs[0].write_text("".join(rows))
    elif case == "one word":
        inputs = [workspace / "word.txt"]
        inputs[0].write_text("Drill")
    elif case == "a run there that is none":  # the output folder exists but contains no run
        (workspace / "runs" / "library").mkdir(parents=True)
        (workspace / "runs" / "library" / "thesis.doc").touch()
    elif case == "latest":
        flags = ["--out", "runs/latest"]
    elif case == "overlap":
        flags += ["--overlap", "1500"]
    result = run_epoche("kg", "build", *inputs, *flags)
    if code:
        check_error_line(result, code)
        assert not (workspace / "runs" / "latest").exists()
    else:
        assert result.code == 0, result.err
        read_every_part(open_run("runs"))


def test_documents_of_equal_names_are_told_apart(workspace: Path) -> None:
    for folder in ("spring", "autumn"):
        (workspace / folder).mkdir()
        (workspace / folder / "notes.md").write_text(LENDING, "utf-8")
    assert run_epoche("kg", "build", "spring", "autumn", "--out", "runs/library").code == 0
    names = {chunk.metadata["document"] for chunk in open_run("runs").chunks}
    assert names == {"spring/notes", "autumn/notes"}
    error_line = check_error_line(
        run_epoche("kg", "build", "spring", "spring/../spring/notes.md", "--out", "runs/library"),
        13,
    )
    assert error_line.count("spring/notes.md") == 2


def test_files_without_text_are_skipped_named_and_counted(workspace: Path) -> None:
    documents = workspace / "documents"
    (documents / "part").mkdir()
    (documents / "part" / "empty.rst").touch()
    (documents / "picture.png").write_bytes(b"\x89PNG")
    result = run_epoche("kg", "build", "documents", "--out", "runs/library")
    assert result.code == 0
    assert "part/empty.rst" in result.err
    assert "1 .png" in result.out
    counts = open_run("runs").metadata.counts
    assert (counts["documents_skipped"], counts["files_not_read"]) == (1, 1)


def test_run_folder_among_documents_is_skipped(workspace: Path) -> None:
    command = ("kg", "build", "documents", "--no-canonical", "--out", "documents/library")
    assert run_epoche(*command).code == 0
    old_bytes = read_run_bytes(workspace / "documents" / "library")
    (workspace / "documents" / "library" / layout.METADATA).rename(
        workspace / "documents" / "other.json"
    )
    check_error_line(run_epoche(*command), 15)  # a folder without metadata is not a run
    (workspace / "documents" / "other.json").rename(
        workspace / "documents" / "library" / layout.METADATA
    )
    assert run_epoche(*command).code == 0
    assert read_run_bytes(workspace / "documents" / "library") == old_bytes


@pytest.mark.parametrize(
    ("command", "flag"),
    [("analyze", "--out"), ("inspect", "--out"), ("plot", "--out")],
)
def test_no_command_overwrites_the_run_it_reads(workspace: Path, command: str, flag: str) -> None:
    assert run_epoche(*PLAIN_BUILD).code == 0
    old_bytes = read_run_bytes(workspace / "runs" / "library")
    question = ["tool"] if command == "analyze" else []
    result = run_epoche(
        "kg", command, *question, "--run", "runs", flag, "runs/latest/graph.json.gz"
    )
    assert "it is made from" in check_error_line(result, 15)
    assert read_run_bytes(workspace / "runs" / "library") == old_bytes


def test_question_of_undecodable_bytes_is_analysed(workspace: Path) -> None:
    assert run_epoche(*PLAIN_BUILD).code == 0
    result = run_epoche("kg", "analyze", "a tool \udcff\x1b[31m", "--run", "runs")
    assert result.code == 0, result.err
    assert json.loads(result.out)["question"] == "a tool \ufffd[31m"


@pytest.mark.parametrize("threshold", [0, 1, "nan"])
def test_thresholds_out_of_range_are_refused(workspace: Path, threshold: object) -> None:
    assert "--threshold" in check_usage_error(run_epoche(*BUILD, "--threshold", threshold))


def test_hostile_file_names_are_handled(workspace: Path) -> None:
    folder = workspace / "odd"
    folder.mkdir()
    hostile_names = [
        b"a\nb.md",
        b"\x1b[31mred.md",
        b"--out.md",
        b"$(touch owned).md",
        b"\xff\xfe.md",
        b"\xe2\x80\xaex.md",
        b"%2e%2e.md",
        b"con.md",
        b".hidden.md",
        b'o\'neil "x".md',
        "Größe.md".encode(),
    ]
    for number, name in enumerate(hostile_names):
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_text(
            f"# {number} Tools\n\nA drill and tool number {number} lie on the shelf.", "utf-8"
        )
    (folder / "loop").symlink_to(folder)
    result = run_epoche("kg", "build", folder, "--out", "runs/library")
    assert result.code == 0, result.err
    run = open_run("runs")
    assert len(run.metadata.documents) == len(hostile_names) - 1
    assert all(chunk.id.isprintable() for chunk in run.chunks)
    assert all(document.filename.isprintable() for document in run.metadata.documents)
    assert not (workspace / "owned").exists()
    assert "\x1b" not in result.out + result.err


def test_a_half_written_run_is_refused_by_every_command(workspace: Path) -> None:
    assert run_epoche(*BUILD).code == 0
    path = workspace / "runs" / "library" / layout.GRAPH
    path.write_bytes(path.read_bytes()[:100])
    for command in (
        ("kg", "inspect", "--run", "runs"),
        ("kg", "export", "--run", "runs", "--ttl", "out/graph.ttl"),
    ):
        assert "the run is incomplete" in check_error_line(run_epoche(*command), 31)
    assert not (workspace / "out").exists()
    assert run_epoche(*BUILD).code == 0
    read_every_part(open_run("runs"))


def test_inspection_prints_text_and_json(workspace: Path) -> None:
    assert run_epoche(*BUILD).code == 0
    text = run_epoche("kg", "inspect", "--run", "runs").out
    assert "3: 1-lending.md, 2-repair.md, 3-members.md" in text
    assert "SECTIONS (12)" in text
    report = json.loads(run_epoche("kg", "inspect", "--run", "runs", "--json").out)
    run = open_run("runs")
    assert report["sha256"] == run.sha256
    assert sum(band["concepts"] for band in report["degree_bands"]) == len(run.concepts)
    assert report["sections"][0] == {
        "document": "1-lending", "sections": 5, "depth": 3, "chunks": 5,
    }  # fmt: skip
    assert report["degree"]["most"] == max(d for _, d in run.concepts.graph.degree())
    check_error_line(run_epoche("kg", "inspect", "--run", "runs", "--domain", "rivers"), 19)
