"""Tests recordings: made with a real server and a tiny random model, replayed without either."""

from __future__ import annotations

import lzma
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from servers.llama_server import write_model
from stage_calls import check_error_line, command_line, run_epoche

from cards.card import read_cards
from eval.model.providers import RECORDED
from eval.model.recorded_replies import (
    RECORDINGS_VARIABLE,
    SHIPPED,
    ReplayedCache,
    find_recordings,
    load_recording,
    start_recording,
)
from eval.model.recording_plan import fill_command, find_commands, list_commands, read_plan
from kg.base.errors import RecordError

CARDS = "cards --domain rivers --num-per-type 1 --num-faithfulness 0 --out {out}/cards.jsonl"
# Calls that run beside each other share batches, in which a model may answer otherwise.
ASK = (
    "eval --cards {out}/cards.jsonl --system raw --closed-book --set max_tokens=9 --no-cache "
    "--concurrency 1 --out {out}/r.jsonl"
)
SAMPLE = (
    "eval --cards {out}/cards.jsonl --system consistency --closed-book --set samples=2 "
    "--set model_seed=1 --set max_tokens=9 --out {out}/c.jsonl"
)
MODEL = "tiny"


def record(gguf: Path, plan: Path, out: Path) -> tuple[int, str]:
    done = subprocess.run(
        command_line("record", gguf, plan, "--out", out, "--threads", 1, "--context", 8192),
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def write_plan(folder: Path, *commands: str) -> Path:
    plan = folder / "cards.txt"
    plan.write_text("# Cards and what is asked\n\n" + "\n".join(commands) + "\n")
    return plan


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / f"{MODEL}.gguf"
    write_model(path)
    return path


@pytest.fixture(scope="module")
def recorded(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a recording, beside what its commands wrote, in ``first``."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "first").mkdir()
    commands = [line.replace("{out}", str(folder / "first")) for line in (CARDS, ASK, SAMPLE)]
    code, output = record(gguf, write_plan(folder, *commands), folder / "recordings")
    assert code == 0, output
    return folder


@pytest.fixture
def replay(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RECORDINGS_VARIABLE, str(recorded / "recordings"))
    monkeypatch.setenv("EPOCHE_MODEL", f"{RECORDED}/{MODEL}")


@pytest.mark.usefixtures("replay")
def test_replies_are_replayed_byte_for_byte(recorded: Path, tmp_path: Path) -> None:
    (path,) = find_recordings(recorded / "recordings")
    assert path.name == "tiny.cards.jsonl.xz"
    recording = load_recording(path)
    recording.hits.clear()
    for command in (CARDS, ASK, SAMPLE):
        done = run_epoche(*fill_command(command, f"{RECORDED}/{MODEL}", tmp_path))
        assert done.code == 0, done.err
    for name in ("cards.jsonl", "r.jsonl", "c.jsonl"):
        assert (tmp_path / name).read_bytes() == (recorded / "first" / name).read_bytes()
    assert recording.hits == set(recording.replies)
    assert len(recording.replies) == recording.header.n_replies >= 9
    # The name of the system, and so every table, says that its replies are recorded.
    assert b'"system":"raw_closed_book:recorded/tiny"' in (tmp_path / "r.jsonl").read_bytes()


@pytest.mark.usefixtures("replay")
def test_what_was_not_recorded_is_an_error(recorded: Path, tmp_path: Path) -> None:
    cards = recorded / "first" / "cards.jsonl"
    done = run_epoche("eval", "--cards", cards, "--system", "raw", "--out", tmp_path / "r.jsonl")
    line = check_error_line(done, 23)  # another max_tokens
    assert "was not recorded" in line
    (recording,) = map(load_recording, find_recordings(recorded / "recordings"))
    # What is recorded, and how it is asked.
    assert f"cards ({recording.header.n_replies} replies)" in line
    assert f"epoche test-connection --model {RECORDED}/{MODEL}" in line
    done = run_epoche(
        *("eval", "--cards", cards, "--system", "raw", "--model", "recorded/other"),
        *("--out", tmp_path / "r.jsonl"),
    )
    assert "Recorded models: tiny" in check_error_line(done, 23)


@pytest.mark.usefixtures("replay")
def test_the_test_of_a_connection_prints_the_commands_of_a_recording(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EPOCHE_MODEL")
    done = run_epoche("test-connection", "--model", f"{RECORDED}/{MODEL}")
    assert done.code == 0
    first, *script = done.out.splitlines()
    assert "is a recording: it needs no connection" in first
    # What it prints is a script that asks again what was recorded.
    assert script[0] == f"export EPOCHE_MODEL={RECORDED}/{MODEL}"
    monkeypatch.setenv("EPOCHE_MODEL", f"{RECORDED}/{MODEL}")
    commands = [shlex.split(line) for line in script[1:] if not line.startswith("#")]
    assert [command[:2] for command in commands] == [
        ["epoche", "cards"],
        ["epoche", "eval"],
        ["epoche", "eval"],
    ]
    for _, *arguments in commands:
        done = run_epoche(*(a.replace(str(recorded / "first"), str(tmp_path)) for a in arguments))
        assert done.code == 0, done.err
    assert (tmp_path / "r.jsonl").read_bytes() == (recorded / "first" / "r.jsonl").read_bytes()
    assert "Recorded models: tiny" in check_error_line(
        run_epoche("test-connection", "--model", f"{RECORDED}/other"), 23
    )


def test_the_commands_of_shipped_recordings_are_complete() -> None:
    for path in find_recordings(SHIPPED):
        recording = load_recording(path)
        comment, *commands = list_commands(recording, "out")
        assert comment == f"# {recording.describe()}"
        assert not any("{" in command for command in commands)


def test_plans_ask_what_was_recorded_then_of_cards_that_stay_the_same() -> None:
    """Drawing the cards again, as was done for the recordings, gives others in another version."""
    for path in find_recordings(SHIPPED):
        recording = load_recording(path)
        words = [fill_command(command, "", Path()) for command in recording.header.plan]
        now = [fill_command(command, "", Path()) for command in find_commands(recording)]
        if recording.plan_name in {"cards", "degradation"}:
            assert [command.pop(0) for command in (words.pop(0), words.pop(0))] == ["cards", "join"]
            assert now.pop(0)[:3] == ["join", "--shipped", "rivers-1"]
        assert now == words


def test_the_readme_says_where_replies_come_from(recorded: Path, gguf: Path) -> None:
    from kg.base.files import sha256_file

    text = (recorded / "recordings" / "README.md").read_text()
    assert sha256_file(gguf) in text
    assert "xllamacpp 20" in text
    assert '"temperature":0.7' in text
    assert '"max_tokens":9' in text
    assert "epoche cards --domain rivers" in text
    assert not list((recorded / "recordings").glob("*.sqlite*"))


@pytest.mark.slow
def test_a_recording_resumes_and_is_made_again_with_the_same_bytes(
    recorded: Path, gguf: Path, tmp_path: Path
) -> None:
    ask = ASK.replace("{out}/cards.jsonl", str(recorded / "first" / "cards.jsonl"))
    missing = "eval --cards {out}/no-such-file --system raw --out {out}/none.jsonl"
    plan = write_plan(tmp_path, ask, missing)
    code, output = record(gguf, plan, tmp_path / "recordings")
    assert code != 0
    assert "the same command resumes" in output
    assert f"`epoche {missing}` ended with exit code 3" in output
    assert not find_recordings(tmp_path / "recordings")
    plan = write_plan(tmp_path, ask)
    code, output = record(gguf, plan, tmp_path / "recordings")
    assert code == 0, output
    (path,) = find_recordings(tmp_path / "recordings")
    n_replies = load_recording(path).header.n_replies
    assert f"{n_replies} from the cache" in output
    # From an earlier recording that holds more, nothing is asked anew, and the rest goes.
    (earlier,) = find_recordings(recorded / "recordings")
    again = tmp_path / "again"
    again.mkdir()
    shutil.copy(earlier, again)
    code, output = record(gguf, plan, again)
    assert code == 0, output
    assert f"{n_replies} from the cache" in output
    replies = load_recording(again / path.name).replies
    assert n_replies == len(replies) < len(load_recording(earlier).replies)
    assert replies.items() <= load_recording(earlier).replies.items()
    assert load_recording(path).replies.keys() == replies.keys()
    # Another plan of the same folder asks the same: it has the replies, too, and both are hit.
    plan.rename(plan.with_name("more.txt"))
    code, output = record(gguf, plan.with_name("more.txt"), again)
    assert code == 0, output
    assert f"{n_replies} from the cache" in output
    both = [load_recording(file) for file in find_recordings(again)]
    assert [file.path.name for file in both] == ["tiny.cards.jsonl.xz", "tiny.more.jsonl.xz"]
    assert both[0].replies == both[1].replies == replies
    cache = ReplayedCache(MODEL, again)
    for key in replies:
        cache.get(key)
    assert [recording.hits for recording in both] == [set(replies)] * 2


def test_a_damaged_recording_is_an_error(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = find_recordings(recorded / "recordings")
    lines = lzma.decompress(path.read_bytes()).splitlines(keepends=True)
    monkeypatch.setenv(RECORDINGS_VARIABLE, str(tmp_path))
    for damage in (
        path.read_bytes()[:-40],
        b"not compressed",
        lzma.compress(b"".join(lines[:-1])),
        lzma.compress(b"".join(lines).replace(b'"key_version":1', b'"key_version":0')),
        lzma.compress(b""),
    ):
        (tmp_path / path.name).write_bytes(damage)
        load_recording.cache_clear()
        done = run_epoche(
            *("eval", "--cards", recorded / "first" / "cards.jsonl", "--system", "raw"),
            *("--model", f"{RECORDED}/{MODEL}", "--out", tmp_path / "r.jsonl"),
        )
        assert "recording" in check_error_line(done, 12)
    load_recording.cache_clear()


def test_what_cannot_be_replayed_is_not_packed(gguf: Path, recorded: Path, tmp_path: Path) -> None:
    """A failed call would be an error row, and an error again whenever it is replayed."""
    cards = recorded / "first" / "cards.jsonl"
    ask = f"eval --cards {cards} --system raw --set max_tokens=9 --no-cache --out {{out}}/r.jsonl"
    plan = write_plan(tmp_path, ask)
    done = subprocess.run(
        command_line(
            "record", gguf, plan, "--out", tmp_path / "r", "--threads", 1, "--context", 256
        ),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 23, done.stderr  # the prompts are longer than the context
    assert "cannot be recorded" in done.stderr
    assert not find_recordings(tmp_path / "r")


def test_replies_of_other_weights_are_not_mixed(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = find_recordings(recorded / "recordings")
    shutil.copy(path, tmp_path)
    other = lzma.decompress(path.read_bytes())
    digest = load_recording(path).header.weights_sha256.encode()
    (tmp_path / "tiny.more.jsonl.xz").write_bytes(lzma.compress(other.replace(digest, b"0" * 64)))
    monkeypatch.setenv(RECORDINGS_VARIABLE, str(tmp_path))
    done = run_epoche(
        *("eval", "--cards", recorded / "first" / "cards.jsonl", "--system", "raw"),
        *("--model", f"{RECORDED}/{MODEL}", "--out", tmp_path / "r.jsonl"),
    )
    assert "different weights" in check_error_line(done, 12)


def test_replies_of_an_interrupted_recording_are_those_of_the_same_source(
    recorded: Path, tmp_path: Path
) -> None:
    (path,) = find_recordings(recorded / "recordings")
    cache_file = tmp_path / "tiny.cards.sqlite"

    def count_replies(table: str = "replies") -> int:
        database = sqlite3.connect(cache_file)
        (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
        database.close()
        return int(count)

    start_recording(cache_file, [load_recording(path)] * 2, "weights server 1")
    n_replies = load_recording(path).header.n_replies
    assert count_replies() == n_replies
    assert not count_replies("used"), "none of them was asked for yet"
    start_recording(cache_file, [], "weights server 1")
    assert count_replies() == n_replies
    start_recording(cache_file, [], "weights server 2")
    assert count_replies() == 0


def test_a_readme_of_the_user_is_kept(gguf: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Mine\n")
    done = run_epoche("record", gguf, write_plan(tmp_path, CARDS), "--out", tmp_path)
    assert "epoche record did not write" in check_error_line(done, 15)
    assert (tmp_path / "README.md").read_text() == "# Mine\n"


@pytest.fixture
def record_command(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """Returns a function that records a command, to be replayed, and returns what it printed."""

    def run_plan(command: str) -> str:
        code, output = record(gguf, write_plan(tmp_path, command), tmp_path / "recordings")
        assert code == 0, output
        monkeypatch.setenv(RECORDINGS_VARIABLE, str(tmp_path / "recordings"))
        return output

    return run_plan


def test_a_guarded_reply_is_recorded_and_replayed_word_by_word(
    record_command: Callable[[str], str], tmp_path: Path
) -> None:
    command = "guard --domain rivers --json --ask 'Where does the Rhine end?'"
    output = record_command(command)
    assert "1 reply →" in output
    done = run_epoche(*fill_command(command, "", tmp_path), "--model", f"{RECORDED}/{MODEL}")
    assert done.code == 0, done.err
    assert done.out in output
    events = [msgspec.json.decode(line) for line in done.out.splitlines()]
    (path,) = find_recordings(tmp_path / "recordings")
    (reply,) = load_recording(path).replies.values()
    assert "".join(event["source"] for event in events) == msgspec.json.decode(reply)["text"]


def test_replies_that_a_command_finds_fault_with_are_recorded(
    record_command: Callable[[str], str], tmp_path: Path
) -> None:
    """A reply that is cut off is so again whenever the recording is resumed."""
    command = "guard --domain rivers --max-tokens 2 --ask 'Describe the Rhine.'"
    output = record_command(command)
    assert "cut off after 2 tokens" in output
    (path,) = find_recordings(tmp_path / "recordings")
    assert load_recording(path).header.plan == (f"{command}  # exit code 24",)
    assert f"epoche {command}  # exit code 24" in (tmp_path / "recordings/README.md").read_text()
    (replayed,) = load_recording(path).header.plan
    words = fill_command(replayed, "", tmp_path)
    done = run_epoche(*words, "--model", f"{RECORDED}/{MODEL}")
    assert "cut off after 2 tokens" in check_error_line(done, 24)


def test_a_plan_that_asks_no_model_is_an_error(gguf: Path, tmp_path: Path) -> None:
    code, output = record(gguf, write_plan(tmp_path, CARDS), tmp_path / "recordings")
    assert code == 12
    assert "no reply was recorded" in output
    assert not find_recordings(tmp_path / "recordings")


def test_a_plan_has_commands(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, CARDS)
    assert read_plan(plan) == [CARDS]
    done = run_epoche("record", "smollm2", tmp_path / "none.txt", "--out", tmp_path)
    assert done.code != 0
    unclosed = write_plan(tmp_path, CARDS, "eval --out '{out}/a b")
    with pytest.raises(RecordError, match="No closing quotation") as error:
        read_plan(unclosed)
    assert str(error.value.where).endswith(":4")
    commented = write_plan(tmp_path, f"{CARDS}  # it's the baseline", "  # nothing'")
    (command,) = read_plan(commented)
    assert fill_command(command, "m", tmp_path) == fill_command(CARDS, "m", tmp_path)
    for command in ("guard --ask '#1 river?'", "eval --out a#b", 'guard --ask "a \\" # b"'):
        assert fill_command(command, "m", tmp_path) == shlex.split(command), "no comment"
    words = fill_command("eval --model {model} --out '{out}/a b'", "recorded/m", tmp_path)
    assert words == ["eval", "--model", "recorded/m", "--out", f"{tmp_path}/a b"]


@pytest.mark.parametrize("path", find_recordings(SHIPPED), ids=lambda path: path.name)
def test_every_shipped_recording_is_hit(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed prompt, card or setting must not leave a recording stale."""
    monkeypatch.delenv(RECORDINGS_VARIABLE, raising=False)
    recording = load_recording(path)
    model = f"{RECORDED}/{recording.header.model}"
    monkeypatch.setenv("EPOCHE_MODEL", model)
    recording.hits.clear()
    for command in find_commands(recording):
        done = run_epoche(*fill_command(command, model, tmp_path))
        assert done.code == 0, f"{command}: {done.err}"
    assert recording.hits == set(recording.replies)
    if recording.plan_name == "cards":
        # Every card has a reply to each of the four systems.
        cards = {card.id for card in read_cards(tmp_path / "cards.jsonl")}
        assert len(recording.replies) == 4 * len(cards)
        for name in ("raw", "raw_closed_book", "rag_llm", "graph_rag_llm"):
            rows = (tmp_path / f"{name}.jsonl").read_bytes().splitlines()
            assert {msgspec.json.decode(row)["id"] for row in rows} == cards
