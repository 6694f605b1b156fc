"""`python -m engine`: run an engine by itself."""

import argparse
import sys
from datetime import timedelta

from engine.process import serve
from engine.settings import EngineConfig


def main(arguments: list[str] | None = None) -> None:
    """Run an engine with the given arguments; exits with status 2 for wrong arguments, 1 when it cannot start."""
    parser = argparse.ArgumentParser(
        prog="python -m engine", description="An Inngest-compatible engine on SQLite or PostgreSQL."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8288, help="0 picks a free port")
    parser.add_argument("--database-url", default="sqlite:///engine.db")
    parser.add_argument("--signing-key", help="hex, bare or with the prefix signkey-<env>-")
    parser.add_argument("--signing-key-fallback")
    parser.add_argument("--event-key", action="append", default=[], dest="event_keys")
    parser.add_argument(
        "--retry-interval", type=float, help="seconds between attempts, in place of the back-off schedule"
    )
    parser.add_argument("--lease", type=_seconds, default=timedelta(seconds=15), help="seconds until others take over")
    parser.add_argument(
        "--retention",
        type=_days,
        default=timedelta(days=30),
        help="days for which ended runs and events are kept",
    )
    parser.add_argument("--test-clock", action="store_true", help="let tests move the clock, through /test/clock")
    parser.add_argument("--otlp-endpoint", help="an OpenTelemetry collector for traces, such as http://127.0.0.1:4318")
    options = vars(parser.parse_args(arguments))
    try:
        config = EngineConfig(**{**options, "event_keys": tuple(options["event_keys"])})
    except ValueError as error:
        print(f"engine: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    serve(config)


def _seconds(text: str) -> timedelta:
    return timedelta(seconds=float(text))


def _days(text: str) -> timedelta:
    return timedelta(days=float(text))


if __name__ == "__main__":
    main()
