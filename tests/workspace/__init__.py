"""Tests of the shared workspace."""
