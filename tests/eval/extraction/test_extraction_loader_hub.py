"""Tests the ``datasets`` package with a local hub server, and offline with its cache."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
NAME = "paraloq/json_data_extraction"
COMMIT = "a" * 40
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}

# This code runs in a separate process, because the library reads the hub's address on import.
LOAD_CODE = """
import json, sys
from pathlib import Path
import msgspec
from eval.extraction.samples.loader import load_samples
from kg.base.errors import EpocheError
for name, split in json.loads(sys.argv[2]):
    try:
        result = msgspec.to_builtins(load_samples(name, split=split, cache_dir=Path(sys.argv[1])))
    except EpocheError as error:
        result = {"error": type(error).__name__, "code": error.exit_code, "message": str(error)}
    print(json.dumps(result))
"""


def make_hub_row(number: int) -> dict[str, str]:
    """Returns a row as the data set has it; the item of row 3 is invalid under its schema."""
    return {
        "title": f"Title {number}",
        "topic": "medical",
        "medium": "email",
        "schema": json.dumps(SCHEMA),
        "text": f"The letter is b{number}.",
        "item": json.dumps({"a": f"b{number}"} if number != 3 else {"b": 1}),
    }


def make_lines(*numbers: int) -> bytes:
    return "\n".join(json.dumps(make_hub_row(number)) for number in numbers).encode()


REPOSITORIES = {
    NAME: {"train.jsonl": make_lines(1, 2, 3, 4)},
    "owner/two": {"train.jsonl": make_lines(1), "validation.jsonl": make_lines(2)},
}


class _HubHandler(BaseHTTPRequestHandler):
    """Serves the part of the hub API that ``datasets`` uses; each repository has one commit."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.server.requested_paths.append(path)  # type: ignore[attr-defined]
        name = next((name for name in REPOSITORIES if f"/datasets/{name}" in path), None)
        if name is None:
            self._send(404, b"", {"X-Error-Code": "RepoNotFound"})
            return
        files = REPOSITORIES[name]
        if "/resolve/" in path:
            data = files.get(path.rsplit("/", 1)[1])
            if data is None:
                self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            else:
                tag = hashlib.sha1(data).hexdigest()
                self._send(200, data, {"ETag": f'"{tag}"', "X-Repo-Commit": COMMIT})
        elif "/tree/" in path:
            entries = [
                {"type": "file", "oid": "b" * 40, "size": len(data), "path": file}
                for file, data in files.items()
            ]
            self._send(200, json.dumps(entries).encode())
        else:
            info: dict[str, Any] = {"id": name, "sha": COMMIT, "private": False, "tags": []}
            info |= {"siblings": [{"rfilename": file} for file in files], "gated": False}
            self._send(200, json.dumps(info | {"downloads": 0, "likes": 0}).encode())

    do_HEAD = do_GET  # noqa: N815  # the name that BaseHTTPRequestHandler requires

    def _send(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for key, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Suppresses request logging."""


class Loader:
    """Loads a dataset in a new process from the given hub; all loads share one cache."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    def __call__(self, *requests: tuple[str, str], **settings: str) -> list[dict[str, Any]]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        process = subprocess.run(
            [sys.executable, "-c", LOAD_CODE, str(self.folder / "cache"), json.dumps(requests)],
            cwd=ROOT,
            env={
                **environment,
                "HF_ENDPOINT": f"http://127.0.0.1:{self.port}",
                "HF_HOME": str(self.folder / "home"),
                "HF_HUB_DISABLE_TELEMETRY": "1",
                **settings,
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return [json.loads(line) for line in process.stdout.splitlines()]


@pytest.fixture
def hub() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _HubHandler)
    server.requested_paths = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_dataset_is_downloaded_then_read_from_the_cache(
    hub: ThreadingHTTPServer, tmp_path: Path
) -> None:
    loader = Loader(tmp_path, hub.server_port)
    default_split, validation_split, unknown_split, unknown_dataset = loader(
        (NAME, "test"), ("owner/two", "validation"), ("owner/two", "test"), ("owner/none", "test")
    )
    requested_paths = hub.requested_paths  # type: ignore[attr-defined]
    assert any(path.endswith("/train.jsonl") for path in requested_paths)

    # The columns are converted, row 3 is rejected, and the only split replaces "test".
    assert [sample["id"] for sample in default_split["samples"]] == ["1", "2", "4"]
    assert default_split["samples"][1] == {
        "id": "2",
        "text": "The letter is b2.",
        "schema": SCHEMA,
        "expected": {"a": "b2"},
        "domain": "medical",
        "language": "en",
        "meta": {"title": "Title 2", "medium": "email"},
    }
    (rejection,) = default_split["rejected"]
    assert rejection["row"] == 3
    assert "its item is not valid under its schema" in rejection["why"]
    assert default_split["notes"] == [
        "the data set has no split 'test'; its only split, 'train', is used"
    ]

    assert [sample["text"] for sample in validation_split["samples"]] == ["The letter is b2."]
    assert validation_split["notes"] == []
    assert (unknown_split["error"], unknown_split["code"]) == ("SettingError", 19)
    assert "train and validation" in unknown_split["message"]
    assert (unknown_dataset["error"], unknown_dataset["code"]) == ("MissingExtraError", 18)
    assert "cannot be loaded from the hub" in unknown_dataset["message"]

    # Without the hub, downloaded data is read from the cache with a note; other data is an error.
    hub.shutdown()
    hub.server_close()
    cached_split, uncached_dataset = loader((NAME, "train"), ("owner/never", "train"))
    assert cached_split["samples"] == default_split["samples"]
    assert cached_split["notes"] == ["the hub did not answer; a copy downloaded earlier is used"]
    assert (uncached_dataset["error"], uncached_dataset["code"]) == ("MissingExtraError", 18)

    # The cache is also used if the user sets the library to offline mode.
    (offline_split,) = loader((NAME, "train"), HF_HUB_OFFLINE="1")
    assert offline_split["samples"] == default_split["samples"]


def test_local_folder_takes_precedence_over_the_hub(
    hub: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eval.extraction.samples.loader import load_samples

    folder = tmp_path / "paraloq" / "json_data_extraction"
    folder.mkdir(parents=True)
    (folder / "train.jsonl").write_bytes(make_lines(7))
    monkeypatch.chdir(tmp_path)
    assert [sample.text for sample in load_samples(NAME).samples] == ["The letter is b7."]
    assert hub.requested_paths == []  # type: ignore[attr-defined]


def test_datasets_reads_a_local_folder_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This test needs no hub: the library builds its cache from a local folder, and the cache is
    # then renamed as if the data set came from the hub.
    datasets = pytest.importorskip("datasets")
    import huggingface_hub

    from eval.extraction.samples.hub import HubRows

    folder = tmp_path / "json_data_extraction"
    folder.mkdir()
    (folder / "train.jsonl").write_bytes(make_lines(1, 2))
    cache = tmp_path / "cache"
    datasets.disable_progress_bars()
    assert len(datasets.load_dataset(str(folder), cache_dir=str(cache))["train"]) == 2
    (cache / folder.name).rename(cache / NAME.replace("/", "___"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    rows = HubRows(NAME, "test", cache)
    assert (rows.split, rows.count, rows.from_cache) == ("train", 2, True)
    assert [row.values["topic"] for row in rows if row.values] == ["medical", "medical"]
