"""A bill beyond what was agreed, as people and programs see it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from click.testing import CliRunner

from app.cli import main
from generation.orders.end import finish_order
from generation.orders.states import OrderState
from runtime.limits import credits
from tests.web.site.site import Site
from tests.web.site.workspace_rows import WorkspaceRows, insert_workspace_rows

WORDS = (
    "'Harbour poster 3' was quoted at 0.04 USD. studio billed 2.00 USD, and 0.08 USD is charged, the most that was "
    "agreed. The rest is contested with studio: nothing more is paid for it here. "
    "The task's next paid act asks you first."
)


@pytest.fixture
def rows(site: Site) -> WorkspaceRows:
    """A task whose third poster is done, for fifty times its price."""
    rows = insert_workspace_rows(site)
    with site.writing() as scope:
        credits.reserve_credit(scope, rows.order_id, Decimal("0.04"), task_id=rows.task_id)
        assert finish_order(scope, rows.order_id, OrderState.SUCCEEDED, claim="2.00 USD", object_ids=rows.pictures[2:3])
    return rows


@pytest.mark.boundary(38)
def test_the_order_shows_what_was_quoted_billed_and_charged_and_what_is_contested(
    site: Site, rows: WorkspaceRows
) -> None:
    order = site.get(f"/api/v1/generations/{rows.order_id}")
    assert order["most"] == order["charge"] == {"amount": "0.08", "currency": "USD"}
    assert order["claim"] == "2.00 USD"
    assert order["contested"] == {
        "reason": "above_most",
        "quoted": {"amount": "0.04", "currency": "USD"},
        "billed": "2.00 USD",
        "charged": {"amount": "0.08", "currency": "USD"},
        "with": "studio",
        "text": WORDS,
    }
    assert site.get(f"/api/v1/tasks/{rows.task_id}")["generations"][0]["contested"] == order["contested"]
    assert site.get("/api/v1/budget")["balance"] == "99.92"


@pytest.mark.boundary(38)
def test_a_contested_bill_is_shown_on_page_notice_and_command_line(site: Site, rows: WorkspaceRows) -> None:
    page = site.client.get(f"/tasks/{rows.task_id}").text
    assert WORDS.replace("'", "&#39;") in page
    assert [one["text"] for one in site.get("/api/v1/thread")["items"] if one.get("text") == WORDS] == [WORDS]
    told = CliRunner().invoke(main, ["task", rows.task_id, "--url", site.url, "--token", site.token])
    assert told.exit_code == 0, told.output
    assert f"contested: {WORDS}" in told.output
