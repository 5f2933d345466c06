"""Serves report pages over HTTP to the user who started the server.

The server listens on the loopback interface, so other machines cannot reach it. Other users of this
machine do not have the token in the address.
"""

from __future__ import annotations

import contextlib
import html
import json
import math
import os
import secrets
import shutil
import socket
import sys
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qs, quote, unquote

from penstock.errors import ResultError, reading

from .levels import Levels

ADDRESS = "127.0.0.1"
PAGE = "report.html"
TOKEN_BYTES = 24
ASKS_S = 10.0
"""Seconds that a client may take to send its request, or to stall during the response."""
_HTTP_PORT = 80
"""Default port of HTTP."""
LEVELS = "levels"
"""Path of the JSON endpoint for points of a part of a series."""

_BESIDE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ margin: 0; background: #8886; }}
  body {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 2px; }}
  iframe {{ border: 0; width: 100%; height: 100vh; }}
</style>
{frames}
<script>
  // What each page shows is a part of the address of all: a copied link opens the same views. Time, film,
  // lines of charts, theme and scroll are shared: what is chosen in one page is chosen in the others. Axes
  // reach as far in all pages as in the one where they have to reach furthest, and what is shown in one page
  // is shown in all, in the same colors.
  const frames = [...document.querySelectorAll("iframe")];
  const given = new URLSearchParams(location.hash.slice(1));
  frames.forEach((frame, number) => {{
    frame.src = frame.dataset.page + (given.has(number) ? "#" + given.get(number) : "");
  }});
  let shown = null;
  const scrolled = new Map();
  const own = ["table", "find", "sort", "page", "columns", "tree", "node"];
  const parts = (hash) => {{
    const [section, ...rest] = hash.slice(1).split("?");
    return [section, new URLSearchParams(rest.join("?"))];
  }};
  function merged(hash, from) {{
    const [[section, kept], [, shared]] = [parts(hash), parts(from)];
    for (const key of own) {{
      shared.delete(key);
      if (kept.has(key)) shared.set(key, kept.get(key));
    }}
    const told = shared.toString();
    return section + (told && "?" + told);
  }}
  function follow(views) {{
    const moved = shown === null ? -1 : views.findIndex((view, number) => view.hash !== shown[number]);
    if (moved >= 0) {{
      views.forEach((view, number) => {{
        if (number !== moved) view.hash = merged(view.hash, views[moved].hash);
      }});
    }}
    shown = views.map((view) => view.hash);
  }}
  let last = "";
  function share() {{
    const pages = frames.flatMap((frame) => frame.contentWindow.penstock ?? []);
    const all = {{ reach: {{}}, lines: {{}} }};
    for (const [axis, [min, max]] of pages.flatMap(({{ reach }}) => Object.entries(reach))) {{
      const [low, high] = all.reach[axis] ?? [min, max];
      all.reach[axis] = [Math.min(min, low), Math.max(max, high)];
    }}
    for (const chart of pages.flatMap(({{ lines }}) => Object.keys(lines))) {{
      const shown = pages.map(({{ lines }}) => lines[chart] ?? []);
      // In turn: the first of each page, the second of each.
      const most = Math.max(...shown.map((names) => names.length));
      const turns = Array.from({{ length: most }}, (_, at) => shown.flatMap((names) => names[at] ?? []));
      all.lines[chart] = [...new Set(turns.flat())];
    }}
    const now = JSON.stringify(all);
    if (now === last) return;
    last = now;
    for (const {{ contentWindow: page }} of frames) {{
      page.dispatchEvent(new CustomEvent("penstock-beside", {{ detail: all }}));
    }}
  }}
  // By sections: what stands above them may take more room in one page than in another.
  function scroll(frame) {{
    const {{ document, scrollY }} = frame.contentWindow;
    if (scrolled.get(frame) === scrollY) return;
    scrolled.set(frame, scrollY);
    const place = (section) => section.getBoundingClientRect();
    const here = [...document.querySelectorAll("main > section[id]")].findLast((one) => place(one).top < 80);
    for (const other of frames.filter((one) => one !== frame)) {{
      const page = other.contentWindow;
      const there = here && page.document.getElementById(here.id);
      // Where its own section is longer, the other stays at the end of its until that has passed.
      const into = there && Math.min(-place(here).top, place(there).height);
      page.scrollBy(0, there ? place(there).top + into : scrollY - page.scrollY);
      scrolled.set(other, page.scrollY);
    }}
  }}
  frames.forEach((frame) => frame.addEventListener("load", () => {{
    last = "";
    frame.contentWindow.addEventListener("scroll", () => scroll(frame), {{ passive: true }});
  }}));
  setInterval(() => {{
    const views = frames.map((frame) => frame.contentWindow.location);
    if (views.some((view) => !view.pathname.endsWith("/{page}"))) return;
    follow(views);
    share();
    const told = views.flatMap((view, number) => (view.hash ? [[number, view.hash.slice(1)]] : []));
    const now = new URLSearchParams(told);
    if (location.hash.slice(1) !== now.toString()) history.replaceState(null, "", "#" + now);
  }}, 500);
</script>
</html>
"""


class Pages(ThreadingHTTPServer):
    """Serves directories of results: the n-th below ``/TOKEN/n/``; ``/TOKEN/`` shows several side by side.

    Parameters
    ----------
    directories : sequence of Path
        Directories that contain a ``report.html``.
    port : int, optional
        TCP port on the loopback interface. Default: 0, a free port.

    Raises
    ------
    OSError
        If the port is taken.
    """

    daemon_threads = True
    request_queue_size = 512
    """Maximum number of pending connections; far more than a page with its pictures needs."""

    def __init__(self, directories: Sequence[Path], port: int = 0) -> None:
        self.directories = [directory.resolve() for directory in directories]
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._pending: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self._levels: dict[Path, Levels] = {}
        super().__init__((ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        """Address of the pages."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def begin_request(self, client: socket.socket) -> None:
        """Starts the timeout `ASKS_S` for the request of a client."""
        with self._lock:
            self._pending[client] = time.monotonic() + ASKS_S

    def end_request(self, client: socket.socket) -> None:
        """Ends the timeout of a client that has sent its request or disconnected."""
        with self._lock:
            self._pending.pop(client, None)

    def service_actions(self) -> None:
        """Drops clients that time out; the server calls this twice per second."""
        now = time.monotonic()
        with self._lock:
            late = [client for client, until in self._pending.items() if until < now]
            for client in late:
                del self._pending[client]
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)

    def levels(self, directory: Path) -> Levels:
        """Series of a result; cached in memory."""
        return self._levels.setdefault(directory, Levels(directory))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Suppresses errors of browsers that have disconnected."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def front(self) -> str:
        """Page that shows all results."""
        names = [directory.name for directory in self.directories]
        frames = [
            f'<iframe data-page="{number}/{quote(PAGE)}" title="{html.escape(name)}"></iframe>'
            for number, name in enumerate(names)
        ]
        return _BESIDE.format(title=html.escape(" and ".join(names)), frames="\n".join(frames), page=PAGE)


class _Handler(SimpleHTTPRequestHandler):
    server: Pages
    timeout = ASKS_S

    def setup(self) -> None:
        super().setup()
        self.server.begin_request(self.connection)

    def finish(self) -> None:
        self.server.end_request(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self.server.end_request(self.connection)
        if not self._is_ours():
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        path, _, query = self.path.partition("?")
        words = [unquote(word, errors="surrogateescape") for word in path.split("/")[1:]]
        if not words or not secrets.compare_digest(_octets(words[0]), _octets(self.server.token)):
            self.send_error(HTTPStatus.NOT_FOUND)
        elif words[1:] == [""] and len(self.server.directories) > 1:
            self._send(self.server.front().encode(), "text/html; charset=utf-8")
        elif words[1:] in ([], [""]):
            several = len(self.server.directories) > 1
            self.send_response(HTTPStatus.FOUND)
            self.send_header("Location", f"/{self.server.token}/{'' if several else '0/' + quote(PAGE)}")
            self.end_headers()
        elif (place := self._place(words[1:])) is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif words[-1] == LEVELS:
            self._answer(place.parent, query)
        else:
            self._file(place)

    def do_HEAD(self) -> None:
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)

    def log_message(self, *_: Any) -> None:
        """Logs nothing: the browser shows errors."""

    def end_headers(self) -> None:
        self.send_header("Referrer-Policy", "no-referrer")  # keeps the token private
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def _is_ours(self) -> bool:
        """True if the Host header names this server. Prevents DNS rebinding."""
        host = self.headers.get("Host")
        if host is None:
            return True
        name, _, port = host.strip().lower().partition(":")
        return name in (ADDRESS, "localhost") and (port or str(_HTTP_PORT)) == str(self.server.server_port)

    def _place(self, words: Sequence[str]) -> Path | None:
        """Requested file, if it is inside a result after resolving links."""
        number, *rest = words
        numbers = list(map(str, range(len(self.server.directories))))
        if number not in numbers or any(
            word in ("", ".", "..") or "/" in word or "\\" in word or "\0" in word for word in rest
        ):
            return None
        directory = self.server.directories[int(number)]
        try:
            place = directory.joinpath(*rest).resolve()
        except (OSError, RuntimeError, ValueError):  # cyclic links, or a name that is too long
            return None
        return place if rest and place.is_relative_to(directory) else None

    def _file(self, place: Path) -> None:
        try:
            file = place.open("rb") if place.is_file() else None  # reading a pipe or device might block
        except OSError:
            file = None
        if file is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with file:
            self._stream(file, os.fstat(file.fileno()).st_size, self.guess_type(str(place)))

    def _answer(self, directory: Path, query: str) -> None:
        """Sends points of a part of some series to the page of the result."""
        try:
            fields = parse_qs(query, max_num_fields=_MOST_FIELDS)
            begin, end = (float(fields[key][0]) for key in ("from", "to"))
            metric, entities, points = fields["metric"][0], fields["entity"], int(fields["points"][0])
            if not (math.isfinite(begin) and math.isfinite(end)):
                raise ValueError
        except (KeyError, ValueError):
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        try:
            with reading(directory):
                reported = self.server.levels(directory).answer(metric, entities, begin, end, points)
                text = json.dumps(reported, allow_nan=False)
        except ResultError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self._send(text.encode(), "application/json")

    def _send(self, content: bytes, kind: str) -> None:
        self._stream(BytesIO(content), len(content), kind)

    def _stream(self, content: BinaryIO, size: int, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        shutil.copyfileobj(content, self.wfile, _PIECE)  # the timeout applies to each piece


_PIECE = 1 << 18
"""Bytes per write."""
_MOST_FIELDS = 10_000


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
