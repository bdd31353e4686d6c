"""``epoche kg build``: as users run it, killed at any moment, and over bad input."""

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
    call,
    command,
    epoche,
    error_line,
    held_at_fsync,
    starved,
    usage_error,
    wait_for,
)

from kg.text.run import form
from kg.text.run.folder import Run, open_run

BUILD = ("kg", "build", "documents", "--out", "runs/library")
OLD = (*BUILD, "--no-canonical", "--chunk-size", "400", "--overlap", "50")
PLAIN = (*BUILD, "--no-canonical")
"""Spares a new process the second that it takes to load what embeds."""
KILLS = 12


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_documents(tmp_path / "documents")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def everything(run: Run) -> None:
    _ = run.chunks, run.keywords, run.table, run.concepts, run.sections, run.canonical_embeddings


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_is_built_and_told_of(shop: Path) -> None:
    done = epoche(*BUILD)
    assert done.code == 0, done.err
    run = open_run("runs")
    assert "3 documents, 12 chunks" in done.out
    assert f"[run:{run.sha256[:12]}]" in done.out
    assert names(shop / "runs") == ["keyword_cache.jsonl", "latest", "library"]
    assert run.concepts.match("Who is a VOLUNTEER in the workshop?") == ["volunteer", "workshop"]


def test_flags_say_what_is_built(shop: Path) -> None:
    flags = ("--top-n", 4, "--no-sections", "--min-cooccurrence", 2, "--drop-isolates")
    assert epoche(*BUILD, *flags, "--no-resume", "--threshold", 0.9).code == 0
    run = open_run("runs")
    assert max(len(row.keywords) for row in run.keywords) <= 4
    assert run.sections is None
    assert all(weight >= 2 for _, _, weight in run.concepts.graph.edges(data="weight"))
    assert all(degree for _, degree in run.concepts.graph.degree())
    assert run.config.canonical is not None
    assert run.config.canonical.threshold == 0.9
    assert names(shop / "runs") == ["latest", "library"]


def test_ready_chunks_are_taken_as_they_are(shop: Path) -> None:
    assert epoche(*BUILD).code == 0
    chunks = shop / "runs" / "library" / form.CHUNKS
    assert epoche("kg", "build", chunks, "--out", "again/library").code == 0
    again, first = open_run("again"), open_run("runs")
    assert again.chunks == first.chunks
    assert again.concepts.nodes == first.concepts.nodes


def test_bytes_depend_on_nothing_but_documents_and_flags(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "another" / "folder"
    write_documents(other / "documents")
    found = []
    for folder, seed in ((shop, "0"), (other, "4242")):
        done = call(command(*BUILD), folder, PYTHONHASHSEED=seed)
        assert done.code == 0, done.err
        found.append((done.out, bytes_of(folder / "runs" / "library")))
    assert found[0] == found[1]
    assert epoche(*BUILD).code == 0  # over itself, with all keywords from the cache
    assert bytes_of(shop / "runs" / "library") == found[0][1]


def test_killed_at_any_moment_nothing_is_lost_and_the_next_build_is_the_same(shop: Path) -> None:
    reference = shop / "reference"
    write_documents(reference / "documents")
    wanted_old, wanted_new = (bytes_of(_built_in(reference, line)) for line in (OLD, BUILD))
    assert wanted_old != wanted_new
    dice = random.Random(20)
    seen: set[str] = set()
    with Forker(shop) as forker:
        forker.warm_up(*BUILD)
        whole = _seconds(forker)
        assert forker.run(*OLD) == 0
        for _ in range(KILLS):
            build = forker.start(*BUILD, *(() if dice.random() < 0.5 else ("--no-resume",)))
            time.sleep(dice.random() * 1.2 * whole)
            os.kill(build.pid, signal.SIGKILL)
            seen.add("done" if build.wait() == 0 else "killed")
            held = bytes_of(shop / "runs" / "library")
            assert held in (wanted_old, wanted_new)
            everything(open_run("runs"))
            if held == wanted_new:
                assert forker.run(*OLD) == 0
        assert forker.run(*BUILD) == 0
    assert "killed" in seen
    assert bytes_of(shop / "runs" / "library") == wanted_new
    assert names(shop / "runs") == ["keyword_cache.jsonl", "latest", "library"]


def _built_in(folder: Path, line: tuple[str, ...]) -> Path:
    parts = [str(folder / part) if "/" in part or part == "documents" else part for part in line]
    assert epoche(*parts).code == 0
    return folder / "runs" / "library"


def _seconds(forker: Forker) -> float:
    start = time.monotonic()
    assert forker.run(*BUILD, "--no-resume") == 0
    return time.monotonic() - start


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_stopped_while_it_writes_the_old_run_stays(shop: Path, sign: signal.Signals) -> None:
    assert epoche(*OLD).code == 0
    before, ready = bytes_of(shop / "runs" / "library"), shop / "ready"
    process = subprocess.Popen(held_at_fsync(ready, *PLAIN), cwd=shop, stderr=subprocess.DEVNULL)
    wait_for(ready.exists, process)
    process.send_signal(sign)
    code = process.wait(30)
    assert code == (130 if sign is signal.SIGINT else -9)
    assert bytes_of(shop / "runs" / "library") == before
    everything(open_run("runs"))
    left = [name for name in names(shop / "runs") if name.startswith(".")]
    assert left == ([".library.building"] if sign is signal.SIGKILL else [])
    assert epoche(*PLAIN).code == 0
    assert not [name for name in names(shop / "runs") if name.startswith(".")]


def test_a_full_disk_leaves_the_old_run(shop: Path) -> None:
    assert epoche(*OLD).code == 0
    before = bytes_of(shop / "runs" / "library")
    line = error_line(call(starved(command(*PLAIN, "--no-resume"), 6_000), shop), 15)
    assert "cannot write" in line
    assert bytes_of(shop / "runs" / "library") == before
    assert names(shop / "runs") == ["keyword_cache.jsonl", "latest", "library"]


def test_keywords_found_before_are_not_found_again(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kg.text.keywords.statistical import Yake

    asked: list[str] = []
    extract = Yake.extract

    def counted(self: Yake, chunks: list, on_done: object) -> object:  # type: ignore[type-arg]
        asked.extend(chunk.id for chunk in chunks)
        return extract(self, chunks, on_done)  # type: ignore[arg-type]

    monkeypatch.setattr(Yake, "extract", counted)
    assert epoche(*BUILD).code == 0
    assert len(asked) == 12
    (shop / "documents" / "3-members.md").write_text("# 3 Members\n\nA member pays.", "utf-8")
    assert epoche(*BUILD).code == 0
    assert asked[12:] == ["3-members#3"]


# -- bad input


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("missing", 3),
        ("empty folder", 30),
        ("empty document", 30),
        ("one space", 30),
        ("pictures", 30),
        ("same slug", 13),
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
def test_bad_input_ends_in_one_line_or_in_a_run(shop: Path, what: str, code: int) -> None:
    documents, flags = shop / "documents", ["--out", "runs/library"]
    named = [documents]
    if what == "missing":
        named = [shop / "gone.md"]
    elif what == "empty folder":
        named = [shop / "void"]
        (shop / "void").mkdir()
    elif what == "empty document":
        (documents / "4.md").touch()
    elif what == "one space":
        (documents / "4.txt").write_text(" \n\t\n")
    elif what == "pictures":
        named = [documents / "picture.png"]
        named[0].write_bytes(b"\x89PNG")
    elif what == "same slug":
        (documents / "1 LENDING.md").write_text(LENDING, "utf-8")
    elif what in ("same chunk", "chunk of nothing"):
        text = "" if what == "chunk of nothing" else "A tool."
        (documents / "more.jsonl").write_text(f'{{"id": "1-lending#1.1", "text": "{text}"}}\n')
    elif what == "10 MB line":
        named = [shop / "line.jsonl"]
        named[0].write_text(f'{{"id": "a", "text": "{"drill hammer " * 800_000}"}}')
    elif what == "17 MB document":
        (documents / "4.txt").write_text("drill hammer " * 1_400_000)
    elif what == "headings in circles":
        rows = (
            f'{{"id": "c{n}", "text": "A tool.", "metadata": {{"document": "d", "section": "{a}",'
            f' "section_path": ["{b}", "{a}"]}}}}\n'
            for n, (a, b) in enumerate([("1 A", "1.1 B"), ("1.1 B", "1 A"), ("1 A", "1 A")])
        )
        named = [shop / "circles.jsonl"]
        named[0].write_text("".join(rows))
    elif what == "one word":
        named = [shop / "word.txt"]
        named[0].write_text("Drill")
    elif what == "a run there that is none":
        (shop / "runs" / "library").mkdir(parents=True)
        (shop / "runs" / "library" / "thesis.doc").touch()
    elif what == "latest":
        flags = ["--out", "runs/latest"]
    elif what == "overlap":
        flags += ["--overlap", "1500"]
    done = epoche("kg", "build", *named, *flags)
    if code:
        error_line(done, code)
        assert not (shop / "runs" / "latest").exists()
    else:
        assert done.code == 0, done.err
        everything(open_run("runs"))


def test_documents_of_one_name_in_two_folders_are_both_named(shop: Path) -> None:
    for folder in ("spring", "autumn"):
        (shop / folder).mkdir()
        (shop / folder / "notes.md").write_text(LENDING, "utf-8")
    said = error_line(epoche("kg", "build", "spring", "autumn", "--out", "runs/library"), 13)
    assert "spring/notes.md" in said
    assert "autumn/notes.md" in said


def test_a_run_among_its_documents_is_no_document(shop: Path) -> None:
    among = ("kg", "build", "documents", "--no-canonical", "--out", "documents/library")
    assert epoche(*among).code == 0
    before = bytes_of(shop / "documents" / "library")
    (shop / "documents" / "library" / form.METADATA).rename(shop / "documents" / "other.json")
    error_line(epoche(*among), 15)  # half of a run is not taken for one
    (shop / "documents" / "other.json").rename(shop / "documents" / "library" / form.METADATA)
    assert epoche(*among).code == 0
    assert bytes_of(shop / "documents" / "library") == before


@pytest.mark.parametrize(
    ("command", "flag"),
    [("analyze", "--out"), ("inspect", "--out"), ("plot", "--out")],
)
def test_no_command_writes_over_the_run_it_reads(shop: Path, command: str, flag: str) -> None:
    assert epoche(*PLAIN).code == 0
    before = bytes_of(shop / "runs" / "library")
    asked = ["tool"] if command == "analyze" else []
    done = epoche("kg", command, *asked, "--run", "runs", flag, "runs/latest/graph.json")
    assert "it is made from" in error_line(done, 15)
    assert bytes_of(shop / "runs" / "library") == before


def test_a_question_of_bytes_that_are_no_text_is_analyzed(shop: Path) -> None:
    assert epoche(*PLAIN).code == 0
    done = epoche("kg", "analyze", "a tool \udcff\x1b[31m", "--run", "runs")
    assert done.code == 0, done.err
    assert json.loads(done.out)["question"] == "a tool \ufffd[31m"


@pytest.mark.parametrize("threshold", [0, 1, "nan"])
def test_thresholds_that_group_everything_or_nothing_are_no_thresholds(
    shop: Path, threshold: object
) -> None:
    assert "--threshold" in usage_error(epoche(*BUILD, "--threshold", threshold))


def test_hostile_names_of_files(shop: Path) -> None:
    folder = shop / "odd"
    folder.mkdir()
    odd = [
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
    for number, name in enumerate(odd):
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_text(
            f"# {number} Tools\n\nA drill and tool number {number} lie on the shelf.", "utf-8"
        )
    (folder / "loop").symlink_to(folder)
    done = epoche("kg", "build", folder, "--out", "runs/library")
    assert done.code == 0, done.err
    run = open_run("runs")
    assert len(run.metadata.documents) == len(odd) - 1
    assert all(chunk.id.isprintable() for chunk in run.chunks)
    assert all(document.filename.isprintable() for document in run.metadata.documents)
    assert not (shop / "owned").exists()
    assert "\x1b" not in done.out + done.err


def test_a_half_written_run_is_refused_by_every_command(shop: Path) -> None:
    assert epoche(*BUILD).code == 0
    path = shop / "runs" / "library" / form.GRAPH
    path.write_bytes(path.read_bytes()[:100])
    for line in (
        ("kg", "inspect", "--run", "runs"),
        ("kg", "export", "--run", "runs", "--ttl", "out/graph.ttl"),
    ):
        assert "half written" in error_line(epoche(*line), 31)
    assert not (shop / "out").exists()
    assert epoche(*BUILD).code == 0
    everything(open_run("runs"))


def test_inspection_as_text_and_as_json(shop: Path) -> None:
    assert epoche(*BUILD).code == 0
    text = epoche("kg", "inspect", "--run", "runs").out
    assert "3: 1-lending.md, 2-repair.md, 3-members.md" in text
    assert "SECTIONS (12)" in text
    report = json.loads(epoche("kg", "inspect", "--run", "runs", "--json").out)
    run = open_run("runs")
    assert report["sha256"] == run.sha256
    assert sum(band["concepts"] for band in report["degree_bands"]) == len(run.concepts)
    assert report["sections"][0] == {
        "document": "1-lending", "sections": 5, "depth": 3, "chunks": 5,
    }  # fmt: skip
    assert report["degree"]["most"] == max(d for _, d in run.concepts.graph.degree())
    error_line(epoche("kg", "inspect", "--run", "runs", "--domain", "rivers"), 19)
