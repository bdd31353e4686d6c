"""Tests of the documentation: each page leads with an example that works as it is printed.

The first code block of a page that can be run is run in a folder where ``make all`` and ``make
text`` have been called, and what it prints is compared with what the page says. Rules for pages:

* A ``console`` block has commands (``$ epoche …``; ``\\`` continues a line) and below each what it
  prints, or the beginning or parts of it; ``…`` stands for any text, also for several lines.
  Commands after which nothing is printed are run as well.
* A ``python`` block is run as a script; a ``text`` block right after it is what it prints.
* A block is a file if the paragraph before it ends with its name: ``my_system.py``:
  (in backticks, then a colon). Such files are written before the first block that can be run.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main
from _pytest.mark import ParameterSet
from servers.scripted_server import ScriptedServer
from stage_calls import MAYORS, PRODUCT, ROOT, run_epoche
from test_frozen_outputs import CHAPTERS
from typer.core import TyperGroup

from epoche.cli import app

PAGES = sorted((ROOT / "docs").rglob("*.md"))
# Their first examples measure dense retrieval.
PAGES_THAT_NEED_MINILM = {"reference/retrieval.md"}
TUTORIAL = ROOT / "docs" / "tutorial.md"
MAX_WORDS_BEFORE_EXAMPLE = 150
RESULTS = ("kg", "graph_rag", "rag", "controls")
CORPUS = PRODUCT / "retrieval" / "corpora" / "keeping_data"
_BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`(?P<name>[\w./-]+\.\w+)`:\s*\Z")
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n?", re.MULTILINE)

pytestmark = pytest.mark.checkout


class Block(NamedTuple):
    """A code block of a page.

    Attributes:
        kind: its language.
        file: name of the file that it is; empty for a block that is run.
        text: its content.
        words_before: number of words of prose before it.
    """

    kind: str
    file: str
    text: str
    words_before: int


def iter_page_parameters() -> Iterator[ParameterSet]:
    for page in PAGES:
        name = str(page.relative_to(ROOT / "docs"))
        marks = [pytest.mark.extra("minilm")] if name in PAGES_THAT_NEED_MINILM else []
        yield pytest.param(page, id=name, marks=marks)


@pytest.fixture
def model(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server behind every model of the provider ``ollama``; it answers each prompt alike."""
    monkeypatch.setenv("OLLAMA_HOST", scripted_server.base_url)
    monkeypatch.setenv("OLLAMA_API_KEY", scripted_server.api_key)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder after ``make all``, with a graph and documents of a user's own."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "my.ttl").write_bytes((MAYORS / "mayors.ttl").read_bytes())
    (folder / "my.shacl.ttl").write_bytes((MAYORS / "mayors.shacl.ttl").read_bytes())
    (folder / "cities.ttl").write_text(write_cities(), "utf-8")
    (folder / "my-documents").mkdir()
    for chapter in CHAPTERS:
        source = CORPUS / "book" / f"{chapter}.md"
        (folder / "my-documents" / source.name).write_bytes(source.read_bytes())
    (folder / "questions.jsonl").write_bytes((CORPUS / "questions.jsonl").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # What `make all` and `make kg-build` call.
        run(
            "cards --domain rivers --num-per-type 200 --num-faithfulness 50 --audit --seed 12345 "
            "--out results/context_cards.jsonl"
        )
        run(
            "near-miss --domain rivers --cards results/context_cards.jsonl --num 200 "
            "--audit --seed 12345 --out results/near_miss_cards.jsonl"
        )
        run(
            "join results/context_cards.jsonl results/near_miss_cards.jsonl "
            "--out results/cards.jsonl"
        )
        for system in RESULTS:
            run(
                f"eval --cards results/cards.jsonl --domain rivers --system {system} --seed 12345 "
                f"--out results/{system}_results.jsonl"
            )
        files = " ".join(f"results/{system}_results.jsonl" for system in RESULTS)
        run(
            f"metrics --cards results/cards.jsonl --results {files} --seed 12345 "
            "--out results/metrics.json"
        )
        run(f"kg build {CORPUS}/book --embedder lexical --out results/text/runs/book")
    return folder


def write_cities() -> str:
    """Writes the shipped cities with years, as if they had been founded then."""
    text = (MAYORS / "mayors.ttl").read_text("utf-8")
    cities = re.findall(r"^(:[a-z-]+) a cm:City", text, re.MULTILINE)
    years = [f'{city} cm:foundingYear "{n % 7 * 100 + 850}" .' for n, city in enumerate(cities)]
    return "\n".join([text, *years])


def run(line: str) -> str:
    """Runs an ``epoche`` command, which must succeed, and returns what it prints."""
    done = run_epoche(*shlex.split(line))
    assert done.code in {0, 100}, (line, done.err)
    return done.out + done.err


def iter_blocks(text: str) -> Iterator[Block]:
    prose, end = "", 0
    for match in _BLOCK.finditer(text):
        before = text[end : match.start()]
        prose += before
        end = match.end()
        file = _FILE.search(before)
        yield Block(match["kind"], file["name"] if file else "", match["text"], len(prose.split()))


def list_example(page: Path) -> list[Block]:
    """Returns the files up to the first block that is run, that block, and what it prints."""
    blocks: list[Block] = []
    found = iter(list(iter_blocks(page.read_text("utf-8"))))
    for block in found:
        blocks.append(block)
        if not block.file and block.kind in {"console", "python"}:
            after = next(found, None)
            if block.kind == "python" and after and after.kind == "text" and not after.file:
                blocks.append(after)
            return blocks
    return []


def check_output(printed: str, expected: str) -> None:
    """Checks that the lines that a page shows are printed, in this order."""
    pattern = ".*".join(re.escape(part.strip()) for part in expected.strip().split("…"))
    assert re.search(pattern, printed, re.DOTALL), (expected, printed)


def run_console(text: str) -> None:
    starts = list(_COMMAND.finditer(text))
    assert starts, "no line begins with `$ `"
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        line = match[1].replace("\\\n", " ")
        program, *arguments = shlex.split(re.sub(r"\s#\s.*", "", line))
        expected = text[match.end() : end]
        if program == "epoche":
            printed = run(shlex.join(arguments))
        elif program == "cat":
            printed = "".join(Path(name).read_text("utf-8") for name in arguments)
        else:
            assert program == "python", f"cannot run {program!r}"
            script = ROOT / arguments[0] if arguments[0].startswith("benchmarks/") else arguments[0]
            printed = run_python([str(script), *arguments[1:]])
        check_output(printed, expected)


def run_python(arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", list(iter_page_parameters()))
def test_a_page_leads_with_an_example_that_works(
    page: Path, results: Path, model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = list_example(page)
    assert example, "no example"
    assert example[0].words_before <= MAX_WORDS_BEFORE_EXAMPLE
    monkeypatch.chdir(results)
    monkeypatch.syspath_prepend(results)
    run_blocks(example)


@pytest.mark.slow
def test_the_whole_tutorial_works(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(results)
    monkeypatch.syspath_prepend(results)
    blocks = list(iter_blocks(TUTORIAL.read_text("utf-8")))
    assert len(blocks) > 8
    run_blocks(blocks)


def run_blocks(blocks: list[Block]) -> None:
    """Writes the files, runs the commands and scripts, and compares what they print."""
    for number, block in enumerate(blocks):
        if block.file:
            path = Path(block.file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        elif block.kind == "console":
            run_console(block.text)
        elif block.kind == "python":
            printed = run_python(["-c", block.text])
            if number + 1 < len(blocks) and blocks[number + 1].kind == "text":
                check_output(printed, blocks[number + 1].text)


def find_flags(words: list[str]) -> set[str]:
    """Returns the flags of the command that a command line calls, by its first words.

    Raises:
        KeyError: there is no such command.
    """
    command = typer.main.get_command(app)
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        command, words = command.commands[words[0]], words[1:]
    flags = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    return flags | {"--help", "--debug"}


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *PAGES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_commands_of_a_page_exist(page: Path) -> None:
    """Examples that are not run have at least commands and flags that exist."""
    for block in iter_blocks(page.read_text("utf-8")):
        if block.kind not in {"console", "sh"}:
            continue
        for line in re.sub(r"\\\n", " ", block.text).splitlines():
            called = re.match(r"(?:\$ )?(?:\.venv/bin/)?epoche (.*)", line)
            if called:
                words = shlex.split(re.sub(r"\s#\s.*", "", called[1]))
                words = list(takewhile(lambda word: word != "--", words))  # then another command
                used = {word.split("=")[0] for word in words if word.startswith("--")}
                assert used <= find_flags(words), line


def list_anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, by GitHub's rule."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_to_headings_resolve() -> None:
    broken = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]:
        for target in re.findall(r"\]\(([^)\s]*#[^)\s]+)\)", page.read_text("utf-8")):
            path, _, anchor = target.partition("#")
            other = (page.parent / path).resolve() if path else page
            if "://" not in target and anchor not in list_anchors(other):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
        broken += [
            f"{page.name}: {link}"
            for link in re.findall(r"\[[^\]]*\]\(\)", page.read_text("utf-8"))
        ]
    assert not broken
