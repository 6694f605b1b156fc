"""A tiny server for the supervisor's tests: `python ticker.py PORT [MODE]`.

`/` answers its process id, `/env/NAME` a variable, `/handles` what it holds open.
"""

from __future__ import annotations

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = self._answer().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self) -> str:
        match self.path.split("/")[1:]:
            case ["env", name]:
                return os.environ.get(name, "")
            case ["handles"]:
                return "\n".join(os.path.realpath(entry.path) for entry in os.scandir("/proc/self/fd"))
            case _:
                return str(os.getpid())

    def log_message(self, format: str, *args: object) -> None:
        print(format % args, flush=True)


class Server(ThreadingHTTPServer):
    daemon_threads = True


def serve(port: int, mode: str = "") -> None:
    """Serve until killed. Mode `die`: end at once; `deaf`: ignore SIGTERM."""
    match mode:
        case "die":
            print("no such table: turnips", flush=True)
            sys.exit(3)
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Server(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), *sys.argv[2:])
