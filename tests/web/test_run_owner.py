"""The engine knows no workspaces; the pages and the API do."""

from __future__ import annotations

import sqlalchemy as sa

from core.tables import workspaces
from tests.web.site.site import Site


def _run(run_id: str, event: object, app: str = "loopwright") -> dict[str, object]:
    return {
        "id": run_id, "app": app, "function": "run-turn", "status": "completed", "started_at": None, "ended_at": None,
        "event": event, "output": 1, "error": None, "steps": [],
    }  # fmt: skip


def test_a_run_is_seen_in_the_workspace_that_its_event_names(site: Site) -> None:
    # Given runs of two workspaces, of nobody by name, and of a skill that somebody asked in another's name
    other = {"workspace_id": "ws_other"}
    ours = {"name": "turn/requested", "data": {"workspace_id": site.workspace_id}}
    made = {
        "ours": _run("ours", ours),
        "theirs": _run("theirs", {"name": "turn/requested", "data": other}),
        "batch": _run("batch", [{"name": "turn/finished", "data": other}]),
        "failed": _run("failed", {"name": "inngest/function.failed", "data": {"event": {"data": other}}}),
        "cron": _run("cron", {"name": "inngest/scheduled.timer", "data": {"cron": "* * * * *"}}),
        "skill": _run("skill", {"name": "skill/asked", "data": other}, app="skill-incident_triage"),
        "forgotten": _run("forgotten", None),
    }
    site.dependencies.runs.runs.update(made)
    with site.dependencies.database.unscoped() as connection:
        connection.execute(
            sa.insert(workspaces).values(
                id="ws_other", name="Other", timezone="UTC", change_seq=0, created_at=site.dependencies.clock.now()
            )
        )

    # Then the others' are neither listed nor found by their ids, on no page either
    assert [run["id"] for run in site.get("/api/v1/runs")["items"]] == ["ours", "cron", "skill", "forgotten"]
    for run_id in ("theirs", "batch", "failed"):
        assert site.client.get(f"/api/v1/runs/{run_id}").status_code == 404
        assert site.client.get(f"/runs/{run_id}").status_code == 404
        assert f"/runs/{run_id}" not in site.client.get("/runs").text
    assert site.get("/api/v1/runs/ours")["id"] == "ours"
