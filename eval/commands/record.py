"""Records the replies of a model to a list of commands: ``epoche record``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eval.commands.serve_model import ContextTokens, Threads, run_command
from kg.base.console import print_text, print_warning, run_script
from kg.base.errors import (
    GateFailedError,
    ModelCallError,
    RecordError,
    StrictModelError,
    TooManyErrorsError,
    WeightsError,
    WithheldError,
    WriteError,
)

if TYPE_CHECKING:
    from eval.model.recorded_replies import Recording, RecordingHeader

# A command that ends with one of these has done its work, and found fault with the replies. (A call
# that fails is a ModelAccessError while a recording is made.)
_FAULT_ERRORS = (
    GateFailedError,
    ModelCallError,
    StrictModelError,
    TooManyErrorsError,
    WithheldError,
)
_README = "README.md"
_README_TITLE = "# Recorded replies of real models"


def main(
    gguf: Annotated[
        str,
        typer.Argument(metavar="GGUF", help="As for `epoche serve-model`.", show_default=False),
    ],
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="Text file with one command of epoche per line, without `epoche`; {model} and "
            "{out} stand for the recorded model and a temporary folder.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder of recordings to write to.", show_default=False),
    ],
    threads: Threads = None,
    context: ContextTokens = 4096,
) -> None:
    """Runs the commands of a plan with a model, and packs its replies into a file.

    The file is replayed by the model recorded/NAME, with no model installed. A recording that was
    interrupted resumes with the same command. What the folder has recorded of the model, by this or
    another plan, is not asked again.
    """
    from eval.model.local_server import (
        ServerSettings,
        count_free_cores,
        describe_server,
        find_weights,
        serve_model,
    )
    from eval.model.providers import RECORD_URL_VARIABLE, RECORDED
    from eval.model.recorded_replies import (
        RECORD_FILE_VARIABLE,
        SUFFIX,
        pack_recording,
        start_recording,
    )
    from eval.model.recording_plan import fill_command, read_plan
    from kg.base.files import sha256_file

    weights = find_weights(gguf)
    commands = read_plan(plan)
    digest = sha256_file(weights)
    settings = ServerSettings(weights, threads=threads or count_free_cores(), context=context)
    model = f"{RECORDED}/{settings.model}"
    packed = out / f"{settings.model}.{plan.stem}{SUFFIX}"
    cache_file = out / f"{settings.model}.{plan.stem}.sqlite"
    out.mkdir(parents=True, exist_ok=True)
    _refuse_foreign_readme(out)
    server = describe_server()
    # Plans of one model may ask the same, and a server need not be asked twice.
    earlier = [
        recording
        for recording in _load_readable_recordings(out)
        if (recording.header.model, recording.header.weights_sha256, recording.header.server)
        == (settings.model, digest, server)
    ]
    resumption = (
        f"replies so far are in {cache_file}; once the error is mended, the same command resumes"
    )
    start_recording(cache_file, earlier, f"{digest} {server}")
    with serve_model(settings) as running, tempfile.TemporaryDirectory() as folder:
        variables = {
            "EPOCHE_MODEL": model,
            RECORD_URL_VARIABLE: running.address,
            RECORD_FILE_VARIABLE: str(cache_file.resolve()),
        }
        asked = []
        for command in commands:
            print_text(f"epoche {command}")
            words = fill_command(command, model, Path(folder))
            try:
                code = run_command([sys.executable, "-m", "epoche", *words], variables, running)
            except WeightsError:
                print_text(resumption)
                raise
            if code and code not in {error.exit_code for error in _FAULT_ERRORS}:
                print_text(f"`epoche {command}` ended with exit code {code}")
                print_text(resumption)
                raise SystemExit(code)
            asked.append(f"{command}  # exit code {code}" if code else command)
    header = pack_recording(
        cache_file,
        packed,
        model=settings.model,
        weights_sha256=digest,
        server=server,
        plan=asked,
    )
    write_readme(out)
    for suffix in ("", "-wal", "-shm"):
        cache_file.with_name(cache_file.name + suffix).unlink(missing_ok=True)
    replies = "1 reply" if header.n_replies == 1 else f"{header.n_replies:,} replies"
    print_text(f"{replies} → {packed}")


def write_readme(folder: Path) -> None:
    """Writes what a folder's recordings are, from their headers."""
    from eval.model.recorded_replies import load_recording
    from kg.base.files import write_text_atomic

    load_recording.cache_clear()  # one of them was just written
    parts = [
        f"{_README_TITLE}\n\n"
        "Made by `epoche record`, replayed by the model `recorded/NAME` "
        "(docs/how-to/models.md). Do not edit.\n\n"
        "Commands are those that were run when the replies were recorded. If a plan lies here, "
        "such as `cards.txt` for a file `….cards.jsonl.xz`, its commands ask the same of this "
        "version.\n"
    ]
    parts += [
        _describe_recording(recording.path, recording.header)
        for recording in _load_readable_recordings(folder)
    ]
    write_text_atomic(folder / _README, "\n".join(parts))


def _load_readable_recordings(folder: Path) -> list[Recording]:
    from eval.model.recorded_replies import find_recordings, load_recording

    recordings = []
    for path in find_recordings(folder):
        try:
            recordings.append(load_recording(path))
        except RecordError as error:
            print_warning(error.format_line())
    return recordings


def _refuse_foreign_readme(folder: Path) -> None:
    """Checks that the README that describes the recordings would not overwrite another one."""
    readme = folder / _README
    if readme.exists() and not readme.read_bytes().startswith(_README_TITLE.encode()):
        raise WriteError(
            "the folder has a README.md that epoche record did not write",
            where=str(readme),
            hint="Choose another --out: recordings have a folder of their own.",
        )


def _describe_recording(path: Path, header: RecordingHeader) -> str:
    sampling = "\n".join(f"    {text}" for text in header.sampling)
    plan = "\n".join(f"    epoche {command}" for command in header.plan)
    return (
        f"## `{path.name}`\n\n"
        f"| | |\n|---|---|\n| model | `recorded/{header.model}` |\n"
        f"| SHA-256 of the GGUF | `{header.weights_sha256}` |\n| server | {header.server} |\n"
        f"| replies | {header.n_replies} |\n\n"
        f"Sampling:\n\n{sampling}\n\nCommands:\n\n{plan}\n"
    )


if __name__ == "__main__":
    run_script(main)
