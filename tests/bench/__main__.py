"""Every benchmark: `python -m tests.bench [NAME …]`; prints tables and writes `reports/bench.json`.

With `--server URL` the engine's figures stand beside those of another server, with their ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench import bench_engine, bench_engine_pages, bench_jail, bench_search, bench_skills, bench_turn, steps

Asked = argparse.Namespace
Rows = list[dict[str, Any]]
BENCHES: Mapping[str, Callable[[Asked], Rows]] = {
    "steps": lambda asked: [asdict(row) for row in steps.measure(_say)],
    "turn": lambda asked: bench_turn.rows(),
    "skills": lambda asked: bench_skills.rows(),
    "search": lambda asked: bench_search.rows(),
    "jail": lambda asked: bench_jail.rows(_say),
    "engine": lambda asked: bench_engine.rows(server=asked.server, server_pid=asked.server_pid),
    "engine-pages": lambda asked: bench_engine_pages.rows(),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], metavar="NAME", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--report", type=Path, default=Path("reports/bench.json"))
    parser.add_argument("--json", action="store_true", help="print the report as JSON instead of tables")
    bench_engine.add_server_options(parser)
    options = parser.parse_args()
    found: dict[str, Any] = {"cores": os.cpu_count()}
    for name in options.names or BENCHES:
        load = os.getloadavg()[0]
        found[name] = {"load_before": round(load, 1), "rows": BENCHES[name](options)}
        if not options.json:
            print(f"{name} (load {load:.1f} on {os.cpu_count()} cores before it began)\n{table(found[name]['rows'])}\n")
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(found, indent=1) + "\n")
    if options.json:
        print(json.dumps(found))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    width = {name: max(len(name), *(len(str(row.get(name, ""))) for row in rows)) + 2 for name in names}
    lines = ["".join(f"{name:<{width[name]}}" for name in names)]
    lines += ["".join(f"{row.get(name, '')!s:<{width[name]}}" for name in names) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
