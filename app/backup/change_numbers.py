"""The numbers of changes after a restore: none that was given out before it is given out again."""

from __future__ import annotations

import sqlalchemy as sa

from core.database import Database
from core.tables import workspaces

# More than happened since any backup, and than any reader is sent one by one.
_GAP = 10**9


def leave_a_gap(sql_url: str) -> None:
    """What is open in a browser has seen changes that are undone, and asks for what follows its number: it is told to
    load everything anew, and not what now has the numbers after that one.
    """
    database = Database(sql_url)
    try:
        with database.unscoped() as connection:
            connection.execute(sa.update(workspaces).values(change_seq=workspaces.c.change_seq + _GAP))
    finally:
        database.close()
