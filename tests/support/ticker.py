"""A tiny server for the supervisor's tests: `python ticker.py PORT`. Answers its process id; `/slow` never answers."""

from __future__ import annotations

import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/slow":
            time.sleep(3600)
        body = str(os.getpid()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        print(format % args, flush=True)


class Server(ThreadingHTTPServer):
    daemon_threads = True


def main() -> None:
    match sys.argv[2:]:
        case ["die"]:
            print("no such table: turnips", flush=True)
            sys.exit(3)
        case ["deaf"]:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()


if __name__ == "__main__":
    main()
