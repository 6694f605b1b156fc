"""`python -m tests.chaos --minutes 5 --seed 7`: exit status 1 when anything is lost, doubled or asked for again."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos import report
from tests.chaos.run import run_chaos

FULL, FORTY = 5, 40
"""Minutes from which on a run must have had so many tasks with generations, or it has shown too little."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="the same seed draws the same acts")
    parser.add_argument("--engine", default="embedded", help="the address of an Inngest server")
    parser.add_argument("--report", type=Path, default=Path("reports/chaos.json"))
    parser.add_argument("--json", action="store_true", help="print the report as JSON instead of the table")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    home = Path(tempfile.mkdtemp(prefix="chaos-"))
    found = run_chaos(home, seed, options.minutes * 60, _say, options.engine)
    report.write(found, options.report)
    print(json.dumps(report.as_json(found)) if options.json else report.table(found))
    if options.minutes >= FULL and found.audit.generating < FORTY:
        print(f"only {found.audit.generating} tasks had something made", file=sys.stderr)
        return 1
    if not found.audit.good:
        print(f"kept for a look: {home}", file=sys.stderr)
        return 1
    shutil.rmtree(home)
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
