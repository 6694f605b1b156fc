"""Responses with the bytes of a work, with headers under which a browser runs none of them."""

from __future__ import annotations

from urllib.parse import quote

from flask import Response, request
from werkzeug.datastructures import ContentRange

from workspace.assets import Assets

CONTENT_POLICY = "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; sandbox"
_INLINE_TYPES = ("image/", "video/", "audio/", "model/")
_EXTENSIONS = {
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "model/gltf-binary": ".glb",
}


def content_response(assets: Assets, sha256: str, size: int, media_type: str, title: str, *, lasting: bool) -> Response:
    """The whole, or the part that `Range` asks for; `lasting` says that this address will never mean other bytes.

    `media_type` is what the bytes were found to be when they were stored, so nothing a sender claimed decides here.
    """
    shown = media_type.startswith(_INLINE_TYPES) and "svg" not in media_type
    headers = {
        "Content-Security-Policy": CONTENT_POLICY,
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": _disposition("inline" if shown else "attachment", title, media_type),
        "Cache-Control": "private, max-age=31536000, immutable" if lasting else "private, no-cache",
        "Accept-Ranges": "bytes",
        "ETag": f'"{sha256}"',
    }
    content_type = f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type
    if request.if_none_match.contains_weak(sha256):
        return Response(status=304, headers=headers)
    part = _range(sha256, size)
    if part is None:
        return Response(assets.chunks(sha256), 200, {**headers, "Content-Length": str(size)}, content_type=content_type)
    start, stop = part
    if stop <= start:
        return Response(status=416, headers={**headers, "Content-Range": f"bytes */{size}"})
    place = ContentRange("bytes", start, stop, size).to_header()
    return Response(
        assets.chunks(sha256, start, stop),
        206,
        {**headers, "Content-Length": str(stop - start), "Content-Range": place},
        content_type=content_type,
    )


def _range(sha256: str, size: int) -> tuple[int, int] | None:
    asked = request.range
    if asked is None or asked.units != "bytes" or len(asked.ranges) != 1:
        return None
    if request.if_range is not None and (request.if_range.date or request.if_range.etag not in {None, sha256}):
        return None
    return asked.range_for_length(size) or (0, 0)


def _disposition(kind: str, title: str, media_type: str) -> str:
    name = title.replace("/", "-").replace("\\", "-")
    extension = _EXTENSIONS.get(media_type, "")
    if not name.lower().endswith(extension):
        name += extension
    plain = name.encode("ascii", "ignore").decode().replace('"', "'") or "work"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
