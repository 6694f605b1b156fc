"""Tools of the shared workspace."""

from __future__ import annotations

from core.tools import Tool
from workspace.assets import Assets
from workspace.deleting import DeleteObject
from workspace.reading_tools import ListObjects, ReadObject
from workspace.writing_tools import Collect, EditDocument, RestoreVersion, WriteDocument

__all__ = [
    "Collect",
    "DeleteObject",
    "EditDocument",
    "ListObjects",
    "ReadObject",
    "RestoreVersion",
    "WriteDocument",
    "workspace_tools",
]


def workspace_tools(assets: Assets) -> tuple[Tool, ...]:
    """Return every tool of the workspace, over one store of bytes."""
    return (
        ReadObject(assets),
        ListObjects(),
        WriteDocument(assets),
        EditDocument(assets),
        Collect(assets),
        RestoreVersion(),
        DeleteObject(),
    )
