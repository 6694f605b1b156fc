"""A file acts on nothing while it is loaded: whether it may serve is found out at the same time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime import notices
from sidecar.watch.folders import SkillFile
from skills.book import refusals
from skills.format.problem import SkillProblem
from tests.sidecar.local_registry import local_registry
from tests.sidecar.test_broker_live import grant
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

SKILL = '''"""Tells ops."""
import inngest
from skills.kit import client, notify

MANIFEST = {"title": "Teller", "purpose": "tells ops", "permissions": {
    "notify": ["ops"], "events": {"listen": ["teller/asked"]}}}

@client.create_function(fn_id="tell", trigger=inngest.TriggerEvent(event="teller/asked"), retries=0)
def tell(ctx: inngest.ContextSync) -> object:
    ctx.step.run("tell", lambda: notify("ops", "from a run"))
    return "told"
'''
AT_LOADING = """
from skills.kit.door import door
door.run_id = {run_id!r}
try:
    notify("ops", "from loading")
except Exception as error:
    print(error)
# {number}
"""


def gate(file: SkillFile) -> list[SkillProblem]:
    """It finds the first of them and not the second."""
    return [SkillProblem(1, "it works while it is loaded", "do it in a step")] if file.source.endswith(b"# 1\n") else []


@pytest.fixture(scope="module")
def loose(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    with local_registry(any_engine, tmp_path_factory.mktemp("home"), check=gate) as running:
        yield running


def test_what_asks_while_it_is_loaded_is_refused_and_on_record(loose: RunningSidecar) -> None:
    """Given a granted skill whose run completed, when its file speaks for that run at its top, nobody hears it."""
    loose.save("teller", SKILL)
    grant(loose, "teller")
    loose.live("teller", 1)
    loose.ask("teller/asked")
    loose.outputs("skill-teller/tell", 1)
    (run,) = loose.runs("skill-teller/tell")

    for number in (1, 2):
        loose.save("teller", SKILL + AT_LOADING.format(run_id=run["id"], number=number))

        def recorded(number: int = number) -> bool:
            with loose.reading() as scope:
                return len(refusals.list_refusals(scope, "teller")) >= number

        until(f"refusal {number}", recorded, 60)

    with loose.reading() as scope:
        assert [one.text for one in notices.list_newest_notices(scope)] == ["[skill teller] from a run"]
        assert {one.what for one in refusals.list_refusals(scope, "teller")} == {"loading"}
