"""Report pages over HTTP, to this machine alone."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Sequence
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from penstock.errors import ResultError

from .levels import Levels

ADDRESS = "127.0.0.1"
PAGE = "report.html"
LEVELS = "levels"
"""Beside a page: points of a part of its series, as JSON."""

_BESIDE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
  body {{ margin: 0; display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 2px; }}
  iframe {{ border: 0; width: 100%; height: 100vh; }}
</style>
{frames}
<script>
  // What each page shows is a part of the address of both: a copied link opens the same views.
  const frames = [...document.querySelectorAll("iframe")];
  const given = new URLSearchParams(location.hash.slice(1));
  frames.forEach((frame, number) => {{
    frame.src = frame.dataset.page + (given.has(number) ? "#" + given.get(number) : "");
  }});
  setInterval(() => {{
    const views = frames.map((frame) => frame.contentWindow.location);
    if (views.some((view) => !view.pathname.endsWith("/{page}"))) return;
    const told = views.flatMap((view, number) => (view.hash ? [[number, view.hash.slice(1)]] : []));
    const now = new URLSearchParams(told);
    if (location.hash.slice(1) !== now.toString()) history.replaceState(null, "", "#" + now);
  }}, 500);
</script>
</html>
"""


class Pages(ThreadingHTTPServer):
    """Serves the directories of results: the n-th below ``/n/``; of several, ``/`` has them side by side.

    Parameters
    ----------
    directories : sequence of Path
        Each with a ``report.html``.
    port : int, optional
        Port of the loopback interface. Default: 0, one that is free.

    Raises
    ------
    OSError
        If the port is taken.
    """

    daemon_threads = True

    def __init__(self, directories: Sequence[Path], port: int = 0) -> None:
        self.directories = [directory.resolve() for directory in directories]
        self._levels: dict[Path, Levels] = {}
        super().__init__((ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        """Where the pages are."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def levels(self, directory: Path) -> Levels:
        """The series of a result; they stay in memory."""
        return self._levels.setdefault(directory, Levels(directory))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a browser that no longer wants what it asked for."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def front(self) -> str:
        """The page with all of them."""
        names = [directory.name for directory in self.directories]
        frames = [
            f'<iframe data-page="/{number}/{quote(PAGE)}" title="{html.escape(name)}"></iframe>'
            for number, name in enumerate(names)
        ]
        return _BESIDE.format(title=html.escape(" and ".join(names)), frames="\n".join(frames), page=PAGE)


class _Handler(SimpleHTTPRequestHandler):
    server: Pages

    def do_GET(self) -> None:
        # A page of another site that has got itself this address says another name.
        if self.headers.get("Host") not in (f"{ADDRESS}:{self.server.server_port}", None):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif urlsplit(self.path).path.endswith(f"/{LEVELS}"):
            self._answer()
        elif urlsplit(self.path).path != "/":
            super().do_GET()
        elif len(self.server.directories) > 1:
            self._send(self.server.front().encode(), "text/html; charset=utf-8")
        else:
            self.send_response(HTTPStatus.FOUND)
            self.send_header("Location", f"/0/{quote(PAGE)}")
            self.end_headers()

    def do_HEAD(self) -> None:
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)

    def translate_path(self, path: str) -> str:
        number, _, rest = urlsplit(path).path.lstrip("/").partition("/")
        if not number.isdigit() or int(number) >= len(self.server.directories):
            return ""
        self.directory = str(self.server.directories[int(number)])
        return super().translate_path("/" + rest)

    def list_directory(self, path: Any) -> None:  # noqa: ARG002
        self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, *_: Any) -> None:
        """Says nothing: the browser shows what is wrong."""

    def _answer(self) -> None:
        """Points of a part of some series of the result whose page asks."""
        place = self.translate_path(self.path)
        asked = parse_qs(urlsplit(self.path).query)
        try:
            begin, end = (float(asked[key][0]) for key in ("from", "to"))
            metric, entities, points = asked["metric"][0], asked["entity"], int(asked["points"][0])
        except (KeyError, ValueError):
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        try:
            if not place:
                raise ResultError("no such result")
            told = self.server.levels(Path(place).parent).answer(metric, entities, begin, end, points)
        except ResultError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self._send(json.dumps(told, allow_nan=False).encode(), "application/json")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
