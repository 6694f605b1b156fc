"""A supervisor of tickers as a process of its own: `python supervised.py HOME NAME:PORT[:MODE]…`.

Prints what the supervisor says, and `READY` once all are ready.
"""

from __future__ import annotations

import sys
from pathlib import Path

from app.supervise.home_lock import HomeLock
from app.supervise.restart import RestartPolicy
from app.supervise.spec import ProcessSpec
from app.supervise.supervisor import Patience, Supervisor

TICKER = str(Path(__file__).with_name("ticker.py"))


def spec(text: str) -> ProcessSpec:
    name, port, *mode = text.split(":")
    return ProcessSpec(name, (sys.executable, TICKER, port, *mode), int(port), f"http://127.0.0.1:{port}/")


def say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    home = Path(sys.argv[1])
    with HomeLock(home):
        return Supervisor(
            home,
            [spec(text) for text in sys.argv[2:]],
            say,
            lambda: say("READY"),
            RestartPolicy(first=0.1),
            Patience(start=30, stop_one=1, stop_all=3),
        ).run()


if __name__ == "__main__":
    sys.exit(main())
