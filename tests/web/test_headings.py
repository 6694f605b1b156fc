"""Somebody who hears the pages goes from heading to heading: no level is left out."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from tests.web.site.site import Site
from tests.web.site.workspace_rows import insert_workspace_rows

PATHS = ("/", "/tasks", "/tasks/{task}", "/objects", "/memory", "/skills", "/runs", "/settings")


@pytest.mark.parametrize("full", [True, False], ids=["full", "empty"])
def test_headings_leave_out_no_level(site: Site, full: bool) -> None:
    task_id = insert_workspace_rows(site).task_id if full else ""

    for path in PATHS if full else [path for path in PATHS if "{" not in path]:
        shown = site.client.get(path.format(task=task_id), headers={"Accept": "text/html"})
        levels = [int(level) for level in re.findall(r"<h([1-6])\b", shown.text)]

        assert shown.status_code == 200, path
        assert levels[0] == 1, path
        assert levels.count(1) == 1, path
        assert all(after <= before + 1 for before, after in pairwise(levels)), (path, levels)
