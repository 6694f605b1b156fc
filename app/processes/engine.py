"""The embedded engine as a process."""

from __future__ import annotations

from datetime import timedelta

import click

from app.processes.process import ProcessOptions
from core.settings import Settings
from engine.process import serve
from engine.settings import EngineConfig


def run(options: ProcessOptions) -> None:
    """Serve the engine: with keys if Inngest's key variables are set, else without and on loopback only.

    Raises UsageError for wrong keys.
    """
    options.settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        config = engine_config(options)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    serve(config)


def engine_config(options: ProcessOptions) -> EngineConfig:
    """Return the engine's configuration. Raise ValueError if keys and address do not fit together."""
    settings = options.settings
    event_key = settings.inngest_event_key.get_secret_value()
    return EngineConfig(
        database_url=engine_database_url(settings),
        host=options.host,
        port=options.port,
        signing_key=settings.inngest_signing_key.get_secret_value() or None,
        signing_key_fallback=settings.inngest_signing_key_fallback.get_secret_value() or None,
        event_keys=(event_key,) if event_key else (),
        retry_interval=settings.retry_seconds or None,
        retention=timedelta(days=settings.retention_days),
        test_clock=options.test_clock,
        otlp_endpoint=settings.otlp_endpoint or None,
    )


def engine_database_url(settings: Settings) -> str:
    """Return its database: a separate SQLite file, as SQLite has one writer, or tables beside ours on PostgreSQL."""
    return settings.sql_url if settings.database_url else f"sqlite:///{settings.home.resolve() / 'engine.sqlite'}"
