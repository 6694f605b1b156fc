"""`python -m tests.engine.differential URL`: run the cases on the server at that address and tell what differs.

A real one runs as `inngest dev --no-discovery --no-poll --tick 10 --retry-interval 1`: with its own pauses
runs have not ended when the record closes, and events of one moment are taken in any order.
"""

import json
import logging
import sys
from pathlib import Path

from tests.engine.differential.record import record

EXPECTED = Path(__file__).with_name("expected.json")


def main(arguments: list[str]) -> int:
    """`--write URL` stores what came of them as the expectation; returns the number of differing cases."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    found = record(arguments[-1])
    if arguments[0] == "--write":
        lines = [f"{json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}" for name, one in sorted(found.items())]
        EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return 0
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    differing = [name for name in sorted({*found, *expected}) if found.get(name) != expected.get(name)]
    for name in differing:
        print(f"{name}\n  expected {json.dumps(expected.get(name))}\n  found    {json.dumps(found.get(name))}")
    print(f"{len(found)} cases, {len(differing)} differ")
    return len(differing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
