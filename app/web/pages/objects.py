"""The pages of the shared workspace: all works, and a single one with its versions."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from flask import request

from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import requested_version
from app.web.pages.view import add_page
from app.web.presenters.object import object_shape, object_version_shape
from core.database import Scope
from core.identity import Speaker
from workspace import objects
from workspace.media_types import is_text

LONGEST_SHOWN = 400_000


def objects_pages(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "objects_pages")

    def one(scope: Scope, speaker: Speaker, object_id: str) -> dict[str, Any]:
        work = objects.get_object(scope, object_id, requested_version())
        return {
            "work": object_shape(work),
            "versions": [object_version_shape(version) for version in objects.list_versions(scope, object_id)],
            "text": _text_of(dependencies, work) if is_text(work.media_type) and work.size <= LONGEST_SHOWN else None,
        }

    add_page(endpoints, "/objects", "objects.html", _list_objects)
    add_page(endpoints, "/objects/<object_id>", "object.html", one)
    return endpoints


def _list_objects(scope: Scope, speaker: Speaker) -> dict[str, Any]:
    kind = request.args.get("kind")
    query = request.args.get("q", "")
    found = objects.list_objects(
        scope,
        kind=kind if kind in objects.KINDS else None,
        query=query,
        cursor=request.args.get("cursor") or None,
    )
    return {
        "works": [object_shape(work) for work in found.items],
        "next": found.next,
        "kind": kind,
        "query": query,
        "kinds": objects.KINDS,
    }


def _text_of(dependencies: WebDependencies, work: objects.Object) -> str:
    with closing(dependencies.assets.open(work.sha256)) as stream:
        return stream.read(LONGEST_SHOWN).decode("utf-8", "replace")
