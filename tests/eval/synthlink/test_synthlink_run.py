"""A whole run without a model: its files, its refusals, and that nothing of a question leaks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from stage_calls import call, command, epoche, error_line, snapshot
from synthlink_run_parts import (
    MARKS,
    asking,
    ended,
    files_of,
    manifest_of,
    page,
    predictions_of,
    question,
    question_id,
    rows_of,
    shop_of,
)

from eval.synthlink.outputs import OUTPUTS
from eval.synthlink.predictions import read_predictions

COUNT = 12
QUICK = ("--resamples", 100)
QUIET = ("--no-score",)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop with a finished and scored run in ``out``."""
    shop = shop_of(tmp_path_factory.mktemp("ran"), COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(shop)
        patch.syspath_prepend(shop)
        done = epoche(*asking(shop, *QUICK))
    assert done.code == 0, done.err
    return shop


@pytest.fixture
def shop(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, to do with as a test likes."""
    shutil.copytree(ran, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_every_question_has_a_row_in_the_order_of_the_catalogue(ran: Path) -> None:
    rows = rows_of(ran / "out")
    assert [row["id"] for row in rows] == [question_id(number) for number in range(COUNT)]
    assert [row["outcome"] for row in rows] == [
        "ABSTAINED" if number % 5 == 4 else "ANSWERED" for number in range(COUNT)
    ]
    assert {row["system"] for row in rows} == {"first"}
    one = rows[0]["trail"]["rounds"][0]
    assert one["query"] == question(0)["question"]
    assert one["found"][0] == {"url": page(0), "title": "Alcor0 observatory"}


def test_predictions_are_the_specification_s(ran: Path) -> None:
    made = predictions_of(ran / "out")
    keys = ["question_id", "predicted_answer", "retrieved_docs", "iterations", "sources_verified"]
    assert all(list(one) == keys for one in made)
    assert [one["question_id"] for one in made] == [question_id(number) for number in range(COUNT)]
    assert [one["predicted_answer"] == "" for one in made] == [
        number % 5 == 4 for number in range(COUNT)
    ]
    told = "Observatory Alcor0 was founded by Mira Voss0."
    assert made[0]["predicted_answer"] == told
    assert made[0]["retrieved_docs"][0] == page(0)
    assert made[0]["iterations"][0]["answers"] == [told]
    assert made[0]["iterations"][0]["docs"] == made[0]["retrieved_docs"]
    assert made[0]["sources_verified"] == [told]
    read = read_predictions(ran / "out" / "predictions.json", {one["question_id"] for one in made})
    assert not read.refused


def test_it_is_scored_and_has_its_page(ran: Path) -> None:
    out = ran / "out"
    assert {path.name for path in out.iterdir()} >= {
        *("rows.jsonl", "run_manifest.json", "predictions.json", "manifest.json", "report.html"),
        *("synthlink_scores.csv", "synthlink_category_scores.csv", "synthlink_overall_score.txt"),
    }
    scores = json.loads((out / "synthlink_scores.json").read_bytes())["report"]
    assert scores["n_questions"] == COUNT
    assert scores["n_abstained"] == sum(number % 5 == 4 for number in range(COUNT))


def test_the_manifest_names_everything_and_no_place_of_this_machine(ran: Path) -> None:
    manifest = manifest_of(ran / "out")
    assert (manifest["kind"], manifest["status"]) == ("synthlink-run", "complete")
    assert (manifest["system"], manifest["name"]) == ("own_agents:First", "first")
    assert manifest["params"] == {"version": 1}
    assert manifest["dataset"] == "../catalog.jsonl"
    assert (manifest["offline"], manifest["model"], manifest["calls"]) == (True, None, None)
    assert manifest["library"]["retriever"]["name"] == "bm25"
    assert manifest["counts"] == {"ANSWERED": 10, "ABSTAINED": 2, "INVALID": 0, "ERROR": 0}
    for path in (ran / "out").iterdir():
        assert str(ran).encode() not in path.read_bytes(), path.name


SPY = '''
import gc, inspect, json
from pathlib import Path
from eval.synthlink.agents.trail import Trail

class Spy:
    """Writes down all that it is handed, and all that leads from there."""
    name = "spy"
    def __init__(self, options):
        self.seen = [repr(options)]
        self.library = options.library
    def params(self):
        return {}
    async def answer(self, *handed, **named):
        assert not named
        self.seen += [repr(handed)]
        held = [one for one in gc.get_referrers(handed[0]) if one is not handed]
        self.seen += [repr(one) for one in held if not inspect.isframe(one)]
        hits = await self.library.search(handed[0], 50)
        self.seen += [repr(hits), repr(self.library.params())]
        Path("seen.json").write_text(json.dumps(self.seen))
        return Trail(answer="I saw it.")
'''


def test_an_agent_is_handed_nothing_of_a_question_but_its_text(shop: Path) -> None:
    (shop / "spy.py").write_text(SPY)
    done = epoche(*asking(shop, *QUIET, "--limit", 3, system="spy:Spy", out="spied"))
    ended(done, shop / "spied")
    seen = (shop / "seen.json").read_text()
    for number in range(3):
        assert str(question(number)["question"]) in seen
        assert question_id(number) not in seen
    assert not any(mark in seen for mark in MARKS)


def test_two_runs_give_the_same_bytes(ran: Path, tmp_path: Path) -> None:
    shop = shop_of(tmp_path, COUNT)
    done = call(command(*asking(shop, *QUICK)), shop, PYTHONHASHSEED="7")
    assert done.code == 0, done.err
    assert files_of(shop / "out") == files_of(ran / "out")


def test_a_limit_may_grow_and_ends_in_the_same_bytes(ran: Path, shop: Path) -> None:
    shutil.rmtree(shop / "out")
    assert epoche(*asking(shop, *QUICK, "--limit", 5)).code == 0
    assert len(predictions_of(shop / "out")) == 5
    done = epoche(*asking(shop, *QUICK))
    assert "7 questions (5 were there already)" in done.out
    assert files_of(shop / "out") == files_of(ran / "out")
    before = files_of(shop / "out")
    assert "--limit 3" in error_line(epoche(*asking(shop, *QUICK, "--limit", 3)), 14)
    assert files_of(shop / "out") == before


def test_what_is_there_is_kept_to_the_letter(ran: Path, shop: Path) -> None:
    done = epoche(*asking(shop, *QUICK))
    assert f"0 questions ({COUNT} were there already)" in done.out
    assert files_of(shop / "out") == files_of(ran / "out")


def test_a_folder_may_be_moved_and_is_still_its_run(shop: Path) -> None:
    (shop / "deep" / "down").mkdir(parents=True)
    shutil.move(shop / "out", shop / "deep" / "down" / "moved")
    done = epoche(*asking(shop, *QUIET, out="deep/down/moved"))
    assert done.code == 0, done.err
    assert "0 questions" in done.out


def change_a_question(shop: Path) -> None:
    text = (shop / "catalog.jsonl").read_text()
    (shop / "catalog.jsonl").write_text(text.replace("In which town", "In what town"))


def change_a_page(shop: Path) -> None:
    text = (shop / "pages.jsonl").read_text()
    (shop / "pages.jsonl").write_text(text.replace("a hill", "two hills"))


def change_the_agent(shop: Path) -> None:
    text = (shop / "own_agents.py").read_text()
    (shop / "other_agents.py").write_text(text.replace('"version": 1', '"version": 2'))


@pytest.mark.parametrize(
    ("change", "more", "system", "said"),
    [
        (change_a_question, (), "own_agents:First", "other samples"),
        (change_a_page, (), "own_agents:First", "library: sha256"),
        (change_the_agent, (), "other_agents:First", "system"),
        (None, (), "own_agents:Slow", "system"),
        (None, ("--rounds", 3), "own_agents:First", "rounds: 5, now 3"),
    ],
    ids=["questions", "pages", "agent", "class", "rounds"],
)
def test_another_run_is_refused(
    shop: Path, change: Any, more: tuple[Any, ...], system: str, said: str
) -> None:
    before = files_of(shop / "out")
    if change is not None:
        change(shop)
    line = error_line(epoche(*asking(shop, *QUIET, *more, system=system)), 14)
    assert said in line
    assert "--overwrite" in line
    assert files_of(shop / "out") == before


def test_overwriting_replaces_all_of_it(shop: Path) -> None:
    change_a_page(shop)
    assert epoche(*asking(shop, *QUIET, "--overwrite", "--limit", 3)).code == 0
    out = shop / "out"
    assert len(rows_of(out)) == 3
    left = {path.name for path in out.iterdir()}
    assert left == {"rows.jsonl", "run_manifest.json", "predictions.json"}, "of other rows"


def test_an_expected_answer_may_be_put_right_and_scored_again(shop: Path) -> None:
    text = (shop / "catalog.jsonl").read_text()
    told = "Observatory Alcor0 was founded by Mira Voss0."
    (shop / "catalog.jsonl").write_text(
        text.replace("Goldmark: the founder, Mira Voss0, came from Tarn0.", told)
    )
    before = json.loads((shop / "out/synthlink_scores.json").read_bytes())["report"]
    done = epoche(*asking(shop, *QUICK))
    assert f"0 questions ({COUNT} were there already)" in done.out
    after = json.loads((shop / "out/synthlink_scores.json").read_bytes())["report"]
    corrected = [report["modes"]["corrected"]["overall"] for report in (before, after)]
    f1 = [group["measures"]["f1"]["value"] for group in corrected]
    assert f1[1] > f1[0]


def test_scores_of_another_file_are_not_removed(shop: Path) -> None:
    out = shop / "scored"
    out.mkdir()
    for name in OUTPUTS:
        if (shop / "out" / name).exists():
            shutil.copy(shop / "out" / name, out)
    before = snapshot(out)
    line = error_line(epoche(*asking(shop, *QUIET, out="scored")), 15)
    assert "which no run made" in line
    assert snapshot(out) == before
    assert epoche(*asking(shop, *QUIET, "--overwrite", out="scored")).code == 0


@pytest.mark.parametrize("name", ["report.html", "report.cards.csv"])
def test_a_report_of_something_else_is_not_removed(shop: Path, name: str) -> None:
    (shop / "results").mkdir()
    (shop / "results" / name).write_text("precious")
    before = snapshot(shop)
    line = error_line(epoche(*asking(shop, *QUICK, out="results")), 15)
    assert f"{name}, which no run made" in line
    assert snapshot(shop) == before


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--no-resume",), 15, "--no-resume"),
        (("--live",), 19, "--pages, --live"),
        (("--search", "search.jsonl"), 19, "--pages, --search"),
        (("--backend", "mojeek"), 19, "--live"),
        (("--embedder", "lexical"), 19, "--retriever dense"),
        (("--compare", "other.json"), 19, "--no-score"),
        (("--catalog", "nowhere.jsonl"), 3, "nowhere.jsonl"),
        (("--pages", "nowhere.jsonl"), 3, "nowhere.jsonl"),
        (("--pages", "own_agents.py"), 12, "own_agents.py:2"),
        (("--system", "nobody"), 16, "graph_walk, extractive, agent, raw"),
        (("--system", "nowhere:First"), 16, "nowhere"),
        (("--system", "own_agents:Nobody"), 16, "First, Slow"),
        (("--system", "json:JSONDecoder"), 16, "needs answer(question), params(), name"),
        (("--system", "graph_walk", "--model", "custom/m"), 19, "asks no model"),
        (("--system", "extractive", "--max-tokens", "9"), 19, "asks no model"),
        (("--system", "raw", "--model", "custom/m"), 19, "raw looks nothing up"),
        (("--max-cost", "inf"), 19, "--max-cost"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else None,
)
def test_refusals_change_nothing(shop: Path, more: tuple[str, ...], code: int, said: str) -> None:
    before = snapshot(shop)
    assert said in error_line(epoche(*asking(shop, *QUIET, *more)), code)
    assert snapshot(shop) == before


@pytest.mark.parametrize("flag", ["--catalog", "--pages"])
def test_what_is_read_is_not_written_over(shop: Path, flag: str) -> None:
    name = "catalog.jsonl" if flag == "--catalog" else "pages.jsonl"
    (shop / "new").mkdir()
    shutil.copy(shop / name, shop / "new" / "rows.jsonl")
    before = snapshot(shop)
    line = error_line(epoche(*asking(shop, *QUIET, flag, shop / "new/rows.jsonl", out="new")), 15)
    assert "rows.jsonl" in line
    assert snapshot(shop) == before


BROKEN = '''
from eval.synthlink.agents.trail import Round, Trail

class Moody:
    """Every question in a mood of its own."""
    name = "moody"
    def params(self):
        return {}
    async def answer(self, question):
        number = int("".join(filter(str.isdigit, question)))
        moods = [
            lambda: Trail(answer="Tarn."),
            lambda: 1 / 0,
            lambda: None,
            lambda: exit(5),
            lambda: Trail(answer="x" * 99_999),
            lambda: Trail(abstained=True),
            lambda: ["a", "b"],
        ]
        return moods[number % len(moods)]()

class Hopeless(Moody):
    name = "hopeless"
    async def answer(self, question):
        raise RuntimeError("it never works")

class Plain(Moody):
    name = "plain"
    def answer(self, question):
        return "Tarn."

class Secretive(Plain):
    def params(self):
        return {"api_key": "sk-secret-123456", "depth": (1, 2)}

class Odd(Plain):
    def params(self):
        return {"made": object()}

def made_by_hand():
    return Plain()
'''


def test_no_reply_of_an_agent_ends_a_run_or_touches_another_row(shop: Path) -> None:
    (shop / "moods.py").write_text(BROKEN)
    done = epoche(*asking(shop, *QUICK, system="moods:Moody", out="moody"))
    rows = ended(done, shop / "moody")
    wanted = ("ANSWERED", "ERROR", "INVALID", "ERROR", "INVALID", "ABSTAINED", "INVALID")
    assert [row["outcome"] for row in rows] == [wanted[n % 7] for n in range(COUNT)]
    assert "ZeroDivisionError" in rows[1]["error"]
    # What said nothing counts as missing, and not as having declined.
    told = {one["question_id"]: one["predicted_answer"] for one in predictions_of(shop / "moody")}
    assert told == {
        question_id(n): "Tarn." if n % 7 == 0 else "" for n in range(COUNT) if n % 7 in (0, 5)
    }
    report = json.loads((shop / "moody/synthlink_scores.json").read_bytes())["report"]
    assert (report["n_questions"], report["n_abstained"]) == (COUNT, 1)
    assert "4 of 12 rows are ERROR" in done.err


def test_a_run_that_holds_nothing_but_errors_fails_and_is_scored_all_the_same(shop: Path) -> None:
    (shop / "moods.py").write_text(BROKEN)
    done = epoche(*asking(shop, *QUICK, system="moods:Hopeless", out="hopeless"))
    assert "12 of 12 rows are ERROR" in error_line(done, 27)
    assert predictions_of(shop / "hopeless") == []
    assert (shop / "hopeless" / "report.html").exists()


@pytest.mark.parametrize("name", ["Plain", "made_by_hand"])
def test_an_agent_may_be_plain(shop: Path, name: str) -> None:
    (shop / "moods.py").write_text(BROKEN)
    done = epoche(*asking(shop, *QUIET, "--limit", 2, system=f"moods:{name}", out="plain"))
    rows = ended(done, shop / "plain")
    assert {row["trail"]["answer"] for row in rows} == {"Tarn."}


def test_what_an_agent_says_of_itself_is_kept_without_secrets(shop: Path) -> None:
    (shop / "moods.py").write_text(BROKEN)
    arguments = asking(shop, *QUIET, "--limit", 1, system="moods:Secretive", out="plain")
    ended(epoche(*arguments), shop / "plain")
    assert manifest_of(shop / "plain")["params"] == {"api_key": "[hidden]", "depth": [1, 2]}
    assert "0 questions" in epoche(*arguments).out, "it compares equal to what was kept"
    odd = asking(shop, *QUIET, system="moods:Odd", out="odd")
    assert "params() of system plain is not JSON" in error_line(epoche(*odd), 16)
    assert not (shop / "odd").exists()


def test_runs_are_held_against_each_other(shop: Path) -> None:
    (shop / "moods.py").write_text(BROKEN)
    other = ("--compare", shop / "out" / "predictions.json")
    done = epoche(*asking(shop, *QUICK, *other, system="moods:Plain", out="plain"))
    assert done.code == 0, done.err
    scored = json.loads((shop / "plain/synthlink_scores.json").read_bytes())
    (compared,) = scored["comparisons"]
    assert compared["differences"]
    assert (shop / "plain/synthlink_comparison.csv").exists()
