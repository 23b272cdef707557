"""A small server for one page and its socket, on this machine only.

It listens on the loopback address, answers only requests that name it as their host, and opens its socket only to
pages that it served itself: a page of another site, or a name that was made to point here, gets nothing.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from .messages import LONGEST

logger = logging.getLogger(__name__)

ADDRESS = "127.0.0.1"
THREAD = "contactsim-viewer"
PATIENCE = 5.0  # seconds of waiting for the server to end
_NOT_FOUND, _FORBIDDEN = 404, 403


class Listener(Protocol):
    """Who speaks with the pages; called in the server's thread."""

    period: float  # seconds between two calls of `tick`

    def opened(self, client: Client, query: str) -> None:
        """A page has come; `query` is what it says of what it knows."""

    def received(self, client: Client, message: str | bytes) -> None:
        """A page has said something."""

    def closed(self, client: Client) -> None:
        """A page has gone."""

    def tick(self) -> None:
        """Some time has passed."""


class Server:
    """Serves {path: (body, media type)} and, where there is a listener, the socket "/live".

    Args:
        files: what is served.
        listener: who speaks with the pages.
        port: where; 0: any that is free.
    """

    def __init__(self, files: Mapping[str, tuple[bytes, str]], listener: Listener | None = None, port: int = 0) -> None:
        self._sockets = bind_sockets(port, ADDRESS)
        self.port: int = self._sockets[0].getsockname()[1]
        self.hosts = tuple(f"{name}:{self.port}" for name in (ADDRESS, "localhost"))
        routes: list[Any] = [(path, _File, {"server": self, "content": content}) for path, content in files.items()]
        if listener is not None:
            routes.append(("/live", Client, {"server": self, "listener": listener}))
        self._application = Application(
            routes,
            default_handler_class=_Nothing,
            default_handler_args={"server": self},
            log_function=_log_refused,
            websocket_max_message_size=LONGEST,
        )
        self._listener = listener
        self._clients: set[Client] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name=THREAD, daemon=True)
        self._thread.start()
        self._ready.wait()

    @property
    def address(self) -> str:
        """Address to type into a browser."""
        return f"http://{ADDRESS}:{self.port}/"

    def close(self) -> None:
        """Hang up on every page and free the port; a second time is in vain."""
        loop, self._loop = self._loop, None
        if loop is not None and self._ended is not None:
            loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(PATIENCE)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *given: object) -> None:
        self.close()

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = HTTPServer(self._application)
        server.add_sockets(self._sockets)
        self._ready.set()
        while not self._ended.is_set():
            if self._listener is not None:
                self._listener.tick()
            period = self._listener.period if self._listener is not None else None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), period)
        server.stop()
        for client in tuple(self._clients):
            client.close()
        await server.close_all_connections()

    def demand_host(self, handler: RequestHandler) -> None:
        """Refuse a request that does not name this server as its host."""
        if handler.request.host not in self.hosts:
            raise HTTPError(_FORBIDDEN, "the host %r is not this one", handler.request.host[:100])


class _Handler(RequestHandler):
    """Refuses requests for another host."""

    def initialize(self, server: Server, content: tuple[bytes, str] = (b"", "text/plain")) -> None:
        self.server, self.content = server, content

    def prepare(self) -> None:
        self.server.demand_host(self)

    def set_default_headers(self) -> None:
        # Nothing but what was served here may be loaded, and nobody may put the page into a frame.
        self.set_header(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:;"
            " connect-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        )
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")
        self.clear_header("Server")

    def write_error(self, status_code: int, **more: Any) -> None:
        self.finish(f"{status_code}")


class _File(_Handler):
    def get(self) -> None:
        body, kind = self.content
        self.set_header("Content-Type", kind)
        self.finish(body)


class _Nothing(_Handler):
    def prepare(self) -> None:
        super().prepare()
        raise HTTPError(_NOT_FOUND)


class Client(WebSocketHandler):
    """A page that is connected."""

    def initialize(self, server: Server, listener: Listener) -> None:
        """Called by tornado."""
        self.server, self.listener = server, listener
        self.known: Any = None  # what the listener has told it

    def prepare(self) -> None:
        """Refuse requests for another host, and those that do not say which page they come from."""
        self.server.demand_host(self)
        if "Origin" not in self.request.headers:
            raise HTTPError(_FORBIDDEN, "a request without an origin")

    def check_origin(self, origin: str) -> bool:
        """True for a page that was served here."""
        own = origin in {f"http://{host}" for host in self.server.hosts}
        if not own:
            logger.warning("a page of %r wanted to connect and was refused", origin[:100])
        return own

    def open(self, *args: str, **kwargs: str) -> None:
        """Welcome the page."""
        self.set_nodelay(True)
        self.server._clients.add(self)
        self.listener.opened(self, self.request.query[:100])

    def on_message(self, message: str | bytes) -> None:
        """Pass on what the page says."""
        self.listener.received(self, message)

    def on_close(self) -> None:
        """Forget the page."""
        self.server._clients.discard(self)
        self.listener.closed(self)

    def send(self, message: str | bytes) -> None:
        """Send a text or bytes; to a page that has gone it is in vain."""
        try:
            sent = self.write_message(message, binary=isinstance(message, bytes))
        except WebSocketClosedError:
            self.listener.closed(self)
        else:
            sent.add_done_callback(lambda done: done.cancelled() or done.exception())  # asked for, so nobody logs it


def _log_refused(handler: RequestHandler) -> None:
    if handler.get_status() >= 400:
        logger.warning("%d for %s %r", handler.get_status(), handler.request.method, handler.request.uri[:100])


def show(page: str, open_browser: bool) -> None:
    """Serve `page` on this machine only, until Ctrl-C; nothing of it outlives the call."""
    content = page.encode("utf-8"), "text/html; charset=utf-8"
    with Server({"/": content, "/index.html": content}) as server:
        try:
            announce(server.address, open_browser)
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


def announce(address: str, open_browser: bool) -> None:
    """Say where the page is, and open it."""
    print(f"{address}  (Ctrl-C ends)", flush=True)
    if open_browser:
        webbrowser.open(address, new=2)
