"""Load and check the tools and generators of installed plug-ins. An error names the package that has to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, SecretStr

from core.plugins import TOOL_PLUGINS, Plugin, find_generator_plugins, find_plugins
from core.settings import PREFIX, Settings, SettingsError, plugin_name_problems, variable_of
from core.tools import Effect, Tool
from generation.providers.port import Provider

ToolFactory = Callable[[Mapping[str, str]], Iterable[Tool]]
"""The function behind an entry point of the group `loopwright.tools`: makes tools from the plug-in's settings."""

GeneratorFactory = Callable[[Settings], Provider]
"""The function behind an entry point of the group `loopwright.generators`: makes the provider from the settings.

It gets all of Loopwright's settings and reads those of its plug-in by `settings.of_plugin(name)`. The provider has the
name of the entry point. The function runs once in each process and once in the check before the start, so it must not
call the service.
"""

_TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
# A shorter value is no secret, and hiding it would make the message unreadable.
_SECRET_LENGTH = 4
_PROVIDER_METHODS = tuple(name for name, value in vars(Provider).items() if callable(value) and name[0] != "_")


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
            problems.append(_problem_line(plugin, error))
    if problems:
        raise SettingsError(problems)
    return tuple(tool for _, tool in found.values())


def load_plugin_generators(settings: Settings) -> dict[str, Provider]:
    """Return the providers of the plug-ins that LOOPWRIGHT_GENERATORS names, by name. Calls no service.

    Raises SettingsError with a line for each plug-in that cannot be used.
    """
    plugins = find_generator_plugins(settings.generators)
    problems = plugin_name_problems(plugins)
    found: dict[str, Provider] = {}
    for plugin in plugins if not problems else ():
        try:
            found[plugin.name] = _load_provider(plugin, settings)
        except PluginError as error:
            problems.append(_problem_line(plugin, error))
    if problems:
        raise SettingsError(problems)
    return found


def _problem_line(plugin: Plugin, error: PluginError) -> str:
    return f"{plugin}: {error}; {error.advice}update or uninstall {plugin.distribution}"


def _import(plugin: Plugin) -> Any:
    try:
        return plugin.entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything
        raise PluginError(f"it cannot be imported ({_words_of(error)})") from None


def _load_tools(plugin: Plugin, settings: Mapping[str, str]) -> list[Tool]:
    make: ToolFactory = _import(plugin)
    try:
        tools = list(make(settings))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything
        words = _hide(_words_of(error), _plugin_values(plugin, settings))
        raise PluginError(f"it makes no tools ({words})", _settings_advice(plugin)) from None
    for tool in tools:
        _check_shape(tool)
    return tools


def _load_provider(plugin: Plugin, settings: Settings) -> Provider:
    make: GeneratorFactory = _import(plugin)
    try:
        provider = make(settings)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything
        words = _hide(_words_of(error), _secret_values(settings))
        raise PluginError(f"it makes no provider ({words})", _settings_advice(plugin)) from None
    _check_provider(plugin, provider)
    return provider


def _check_provider(plugin: Plugin, provider: Any) -> None:
    """Raise PluginError if the provider lacks a part of the port, or has another name than its plug-in."""
    if isinstance(provider, type):
        raise PluginError(f"it gives the class {provider.__name__} instead of a provider made of it")
    missing = [name for name in _PROVIDER_METHODS if not callable(getattr(provider, name, None))]
    if missing:
        named = ", ".join(repr(name) for name in missing)
        raise PluginError(
            f"it gives a {type(provider).__name__} without {named}",
            f"add every method of {Provider.__module__}.{Provider.__name__}, or ",
        )
    if not isinstance(getattr(provider, "honours_keys", None), bool):
        raise PluginError("its provider needs 'honours_keys', of type bool")
    name = getattr(provider, "name", None)
    if name != plugin.name:
        raise PluginError(
            f"its provider needs the 'name' {plugin.name!r}, as in LOOPWRIGHT_GENERATORS, not {name!r}",
            "give the provider and its entry point one name, or ",
        )


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
    if isinstance(error, SettingsError):
        # Its lines already name the settings and say what is wrong.
        return "; ".join(error.problems)
    return f"{type(error).__name__}: {error}"


def _settings_advice(plugin: Plugin) -> str:
    return f"check {PREFIX}{plugin.prefix}… or "


def _hide(words: str, values: Mapping[str, str]) -> str:
    """Replace the values of settings, which may be secrets, by the names of their variables in a message."""
    for variable, value in sorted(values.items(), key=lambda one: -len(one[1])):
        if len(value) >= _SECRET_LENGTH:
            words = words.replace(value, variable)
    return words


def _plugin_values(plugin: Plugin, settings: Mapping[str, str]) -> dict[str, str]:
    return {PREFIX + plugin.prefix + name.upper(): value for name, value in settings.items()}


def _secret_values(settings: Settings) -> dict[str, str]:
    """Return all values that may be secrets, by their variables: a generator's function gets them all."""
    fields = {variable_of(name): getattr(settings, name) for name in Settings.model_fields}
    values = {name: value.get_secret_value() for name, value in fields.items() if isinstance(value, SecretStr)}
    values |= {f"{PREFIX}NOTIFY_{one.upper()}": url.get_secret_value() for one, url in settings.notify_channels.items()}
    values[variable_of("database_url")] = settings.database_url
    for plugin in find_plugins():
        values |= _plugin_values(plugin, settings.of_plugin(plugin.name))
    return values
