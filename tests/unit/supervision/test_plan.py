from __future__ import annotations

from pathlib import Path

import pytest

from app.supervision.plan import HomeKeys, plan_processes, process_names
from app.supervision.process_spec import ProcessSpec
from core.settings import Settings, load_settings

KEYS = HomeKeys(event="event-key", signing="signkey-prod-1234", jobs="jobs-key")
ELSEWHERE = "http://127.0.0.1:8288"


def settings(**values: object) -> Settings:
    return load_settings(home="/srv/home", **values)


def planned(chosen: Settings, engine: str = "embedded") -> dict[str, ProcessSpec]:
    names = process_names(chosen, engine)
    return {
        spec.name: spec
        for spec in plan_processes(chosen, KEYS, dict(zip(names, range(9000, 9100), strict=False)), engine)
    }


@pytest.mark.parametrize(
    ("values", "engine", "names"),
    [
        ({}, "embedded", ["web", "engine", "worker", "sidecar", "model", "studio", "index"]),
        ({}, ELSEWHERE, ["web", "worker", "sidecar", "model", "studio", "index"]),
        ({"openai_api_key": "sk-1"}, "embedded", ["web", "engine", "worker", "sidecar", "studio", "index"]),
        (
            {"generators": "jobs", "jobs_url": "http://127.0.0.1:7000"},
            "embedded",
            ["web", "engine", "worker", "sidecar", "model", "index"],
        ),
        (
            {"vector_url": "http://chroma.example:8000"},
            "embedded",
            ["web", "engine", "worker", "sidecar", "model", "studio"],
        ),
    ],
)
def test_only_what_is_needed_runs(values: dict[str, object], engine: str, names: list[str]) -> None:
    assert process_names(settings(**values), engine) == names


def test_the_web_is_started_last_so_that_it_stops_first() -> None:
    names = [name for name, spec in planned(settings()).items() if not spec.late]

    assert names[0] == "engine"
    assert names[-1] == "web"


def test_nobody_waits_for_the_index_and_everybody_knows_its_address() -> None:
    specs = planned(settings())

    assert [name for name, spec in specs.items() if spec.late] == ["index"]
    assert specs["index"].ready == "http://127.0.0.1:9006/api/v2/heartbeat"
    assert {spec.env["LOOPWRIGHT_VECTOR_URL"] for spec in specs.values()} == {"http://127.0.0.1:9006"}


def test_a_server_that_is_named_is_used_instead() -> None:
    assert "LOOPWRIGHT_VECTOR_URL" not in planned(settings(vector_url="http://chroma.example:8000"))["worker"].env


def test_each_process_serves_its_own_port_from_the_home() -> None:
    worker = planned(settings())["worker"]

    assert worker.port == 9002
    assert worker.argv[2:] == (
        *("-m", "app.cli", "serve", "worker", "--home", str(Path("/srv/home").resolve())),
        *("--port", "9002", "--supervised"),
    )
    assert worker.ready == "http://127.0.0.1:9002/readyz"


def test_the_embedded_engine_is_keyed() -> None:
    env = planned(settings())["worker"].env

    assert env["INNGEST_DEV"] == "0"
    assert env["INNGEST_BASE_URL"] == "http://127.0.0.1:9001"
    assert env["INNGEST_SIGNING_KEY"] == KEYS.signing
    assert env["INNGEST_EVENT_KEY"] == KEYS.event


def test_an_engine_elsewhere_without_a_signing_key_is_a_dev_server() -> None:
    env = planned(settings(), ELSEWHERE)["worker"].env

    assert env["INNGEST_DEV"] == ELSEWHERE
    assert env["INNGEST_BASE_URL"] == ELSEWHERE
    assert "INNGEST_SIGNING_KEY" not in env


def test_an_engine_elsewhere_with_a_signing_key_is_a_production_server() -> None:
    env = planned(settings(inngest_signing_key="signkey-prod-9999"), ELSEWHERE)["worker"].env

    assert env["INNGEST_DEV"] == "0"
    assert env["INNGEST_BASE_URL"] == ELSEWHERE


def test_no_key_is_on_a_command_line_or_in_a_printed_spec() -> None:
    for spec in planned(settings()).values():
        assert not any(secret in str(spec) for secret in (KEYS.event, KEYS.signing, KEYS.jobs))


def test_a_real_provider_keeps_its_address() -> None:
    specs = planned(settings(openai_api_key="sk-1", openai_base_url="https://models.example/v1"))

    assert "OPENAI_BASE_URL" not in specs["worker"].env
