"""Defines the command with which ``bench_runner.py`` runs each of the compared runners.

Each runner is configured as its documentation recommends for a local server, with the same number
of requests in flight, no progress bar, and its usual log of every answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from delay_server import MODEL

ROOT = Path(__file__).resolve().parents[1]
API_KEY = "sk-loopback-bench-51ab"
"""An invented key; the local server accepts any."""

INSPECT_TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate


@task
def abstention():
    dataset = json_dataset({prompts!r}, FieldSpec(input="prompt", target="gold", id="id"))
    return Task(dataset=dataset, solver=generate(), scorer=includes())
"""

LM_EVAL_TASK = """
task: epoche_bench
dataset_path: json
dataset_kwargs:
  data_files:
    test: {prompts}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{gold}}}}"
generation_kwargs:
  until: []
  max_gen_toks: 512
metric_list:
  - metric: exact_match
"""


@dataclass(frozen=True)
class Job:
    """The questions for a runner, and where to send them.

    Attributes:
        folder: an empty folder for the runner's files.
        cards: the questions as cards.
        prompts: the same questions as JSON lines with ``id``, ``prompt`` and ``gold``.
        base_url: base URL of the server.
        concurrency: requests in flight at once.
    """

    folder: Path
    cards: Path
    prompts: Path
    base_url: str
    concurrency: int


@dataclass(frozen=True)
class Command:
    """The command of a process to measure, which runs in the job's folder.

    Attributes:
        line: its command line.
        env: its environment variables in addition to those of this process.
        count_logged: counts the answers in its log, after the process has ended.
    """

    line: list[str]
    env: dict[str, str]
    count_logged: Callable[[str], int]


def make_epoche_command(job: Job, _: Path) -> Command:
    """Returns the command of ``epoche eval``, with journal, manifest and cache."""
    out = job.folder / "ours.jsonl"

    def count_logged_answers(_output: str) -> int:
        preds = [json.loads(line)["pred"] for line in out.open("rb")]
        return sum(pred != "ERROR" for pred in preds)

    system = ("--system", "raw", "--model", f"custom/{MODEL}")
    flags = ("--concurrency", str(job.concurrency), "--cards", str(job.cards), "--out", str(out))
    return Command(
        [sys.executable, "-m", "epoche", "eval", *system, *flags],
        {"EPOCHE_BASE_URL": job.base_url, "EPOCHE_API_KEY": API_KEY, "PYTHONPATH": str(ROOT)},
        count_logged_answers,
    )


def make_bare_loop_command(job: Job, _: Path) -> Command:
    """Returns the command of the official client in a bounded loop; see ``bare_loop.py``."""
    script = Path(__file__).with_name("bare_loop.py")
    return Command(
        [sys.executable, str(script), str(job.prompts), MODEL, str(job.concurrency)],
        {"OPENAI_BASE_URL": job.base_url, "OPENAI_API_KEY": API_KEY},
        lambda output: int(output.split()[-1]),
    )


def make_inspect_command(job: Job, python: Path) -> Command:
    """Returns the command of ``inspect eval``, with its default log."""
    task = INSPECT_TASK.format(prompts=str(job.prompts))
    (job.folder / "task.py").write_text(task, "utf-8")
    logs = job.folder / "logs"

    def count_logged_answers(_output: str) -> int:
        dump = subprocess.run(
            [python.with_name("inspect"), "log", "dump", *logs.glob("*.eval")],
            check=True,
            capture_output=True,
        )
        samples = json.loads(dump.stdout)["samples"]
        return sum(bool(sample["output"]["choices"]) for sample in samples)

    concurrency = str(job.concurrency)
    flags = ("--max-connections", concurrency, "--max-samples", concurrency, "--display", "none")
    sampling = ("--max-tokens", "512", "--temperature", "0", "--log-dir", str(logs))
    return Command(
        [
            *(str(python.with_name("inspect")), "eval", "task.py"),
            *("--model", f"openai/{MODEL}", "--model-base-url", job.base_url),
            *("-M", "responses_api=false", *flags, *sampling),
        ],
        {"OPENAI_API_KEY": API_KEY},
        count_logged_answers,
    )


def make_lm_eval_command(job: Job, python: Path) -> Command:
    """Returns the command ``lm_eval --model local-chat-completions --log_samples``."""
    (job.folder / "task.yaml").write_text(LM_EVAL_TASK.format(prompts=job.prompts), "utf-8")
    out = job.folder / "out"

    def count_logged_answers(_output: str) -> int:
        (file,) = out.rglob("samples_*.jsonl")
        return sum(bool(json.loads(line)["resps"][0][0]) for line in file.open("rb"))

    settings = (
        f"base_url={job.base_url}/chat/completions",
        f"model={MODEL}",
        f"num_concurrent={job.concurrency}",
        "tokenizer_backend=none",
        "max_retries=3",
    )
    return Command(
        [
            *(str(python.with_name("lm_eval")), "--model", "local-chat-completions"),
            *("--model_args", ",".join(settings), "--tasks", "epoche_bench"),
            *("--include_path", str(job.folder), "--apply_chat_template"),
            *("--output_path", str(out), "--log_samples"),
        ],
        {
            "OPENAI_API_KEY": API_KEY,
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "HF_HOME": str(job.folder / "hf"),
        },
        count_logged_answers,
    )


RUNNERS: dict[str, Callable[[Job, Path], Command]] = {
    "bare loop": make_bare_loop_command,
    "ours": make_epoche_command,
    "inspect-ai": make_inspect_command,
    "lm-eval": make_lm_eval_command,
}
PACKAGES = {
    "inspect-ai": ("inspect", "inspect-ai openai"),
    "lm-eval": ("lm_eval", '"lm-eval[api]"'),
}
"""Rival → the executable that it installs, and the packages to install."""


def how_to_install(name: str, python: Path | None) -> str | None:
    """Returns how to install the rival ``name``; None if it is installed."""
    if name not in PACKAGES:
        return None
    command, packages = PACKAGES[name]
    if python is not None and os.access(python.with_name(command), os.X_OK):
        return None
    folder = python.parents[1] if python is not None else Path("../harness")
    return (
        f"python3 -m venv {folder} && {folder}/bin/pip install {packages}, "
        f"then --harness-python {folder}/bin/python"
    )
