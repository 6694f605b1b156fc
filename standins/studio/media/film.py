"""Draw films: frames drawn one by one and written as H.264 in an MP4 file."""

import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

from standins.studio.media.moving_picture import moving_picture, size_for
from standins.studio.media.moving_scene import moving_scene
from standins.studio.media.texture import Mark
from standins.studio.params import VideoParams


def draw_film(params: VideoParams, picture: Image.Image | None, seed: int, reach: Callable[[float], None]) -> bytes:
    """An MP4 file, exactly `params.seconds` long. `reach` is called with the fraction done."""
    count = params.seconds * params.fps
    if picture is None:
        size = params.dimensions() or (1280, 720)
        frames = moving_scene(params, size, count, seed)
    else:
        size = params.dimensions() or size_for(picture)
        frames = moving_picture(picture, size, count, seed)
    return encode(_marked(frames, count, reach), size, params.fps)


def encode(frames: Iterator[Image.Image], size: tuple[int, int], fps: int) -> bytes:
    """The frames as H.264 (yuv420p) in an MP4 file that can play before it has loaded to its end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        _write(path, frames, size, fps)
        return path.read_bytes()


def _write(path: Path, frames: Iterator[Image.Image], size: tuple[int, int], fps: int) -> None:
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        stream.time_base = Fraction(1, fps)
        stream.options = {"preset": "veryfast", "crf": "21", "bf": "0"}
        for number, image in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24")
            frame.pts = number
            frame.time_base = Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _marked(frames: Iterator[Image.Image], count: int, reach: Callable[[float], None]) -> Iterator[Image.Image]:
    mark: Mark | None = None
    for number, frame in enumerate(frames):
        reach(0.1 + 0.85 * number / count)
        mark = mark or Mark(frame.size)
        yield mark.put_on(frame)
