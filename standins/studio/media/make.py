"""The making of a request's work, by its kind."""

import io
from random import Random

from PIL import Image

from standins.studio.inputs import Material
from standins.studio.media.film import draw_film
from standins.studio.media.form import draw_form
from standins.studio.media.picture import colours_of, enhanced, open_picture, operation_on, recoloured
from standins.studio.media.poster import draw_poster
from standins.studio.media.product import MadeMedia
from standins.studio.media.sound import draw_sound
from standins.studio.media.texture import Mark
from standins.studio.params import AudioParams, FormParams, ImageParams, VideoParams
from standins.studio.progress import StudioProgress
from standins.studio.request import StudioJobRequest


def make_media(request: StudioJobRequest, materials: list[Material], progress: StudioProgress) -> MadeMedia:
    """Return the finished file.

    Raises UnusableInput if the request cannot be carried out, JobHasEnded if the job should no longer be made.
    """
    seed = request.work_seed([material.sha256 for material in materials])
    params = request.typed_params()
    given = materials[0] if materials else None
    match params:
        case ImageParams():
            return MadeMedia(_png(_image(params, given, seed, progress)), "image/png")
        case VideoParams():
            picture = None if given is None else open_picture(given.data)
            return MadeMedia(draw_film(params, picture, seed, progress.reach), "video/mp4")
        case AudioParams():
            return MadeMedia(draw_sound(params, seed, progress.reach), "audio/wav")
        case FormParams():
            return MadeMedia(draw_form(params, seed, progress.reach), "model/gltf-binary")
    raise TypeError(f"nothing makes {type(params).__name__}")


def _image(params: ImageParams, given: Material | None, seed: int, progress: StudioProgress) -> Image.Image:
    if given is None:
        return draw_poster(params, seed, progress.reach)
    picture = open_picture(given.data)
    progress.reach(0.3)
    match operation_on(params, given.role):
        case "enhance":
            result = enhanced(picture, params)
        case "recolour":
            result = recoloured(picture, params, Random(seed))
        case _:
            return draw_poster(params, seed, progress.reach, colours_of(picture))
    progress.reach(0.7)
    return Mark(result.size).put_on(result)


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=4)
    return buffer.getvalue()
