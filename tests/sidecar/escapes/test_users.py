"""A user id of its own is nobody else's: not that of another sidecar's child either."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.jail.isolation import Isolation
from sidecar.jail.users import ChildUsers
from tests.sidecar.escapes.conftest import LIMITS
from tests.support.jail_children import jailed, subject

pytestmark = pytest.mark.long


def test_an_id_that_a_living_process_has_is_not_taken(without_bubblewrap: Isolation, tmp_path: Path) -> None:
    with jailed(tmp_path, without_bubblewrap, LIMITS) as another:
        child = another.boot(subject("return 1"))
        user = child.inmate.user
        assert user is not None

        assert ChildUsers(first=user).take() != user

        assert another.run(child).body == b"1"
    assert ChildUsers(first=user).take() == user
