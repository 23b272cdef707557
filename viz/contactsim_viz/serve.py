"""Shows a page in the browser for as long as the program waits."""

from __future__ import annotations

import threading
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def show(page: str, open_browser: bool) -> None:
    """Serve `page` on this machine only, until Ctrl-C; the server is a thread, so nothing outlives the program."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(page.encode("utf-8"))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"{address}  (Ctrl-C ends)", flush=True)
        try:
            if open_browser:
                webbrowser.open(address, new=2)
            thread.join()
        except KeyboardInterrupt:
            print()
        finally:
            server.shutdown()


def _handler(body: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path in ("/", "/index.html")
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body) if known else 0))
            self.end_headers()
            if known:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing about each request."""

    return Handler
