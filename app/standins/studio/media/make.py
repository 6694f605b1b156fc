"""Makes what a request asks for."""

import io
from typing import assert_never

from PIL import Image

from app.standins.studio.inputs import Material
from app.standins.studio.media.made import Made, Unusable
from app.standins.studio.media.poster import draw_poster
from app.standins.studio.params import AudioParams, FormParams, ImageParams, VideoParams
from app.standins.studio.progress import Progress
from app.standins.studio.request import JobRequest

__all__ = ["Made", "Unusable", "make"]


def make(request: JobRequest, materials: list[Material], progress: Progress) -> Made:
    """The finished file. Raises Unusable when the request cannot be carried out, progress.Ended when nobody wants it any more."""
    seed = request.work_seed([material.sha256 for material in materials])
    params = request.typed_params()
    match params:
        case ImageParams():
            return Made(_png(draw_poster(params, seed, progress.reach)), "image/png")
        case _:
            raise Unusable("not_yet", "only pictures can be made so far")


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()
