"""Checks that find the problems of a skill file without running it.

from skills.checks import check_source
"""

from skills.checks.gate import check_source

__all__ = ["check_source"]
