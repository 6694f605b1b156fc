"""The keys of the workspace: list, create and revoke them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from app.web.http import paging
from app.web.http.authorization import require_person
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import Body
from app.web.presenters.values import Moment, moment
from core import identity
from core.database import Scope
from core.identity import Key, Speaker


class NewKey(Body):
    name: str = Field(min_length=1, max_length=200)
    scopes: list[Literal["read", "write", "approve", "admin"]] = Field(min_length=1)
    speaks_as: Literal["person", "program"] = "person"


class KeyShape(TypedDict):
    id: str
    name: str
    person_id: str
    scopes: list[str]
    speaks_as: str
    created_at: Moment
    revoked_at: Moment | None


class NewKeyShape(KeyShape):
    """`key` is the secret; null when the answer is repeated."""

    key: str | None


def keys_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "keys_api")

    @endpoints.reads("/api/v1/keys", "Keys, without their secrets", scope="admin")
    def list_keys(scope: Scope, speaker: Speaker) -> paging.ListPage[KeyShape]:
        return {"items": [key_shape(key) for key in identity.list_keys(scope)], "next": None}

    @endpoints.acts(
        "/api/v1/keys",
        "Make a key; its secret `key` is in this answer only, and null when the answer is repeated",
        body=NewKey,
        scope="admin",
        status=201,
        secret_member="key",
    )
    def post_key(scope: Scope, speaker: Speaker, body: NewKey) -> NewKeyShape:
        _check_grant(speaker, body)
        raw = identity.new_raw_key()
        made = identity.create_key(
            scope,
            person_id=speaker.person_id,
            name=body.name,
            scopes=body.scopes,
            speaks_as=body.speaks_as,
            raw=raw,
        )
        return {**key_shape(made), "key": raw}

    @endpoints.acts("/api/v1/keys/<key_id>", "Revoke a key for good", method="DELETE", scope="admin")
    def delete_key(scope: Scope, speaker: Speaker, body: Body, key_id: str) -> KeyShape:
        if key_id != speaker.key_id:
            require_person(speaker, "take another's key away")
        return key_shape(identity.revoke_key(scope, key_id))

    return endpoints


def _check_grant(speaker: Speaker, body: NewKey) -> None:
    """Refuse a program that would give a key more scopes than its own, or let it speak as a person."""
    beyond = sorted(set(body.scopes) - speaker.scopes)
    if body.speaks_as == "person" or beyond:
        require_person(speaker, f"make a key with {', '.join(beyond)}" if beyond else "make a person's key")


def key_shape(key: Key) -> KeyShape:
    return {
        "id": key.id,
        "name": key.name,
        "person_id": key.person_id,
        "scopes": list(key.scopes),
        "speaks_as": key.speaks_as,
        "created_at": moment(key.created_at),
        "revoked_at": moment(key.revoked_at),
    }
