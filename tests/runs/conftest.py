"""Fixtures of these tests."""

from tests.support.engines import any_engine

__all__ = ["any_engine"]
