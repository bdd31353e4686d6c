"""A local search engine that acts as the client's proxy and stands in for the real one.

It answers ``CONNECT host:443`` itself, with a certificate for that host from a test authority that
``make_certificates`` makes. So a client runs its real network code and parser, and no request
leaves the machine.
"""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import threading
from html import escape
from pathlib import Path
from typing import Self

Result = tuple[str, str, str]
"""Title, address and text."""


def make_certificates(folder: Path, host: str) -> None:
    """Writes the authority ``ca.pem``, and the signed ``host.pem`` with its key ``host.key``."""

    def run_openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key_options = (
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    )
    run_openssl("req", "-x509", *key_options, "-keyout", "ca.key", "-out", "ca.pem",
            "-subj", "/CN=test", "-addext", "basicConstraints=critical,CA:TRUE")  # fmt: skip
    # A request for a certificate takes no number of days.
    run_openssl(
        "req", *key_options[:-2], "-keyout", "host.key", "-out", "host.csr", "-subj", f"/CN={host}"
    )
    (folder / "extension").write_text(f"subjectAltName=DNS:{host}\n")
    run_openssl("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-days", "2", "-CAcreateserial", "-out", "host.pem",
            "-extfile", "extension")  # fmt: skip


def render_results_page(results: list[Result]) -> str:
    """Renders a page of results like the HTML version of DuckDuckGo."""
    rows = "".join(
        f'<div class="result"><div class="links_main result__body"><h2><a href="{escape(href)}">'
        f'{escape(title)}</a></h2><a href="{escape(href)}">{escape(body)}</a></div></div>'
        for title, href, body in results
    )
    return f"<html><head><title>q</title></head><div id='links'>{rows}</div></html>"


class SearchEngine:
    """The server, which answers every request with its current status and page.

    Attributes:
        status: HTTP status of all answers.
        page: body of all answers.
        requests: (host and port, request line, body) of every request so far.
    """

    def __init__(self, certificates: Path) -> None:
        self.status, self.page = 200, render_results_page([])
        self.requests: list[tuple[str, str, str]] = []
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificates / "host.pem", certificates / "host.key")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve_clients, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve_clients(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(5)
                try:
                    self._answer_client(client)
                except OSError:
                    continue  # The client closed the connection; serve the next one.

    def _answer_client(self, client: socket.socket) -> None:
        connect_request, _ = _read_until_blank_line(client)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with self._tls.wrap_socket(client, server_side=True) as secure:
            head, body = _read_until_blank_line(secure)
            length = re.search(r"(?i)content-length: *(\d+)", head)
            while length and len(body) < int(length[1]):
                body += secure.recv(65_536)
            self.requests.append((connect_request.split()[1], head.splitlines()[0], body.decode()))
            page = self.page.encode()
            secure.sendall(
                f"HTTP/1.1 {self.status} So\r\nContent-Type: text/html; charset=utf-8\r\n"
                f"Content-Length: {len(page)}\r\nConnection: close\r\n\r\n".encode()
                + page
            )


def _read_until_blank_line(client: socket.socket) -> tuple[str, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        received = client.recv(65_536)
        if not received:
            raise ConnectionError
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    return head.decode("latin-1"), body
