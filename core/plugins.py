"""Installed plug-ins: packages that add tools or generators by an entry point, and how their settings are named."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

TOOL_PLUGINS = "loopwright.tools"
GENERATOR_PLUGINS = "loopwright.generators"
BUILT_IN_GENERATORS = ("studio", "openai", "jobs")
"""Names of LOOPWRIGHT_GENERATORS that need no plug-in. A plug-in with such a name is never used."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Plugin:
    """What an installed package gives under one name of an entry-point group."""

    entry_point: EntryPoint

    @property
    def name(self) -> str:
        return self.entry_point.name

    @property
    def distribution(self) -> str:
        """The name under which the package is installed, which is also how it is uninstalled."""
        return self.entry_point.dist.name if self.entry_point.dist is not None else self.name

    @property
    def prefix(self) -> str:
        """How the names of its settings begin, after `LOOPWRIGHT_`: `HOUSE_STYLE_` for `house-style`."""
        return self.name.upper().replace("-", "_") + "_"

    def __str__(self) -> str:
        return f"plug-in {self.name} ({self.distribution})"


def find_plugins(*groups: str) -> tuple[Plugin, ...]:
    """Return the installed plug-ins of these entry-point groups, by name; of all groups where none is named."""
    wanted = groups or (TOOL_PLUGINS, GENERATOR_PLUGINS)
    found = [Plugin(entry) for group in wanted for entry in entry_points(group=group)]
    return tuple(sorted(found, key=lambda one: (one.name, one.distribution)))


def find_generator_plugins(chosen: Collection[str]) -> tuple[Plugin, ...]:
    """Return the installed plug-ins that give the chosen generators, by name."""
    wanted = set(chosen).difference(BUILT_IN_GENERATORS)
    return tuple(one for one in find_plugins(GENERATOR_PLUGINS) if one.name in wanted) if wanted else ()


def owner_of(setting: str, plugins: Iterable[Plugin]) -> Plugin | None:
    """Return the plug-in whose setting this is, of several the one with the longest name."""
    fitting = [one for one in plugins if setting.startswith(one.prefix) and setting != one.prefix]
    return max(fitting, key=lambda one: len(one.prefix), default=None)


def is_told_apart(plugin: Plugin, ours: Collection[str]) -> bool:
    """Tell whether the plug-in's settings differ in name from ours, which are given without `LOOPWRIGHT_`."""
    if not _NAME.fullmatch(plugin.name):
        return False
    # `NOTIFY_` and any channel's name is a setting of ours, so no plug-in's settings may begin like that.
    taken = any(f"{name}_".startswith(plugin.prefix) for name in ours)
    return not taken and not plugin.prefix.startswith("NOTIFY_")


def name_problems(plugins: Sequence[Plugin], ours: Collection[str]) -> list[str]:
    """Name each plug-in whose settings could be taken for ours or for those of another package."""
    problems, owners = [], dict[str, str]()
    for plugin in plugins:
        if not _NAME.fullmatch(plugin.name):
            reason = "a name needs letters, digits, - and _, a letter first"
        elif not is_told_apart(plugin, ours):
            reason = f"Loopwright has settings of its own that begin with LOOPWRIGHT_{plugin.prefix[:-1]}"
        elif owners.setdefault(plugin.prefix, plugin.distribution) != plugin.distribution:
            reason = f"{owners[plugin.prefix]} has one whose settings are named alike"
        else:
            continue
        problems.append(f"{plugin}: {reason}; uninstall {plugin.distribution}, or have its entry point renamed")
    return problems
