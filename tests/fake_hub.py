"""A small hub on this machine: it answers what huggingface_hub asks, and counts the questions."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import close_session, constants

__all__ = ["FakeHub", "run_fake_hub"]


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class FakeHub:
    """Repositories as revision -> file -> bytes; what is asked for is answered, and remembered in ``asked``."""

    repositories: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    licence: str = "mit"
    gated: bool = False
    page: bytes | None = None
    """What is answered to everything, as a hotel's network does."""
    garbled: set[str] = field(default_factory=set)
    """Files whose bytes arrive wrong, as often as they are asked for."""
    asked: list[str] = field(default_factory=list)

    def add(self, repository: str, folder: Path, *, extra: dict[str, bytes] | None = None) -> str:
        """Publish a folder as the newest revision; return the revision."""
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())} | (extra or {})
        revision = hashlib.sha1(repr(sorted((name, hashlib.md5(files[name]).digest()) for name in files)).encode())
        self.repositories.setdefault(repository, {})[revision.hexdigest()] = files
        return revision.hexdigest()

    def describe(self, repository: str, revision: str) -> bytes:
        files = self.repositories[repository][revision]
        siblings = []
        for name, content in files.items():
            item: dict[str, object] = {"rfilename": name, "size": len(content), "blobId": git_sha1(content)}
            if not name.endswith((".json", ".txt")):
                item["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
            siblings.append(item)
        card = {"license": self.licence}
        return json.dumps({"id": repository, "sha": revision, "siblings": siblings, "cardData": card}).encode()


@contextmanager
def run_fake_hub(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[FakeHub]:
    """Serve a hub, and point huggingface_hub at it and at an empty cache."""
    hub = FakeHub()

    class Handler(_Handler):
        served = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    try:
        yield hub
    finally:
        close_session()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    served: FakeHub

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, *args: object) -> None:
        pass

    def _answer(self, *, with_body: bool) -> None:
        hub, path = self.served, self.path.partition("?")[0]
        hub.asked.append(f"{self.command} {path}")
        if hub.page is not None:
            return self._send(200, hub.page, {}, with_body=with_body)
        if hub.gated:
            return self._send(403, b"{}", {"X-Error-Code": "GatedRepo"}, with_body=with_body)
        parts = path.strip("/").split("/")
        repository = "/".join(parts[2:4] if parts[:2] == ["api", "models"] else parts[:2])
        revisions = hub.repositories.get(repository)
        if revisions is None:
            return self._send(401, b"{}", {"X-Error-Code": "RepoNotFound"}, with_body=with_body)
        revision = parts[5] if parts[:2] == ["api", "models"] and len(parts) > 5 else list(revisions)[-1]
        if parts[:2] == ["api", "models"]:
            return self._send(200, hub.describe(repository, revision), {}, with_body=with_body)
        return self._send_file(repository, parts[3], parts[4], with_body=with_body)

    def _send_file(self, repository: str, revision: str, name: str, *, with_body: bool) -> None:
        revisions = self.served.repositories[repository]
        revision = list(revisions)[-1] if revision == "main" else revision
        content = revisions[revision][name]
        is_large = not name.endswith((".json", ".txt"))
        etag = hashlib.sha256(content).hexdigest() if is_large else git_sha1(content)
        if name in self.served.garbled:
            content = bytes(reversed(content))
        self._send(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": revision}, with_body=with_body)

    def _send(self, status: int, content: bytes, headers: dict[str, str], *, with_body: bool) -> None:
        self.send_response(status)
        for key, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(key, value)
        self.end_headers()
        if with_body:
            self.wfile.write(content)
