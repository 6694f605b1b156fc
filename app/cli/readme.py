"""Write the README's tables from the commands and the settings: `python -m app.cli.readme`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from app.cli.root import COMMANDS
from core.settings import Settings, variable_of

README = Path(__file__).parents[2] / "README.md"
_BLOCK = re.compile(r"(<!-- (commands|settings) -->\n).*?(<!-- end -->)", re.DOTALL)


def commands_table() -> str:
    """Return the table of commands."""
    rows = ["| command | does |", "|---|---|"]
    rows += [f"| `loopwright {name}` | {_cell(line)} |" for name, (_, line) in COMMANDS.items()]
    return "\n".join(rows) + "\n"


def settings_table() -> str:
    """Return the table of environment variables with their defaults."""
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        rows.append(f"| `{variable_of(name)}` | {_default(field.default)} | {_cell(field.description or '')} |")
    return "\n".join(rows) + "\n"


def fill_tables(text: str) -> str:
    """Return the README's text with both tables filled in between their marks."""
    tables = {"commands": commands_table(), "settings": settings_table()}
    return _BLOCK.sub(lambda found: f"{found[1]}{tables[found[2]]}{found[3]}", text)


def _default(value: object) -> str:
    text = ",".join(value) if isinstance(value, tuple) else str(value or "") if isinstance(value, dict) else str(value)
    return "" if not text or "**" in text else f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> int:
    README.write_text(fill_tables(README.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
