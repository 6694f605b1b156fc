"""Load and check the tools of installed plug-ins. An error names the package that has to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from core.plugins import TOOL_PLUGINS, Plugin, find_plugins
from core.settings import PREFIX, Settings, SettingsError, plugin_name_problems
from core.tools import Effect, Tool

ToolFactory = Callable[[Mapping[str, str]], Iterable[Tool]]
"""The function behind an entry point of the group `loopwright.tools`: makes tools from the plug-in's settings."""

_TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
# A shorter value is no secret, and hiding it would make the message unreadable.
_SECRET_LENGTH = 4


class PluginError(Exception):
    """A plug-in cannot be used. The message says why; `advice` says what to try before updating the package."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


def load_plugin_tools(settings: Settings, ours: Collection[str]) -> tuple[Tool, ...]:
    """Return the tools of all installed plug-ins; `ours` are the names that none of them may have.

    Raises SettingsError with a line for each plug-in that cannot be used.
    """
    plugins = find_plugins(TOOL_PLUGINS)
    problems = plugin_name_problems(plugins)
    found: dict[str, tuple[Plugin, Tool]] = {}
    for plugin in plugins if not problems else ():
        try:
            for tool in _load_tools(plugin, settings.of_plugin(plugin.name)):
                _check_name(tool.name, ours, found)
                found[tool.name] = (plugin, tool)
        except PluginError as error:
            problems.append(f"{plugin}: {error}; {error.advice}update or uninstall {plugin.distribution}")
    if problems:
        raise SettingsError(problems)
    return tuple(tool for _, tool in found.values())


def _load_tools(plugin: Plugin, settings: Mapping[str, str]) -> list[Tool]:
    try:
        make: ToolFactory = plugin.entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything
        raise PluginError(f"it cannot be imported ({_words_of(error)})") from None
    try:
        tools = list(make(settings))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        words = _hide(_words_of(error), plugin, settings)
        raise PluginError(f"it makes no tools ({words})", f"check {PREFIX}{plugin.prefix}… or ") from None
    for tool in tools:
        _check_shape(tool)
    return tools


def _check_shape(tool: Any) -> None:
    """Raise PluginError if a tool would fail at its first call, or could act without asking a person."""
    if isinstance(tool, type):
        raise PluginError(f"it gives the class {tool.__name__} instead of a tool made of it")
    name = getattr(tool, "name", None)
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        raise PluginError(f"a tool's name needs small letters, digits and _, a letter first, not {name!r}")
    wanted = {"domain": str, "description": str, "repeatable": bool, "effect": Effect}
    for attribute, kind in wanted.items():
        if not isinstance(getattr(tool, attribute, None), kind):
            raise PluginError(f"its tool {name} needs {attribute!r}, of type {kind.__name__}")
    arguments = getattr(tool, "arguments", None)
    if not (isinstance(arguments, type) and issubclass(arguments, BaseModel)):
        raise PluginError(f"its tool {name} needs 'arguments', a class of pydantic's BaseModel")
    if not callable(getattr(tool, "run", None)):
        raise PluginError(f"its tool {name} needs a method 'run'")
    if tool.effect not in (Effect.READ, Effect.WRITE):
        raise PluginError(
            f"its tool {name} has the effect {tool.effect}, which needs a card; a plug-in's tool may only read or write"
        )


def _check_name(name: str, ours: Collection[str], found: Mapping[str, tuple[Plugin, Tool]]) -> None:
    if name in ours:
        raise PluginError(f"its tool {name} has the name of a tool of Loopwright", "rename the tool, or ")
    if name in found:
        raise PluginError(f"its tool {name} has the name of a tool of {found[name][0]}")


def _words_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _hide(words: str, plugin: Plugin, settings: Mapping[str, str]) -> str:
    """Replace the values of settings, which may be secrets, by the settings' names in a message."""
    for name, value in sorted(settings.items(), key=lambda one: -len(one[1])):
        if len(value) >= _SECRET_LENGTH:
            words = words.replace(value, PREFIX + plugin.prefix + name.upper())
    return words
