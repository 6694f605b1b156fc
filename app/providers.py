"""The generation services that the settings name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from urllib.parse import urlsplit

from app.asset_addresses import AssetAddresses
from app.session_secret import session_secret
from core.settings import Settings, SettingsError
from generation.providers.jobs import InputAddress, JobsProvider
from generation.providers.port import Provider

ENTRY_POINTS = "loopwright.generators"
OPENAI = "https://api.openai.com/v1"


def make_providers(settings: Settings) -> Mapping[str, Provider]:
    """One provider for each name in LOOPWRIGHT_GENERATORS, in that order; raises SettingsError for an unknown one."""
    return {name: _provider(name, settings) for name in settings.generators}


def _provider(name: str, settings: Settings) -> Provider:
    if name in ("studio", "jobs"):
        return _jobs(name, settings)
    if name == "openai":
        # Imported where it is chosen: the client takes longer to import than the rest of the product to start.
        from generation.providers.openai import OpenAIProvider  # noqa: PLC0415

        return OpenAIProvider(settings.openai_api_key, base_url=settings.openai_base_url or OPENAI)
    for found in entry_points(group=ENTRY_POINTS, name=name):
        make: Callable[[Settings], Provider] = found.load()
        return make(settings)
    raise SettingsError([f"LOOPWRIGHT_GENERATORS: {name!r} is not studio, openai, jobs or an installed generator"])


def _jobs(name: str, settings: Settings) -> Provider:
    if not settings.jobs_url:
        raise SettingsError([f"LOOPWRIGHT_JOBS_URL: the generator {name!r} needs its address"])
    web_url = settings.web_url.rstrip("/")
    callback = f"{web_url}/api/v1/generations/callbacks/{name}" if web_url else ""
    return JobsProvider(
        name, settings.jobs_url, settings.jobs_key, callback_url=callback, address=_signed_addresses(settings)
    )


def _signed_addresses(settings: Settings) -> InputAddress | None:
    """Inputs by address where our web process faces the network; to a neighbour on this machine the bytes go along."""
    if urlsplit(settings.web_url).hostname in (None, "localhost", "127.0.0.1", "::1"):
        return None
    addresses = AssetAddresses(session_secret(settings.home))
    return lambda sha256, until: addresses.address(settings.web_url.rstrip("/"), sha256, until)
