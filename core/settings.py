"""Settings, read once from the environment. The table in the README is generated from this model."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from core.plugins import Plugin, find_plugins, is_told_apart, name_problems, owner_of
from core.process import crash

PREFIX = "LOOPWRIGHT_"
_DATABASE = re.compile(r"(sqlite|postgres|postgresql)(\+\w+)?://")
_CHANNEL = re.compile(PREFIX + "NOTIFY_([A-Z][A-Z0-9_]{0,31})")


class SettingsError(ValueError):
    """Some settings are wrong; `problems` has a line for each of them.

    `sound` has the other settings, with defaults instead of the wrong ones. It is for further checks only.
    """

    def __init__(self, problems: list[str], sound: Settings | None = None) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.sound = sound


def _split_names(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def is_web_address(value: str) -> bool:
    """Tell whether this is an HTTP or HTTPS address."""
    try:
        parts = urlsplit(value)
        return bool(parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0)
    except ValueError:
        return False


def _web_address(value: str) -> str:
    # The message does not repeat the value, since an address may contain a secret.
    if value and not is_web_address(value):
        raise ValueError("this needs an address that begins with http:// or https://")
    return value


def _database_address(value: str) -> str:
    if value and not _DATABASE.match(value):
        raise ValueError("this needs an address such as postgresql://user@host/name, or sqlite:////a/file")
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_names)]
DatabaseAddress = Annotated[str, AfterValidator(_database_address)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
# Amounts are stored as whole millionths in 64 bits; the bound leaves room for their sums.
Amount = Annotated[Decimal, Field(ge=0, le=1_000_000_000, decimal_places=6)]
YEAR = 31_536_000
Seconds = Annotated[float, Field(gt=0, le=YEAR)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


def _alias(name: str) -> AliasChoices:
    return AliasChoices(name)


class Settings(BaseSettings):
    """All settings; only `load_settings` reads them from the environment."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", populate_by_name=True, env_ignore_empty=True
    )

    home: Path = Field(Path("./var"), description="data, keys, the agent folder `workspace/`, assets, the SQLite file")
    database_url: DatabaseAddress = Field("", description="PostgreSQL in production; empty: SQLite in the home")
    assets_url: str = Field("", description="any fsspec address for the bytes of works; empty: files in the home")
    skill_path: str = Field("", description="people's own skill folders, besides the shipped and the agent's")
    vector_url: WebAddress = Field("", description="a Chroma server; empty: the supervised index")

    openai_api_key: SecretStr = Field(
        SecretStr(""), validation_alias=_alias("OPENAI_API_KEY"), description="empty: the offline stand-in answers"
    )
    openai_base_url: WebAddress = Field(
        "", validation_alias=_alias("OPENAI_BASE_URL"), description="any OpenAI-compatible provider"
    )
    model: str = Field(
        "",
        description="the model asked for decisions and verdicts; with OPENAI_API_KEY it must be named, unless "
        "OPENAI_BASE_URL is set: then `default` is asked for",
    )
    fallback_model: str = Field("", description="asked when the first model is unavailable")
    model_timeout_seconds: Seconds = Field(120, description="time limit of one model request")

    generators: Names = Field(
        ("studio",),
        description="comma list of `studio` (offline), `openai`, `jobs`, and names that installed packages give in the "
        "entry-point group `loopwright.generators`",
    )
    jobs_url: WebAddress = Field("", description="a service that speaks the jobs protocol")
    jobs_key: SecretStr = Field(SecretStr(""), description="its key, which also signs its callbacks")

    inngest_dev: str = Field("", validation_alias=_alias("INNGEST_DEV"), description="Inngest's own meaning")
    inngest_base_url: WebAddress = Field(
        "", validation_alias=_alias("INNGEST_BASE_URL"), description="the engine's address"
    )
    inngest_env: str = Field(
        "", validation_alias=_alias("INNGEST_ENV"), description="Inngest's own meaning: a branch environment's name"
    )
    inngest_event_key: SecretStr = Field(
        SecretStr(""), validation_alias=_alias("INNGEST_EVENT_KEY"), description="Inngest's own meaning"
    )
    inngest_signing_key: SecretStr = Field(
        SecretStr(""), validation_alias=_alias("INNGEST_SIGNING_KEY"), description="Inngest's own meaning"
    )
    inngest_signing_key_fallback: SecretStr = Field(
        SecretStr(""), validation_alias=_alias("INNGEST_SIGNING_KEY_FALLBACK"), description="Inngest's own meaning"
    )

    web_url: WebAddress = Field(
        "", description="the web process as providers reach it, for callbacks and signed assets"
    )
    worker_url: WebAddress = Field("", description="the worker as the engine reaches it")
    sidecar_url: WebAddress = Field("", description="the sidecar as the engine reaches it")
    timezone: str = Field("UTC", description="the zone of a new workspace, by its IANA name")
    clock_url: WebAddress = Field("", description="the engine's test clock, for tests")
    crash_at: str = Field("", description="where processes kill themselves, for tests; see `core/process/crash.py`")
    otlp_endpoint: WebAddress = Field("", description="where traces are exported to")
    notify_webhook: WebAddress = Field(
        "", description="where notices are posted whose channel has no webhook of its own"
    )
    notify_channels: Mapping[str, SecretStr] = Field(
        {},
        validation_alias=_alias("LOOPWRIGHT_NOTIFY_<CHANNEL>"),
        description="a channel's own webhook, such as `LOOPWRIGHT_NOTIFY_OPS`; Slack's incoming webhooks will do",
    )

    plugin_settings: Mapping[str, Mapping[str, SecretStr]] = Field(
        {},
        validation_alias=_alias("LOOPWRIGHT_<PLUGIN>_<NAME>"),
        description="a setting of an installed plug-in, named by its entry point, such as "
        "`LOOPWRIGHT_HOUSE_STYLE_AVOID` of `house-style`",
    )

    retry_seconds: int = Field(
        0, ge=0, le=YEAR, description="pause before a retry on the embedded engine; 0: as Inngest"
    )
    retention_days: float = Field(
        30,
        gt=0,
        le=36_500,
        description="how long the embedded engine remembers ended runs and events, and the book what skills did",
    )
    lease_seconds: Seconds = Field(30, description="how long a turn is held without a sign of life")
    watch_seconds: Seconds = Field(10, description="pause between two passes of the watch")
    memory_quiet_seconds: int = Field(5, ge=1, le=YEAR, description="quiet after which the memory reads what was said")
    poll_seconds: Seconds = Field(2, description="first pause before a provider is asked for news")
    order_deadline_seconds: Seconds = Field(3600, description="how long a job may take before it counts as lost")
    overrun_factor: Decimal = Field(
        Decimal(2), ge=1, le=1000, description="how many times its quote an order may be charged at most"
    )
    skill_failures: int = Field(
        3, ge=1, le=1_000_000, description="failed runs in a row after which a skill's version is quarantined"
    )
    skill_cards: str = Field(
        "new",
        pattern="^(new|always)$",
        description="`always`: a card for each change by the agent, else for what is new",
    )
    skill_edits_per_day: int = Field(
        5, ge=1, le=1_000_000, description="how often the agent may change one skill a day"
    )
    skill_idle_seconds: Seconds = Field(600, description="after so long without a call a skill's process is stopped")
    skill_call_seconds: Seconds = Field(900, description="time limit of one call of a skill")
    shadow_runs: Count = Field(1, description="runs beside which an agent's change of a skill is tried first")
    canary_runs: Count = Field(3, description="runs that such a change must complete before it serves all")
    skill_repairs_per_day: Count = Field(3, description="how often a day the agent is asked to repair one skill")
    free_per_operation: Amount = Field(
        Decimal("0.30"), description="amount below which a paid act needs no card, in USD"
    )
    free_per_day: Amount = Field(Decimal("2.00"), description="sum of such acts a day and workspace, in USD")
    opening_balance: Amount = Field(Decimal("100.00"), description="credit of a new workspace, in USD")
    model_price_input: Amount = Field(
        Decimal("2.50"), description="what a skill's budget is charged for a million tokens it asks with, in USD"
    )
    model_price_output: Amount = Field(
        Decimal("10.00"), description="and for a million tokens it is answered with; see your provider's prices"
    )

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in _zones():
            raise ValueError(f"{value!r} is not an IANA time zone, such as Europe/Paris")
        return value

    @field_validator("crash_at")
    @classmethod
    def _known_points(cls, value: str) -> str:
        crash.check(value)
        return value

    def webhook_of(self, channel: str) -> str:
        """Return where notices of a channel are posted; empty when they are shown on the page only."""
        own = self.notify_channels.get(channel.replace("-", "_"))
        return own.get_secret_value() if own is not None else self.notify_webhook

    def of_plugin(self, name: str) -> dict[str, str]:
        """Return the settings of the plug-in `name`: what follows its prefix, in lower case, with its value."""
        return {key: value.get_secret_value() for key, value in self.plugin_settings.get(name, {}).items()}

    @property
    def offline_model(self) -> bool:
        """Whether the offline stand-in answers instead of a model."""
        return not self.openai_api_key.get_secret_value()

    @property
    def sql_url(self) -> str:
        """Return the SQLAlchemy address of the database, with psycopg2 for PostgreSQL."""
        if not self.database_url:
            return f"sqlite:///{self.home.resolve() / 'loopwright.sqlite'}"
        scheme, _, rest = self.database_url.partition("://")
        return f"postgresql+psycopg2://{rest}" if scheme in {"postgresql", "postgres"} else self.database_url


@cache
def _zones() -> Set[str]:
    """Return all time zones, read once, since they are hundreds of files."""
    return available_timezones()


def variable_of(name: str) -> str:
    """Return the environment variable of a field."""
    alias = Settings.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else PREFIX + name.upper()


def load_settings(**overrides: Any) -> Settings:
    """Read the environment; raises SettingsError with all problems, unknown `LOOPWRIGHT_*` variables included."""
    known = {variable_of(name) for name in Settings.model_fields}
    channels = {
        match[1].lower(): value
        for name, value in os.environ.items()
        if name not in known and (match := _CHANNEL.fullmatch(name))
    }
    others = {name for name in os.environ if name.startswith(PREFIX)} - known
    others = {name.removeprefix(PREFIX) for name in others if not _CHANNEL.fullmatch(name)}
    owners = _owners(others)
    problems = [
        f"{PREFIX}{name} is not a setting of Loopwright or of an installed plug-in; see the table in the README"
        for name in sorted(others - owners.keys())
    ]
    problems += [
        f"{PREFIX}NOTIFY_{channel.upper()}: {channel} needs an address that begins with http:// or https://"
        for channel, address in sorted(channels.items())
        if address and not address.startswith(("http://", "https://"))
    ]
    given = {
        "notify_channels": {name: url for name, url in channels.items() if url},
        "plugin_settings": _plugin_settings(owners),
        **overrides,
    }
    try:
        settings = Settings(**given)
    except ValidationError as error:
        wrong = {str(one["loc"][0]) if one["loc"] else "settings": _strip_prefix(one["msg"]) for one in error.errors()}
        fields = {_field_of(place): message for place, message in wrong.items()}
        problems += [
            f"{variable_of(name) if name in Settings.model_fields else name}: {message}"
            for name, message in fields.items()
        ]
        raise SettingsError(problems, _without(given, fields.keys() & Settings.model_fields.keys())) from None
    if problems:
        raise SettingsError(problems, settings)
    return settings


def plugin_name_problems(plugins: Sequence[Plugin]) -> list[str]:
    """Name each plug-in that is refused, since its settings could be taken for ours or for another's."""
    return name_problems(plugins, _our_names())


def _our_names() -> Set[str]:
    return {variable_of(name).removeprefix(PREFIX) for name in Settings.model_fields}


def _owners(names: Set[str]) -> Mapping[str, Plugin]:
    """Find the plug-ins whose settings these are, by the name without its prefix; other names are left out."""
    if not names:
        return {}
    plugins = [one for one in find_plugins() if is_told_apart(one, _our_names())]
    return {name: owner for name in names if (owner := owner_of(name, plugins)) is not None}


def _plugin_settings(owners: Mapping[str, Plugin]) -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, plugin in owners.items():
        # An empty value counts as not set, as with our own settings.
        if value := os.environ[PREFIX + name]:
            found.setdefault(plugin.name, {})[name.removeprefix(plugin.prefix).lower()] = value
    return found


def _strip_prefix(message: str) -> str:
    """Remove the prefix that pydantic puts before the message of a validator."""
    return message.removeprefix("Value error, ")


def _field_of(place: str) -> str:
    """Return the field of an error, whose location may be the field's variable."""
    return next((name for name in Settings.model_fields if place in {name, variable_of(name)}), place)


def _without(given: Mapping[str, Any], wrong: Set[str]) -> Settings | None:
    """Make settings with defaults for the wrong ones; None where even those are refused."""
    defaults = {name: Settings.model_fields[name].default for name in wrong}
    try:
        return Settings(**{**given, **defaults})
    except ValidationError:
        return None
