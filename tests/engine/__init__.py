"""Tests of the embedded engine: real processes, the real SDK, real HTTP."""
