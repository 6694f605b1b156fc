"""What is wrong with a skill file, found without ever running it.

from skills.checks import check_source
"""

from skills.checks.gate import check_source

__all__ = ["check_source"]
