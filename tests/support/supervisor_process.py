"""A supervisor of tickers as a process of its own: `python supervisor_process.py program|fork HOME NAME:PORT[:MODE]…`.

Prints what the supervisor says, and `READY` once all are ready. The mode `late` is the supervisor's, others a ticker's.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from app.supervision.home_state import HomeLock
from app.supervision.process_spec import ForkSpec, ProcessSpec
from app.supervision.supervisor import Patience, RestartPolicy, Supervisor
from tests.support import ticker


def spec(kind: str, text: str) -> ProcessSpec:
    name, port, *modes = text.split(":")
    mode = [one for one in modes if one != "late"]
    return ProcessSpec(
        name,
        (sys.executable, ticker.__file__, port, *mode),
        int(port),
        f"http://127.0.0.1:{port}/",
        {"TICKER": name},
        ForkSpec(partial(ticker.serve, int(port), *mode)) if kind == "fork" else None,
        late="late" in modes,
    )


def say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    kind, home = sys.argv[1], Path(sys.argv[2])
    with HomeLock(home):
        return Supervisor(
            home,
            [spec(kind, text) for text in sys.argv[3:]],
            say,
            lambda: say("READY"),
            RestartPolicy(first=0.1, healthy_after=60),
            Patience(start=30, stop_one=1, stop_all=3, late=0.5),
        ).run()


if __name__ == "__main__":
    sys.exit(main())
