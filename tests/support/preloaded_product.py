"""The product, which has loaded its slowest library before it forks.

A worker that comes after a death would spend a second of processor time on that, which is a good part of what a death
costs a test.
"""

from __future__ import annotations

from app import cli
from router.language import language_of


def load() -> None:
    language_of("What shall we make?")


def main() -> None:
    cli.main()
