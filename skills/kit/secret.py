"""Secrets that a skill can use but never sees."""

from __future__ import annotations


class Secret:
    """Placeholder for a secret, to write into a header's value; the broker fills it in."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"{{{{secret:{self.name}}}}}"

    def __repr__(self) -> str:
        return f"secrets[{self.name!r}]"


class Secrets:
    """`secrets["NAME"]` for every name that the manifest's `secrets` gives a host.

        http.get("https://metrics.example/api", headers={"Authorization": f"Bearer {secrets['METRICS_TOKEN']}"})

    The broker fills it in when the request goes to that host, and only there. If an answer repeats the secret, the
    skill sees its name instead. People store secrets with `loopwright secrets set NAME`.
    """

    def __getitem__(self, name: str) -> Secret:
        return Secret(name)


secrets = Secrets()
