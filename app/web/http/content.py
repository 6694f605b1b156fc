"""Responses with the bytes of a work, with headers that keep a browser from executing them."""

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
    """Return all bytes, or the part that `Range` requests. `lasting`: this address will always have these bytes.

    `media_type` was detected when the bytes were stored; the sender's claim is not used.
    """
    inline = media_type.startswith(_INLINE_TYPES) and "svg" not in media_type
    headers = {
        "Content-Security-Policy": CONTENT_POLICY,
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": _disposition("inline" if inline else "attachment", title, media_type),
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
    requested = request.range
    if requested is None or requested.units != "bytes" or len(requested.ranges) != 1:
        return None
    if request.if_range is not None and (request.if_range.date or request.if_range.etag not in {None, sha256}):
        return None
    return requested.range_for_length(size) or (0, 0)


def _disposition(kind: str, title: str, media_type: str) -> str:
    name = title.replace("/", "-").replace("\\", "-")
    extension = _EXTENSIONS.get(media_type, "")
    if not name.lower().endswith(extension):
        name += extension
    plain = name.encode("ascii", "ignore").decode().replace('"', "'") or "work"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
