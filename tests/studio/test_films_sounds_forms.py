"""Films, sounds and forms as what they are: decoded files."""

import base64
import io
import json
import struct
import wave
from itertools import pairwise

import av
import numpy as np
import numpy.typing as npt
import pytest
import trimesh
from PIL import Image

from tests.studio.running import Studio


def decoded(data: bytes) -> tuple[av.VideoStream, list[npt.NDArray[np.uint8]], float]:
    with av.open(io.BytesIO(data), mode="r") as film:
        (stream,) = film.streams.video
        frames = [np.asarray(frame.to_ndarray(format="gray"), dtype=np.uint8) for frame in film.decode(stream)]
        return stream, frames, float((film.duration or 0) / av.time_base)


@pytest.mark.long
def test_a_film_from_a_portrait_poster_lasts_five_seconds(studio: Studio) -> None:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((400, 600)).convert("RGB").save(buffer, "PNG")
    given = {"role": "source", "media_type": "image/png", "data": base64.b64encode(buffer.getvalue()).decode()}
    params = {"prompt": "turn it into a video", "seconds": 5}
    data = studio.made("film:1:1", kind="video", model="studio-film-1", params=params, inputs=[given])
    stream, frames, seconds = decoded(data)
    assert stream.codec_context.name == "h264"
    assert stream.codec_context.pix_fmt == "yuv420p"
    assert (stream.width, stream.height) == (720, 1080)
    assert seconds == pytest.approx(5, abs=0.1)
    assert len(frames) == 5 * 24
    assert np.abs(frames[0].astype(int) - frames[-1]).mean() > 3
    assert data.index(b"moov") < data.index(b"mdat")


def test_a_film_without_a_picture_moves_and_is_billed_by_the_second(studio: Studio) -> None:
    params = {"prompt": "Harbour Festival, navy and coral", "seconds": 2, "size": "640x360", "fps": 12}
    stream, frames, seconds = decoded(studio.made("film:1:2", kind="video", model="studio-film-1", params=params))
    assert (stream.width, stream.height, len(frames)) == (640, 360, 24)
    assert seconds == pytest.approx(2, abs=0.1)
    assert all(np.abs(one.astype(int) - next_one).max() > 20 for one, next_one in pairwise(frames))
    assert [item["amount"] for item in studio.bill() if item["idempotency_key"] == "film:1:2"] == ["0.10"]


def test_a_sound_is_as_long_as_asked_for_and_not_silent(studio: Studio) -> None:
    params = {"prompt": "calm harbour morning", "seconds": 3}
    data = studio.made("sound:1:1", kind="audio", model="studio-sound-1", params=params)
    with wave.open(io.BytesIO(data)) as sound:
        assert (sound.getnchannels(), sound.getframerate(), sound.getnframes()) == (2, 44_100, 3 * 44_100)
        samples = np.frombuffer(sound.readframes(sound.getnframes()), dtype="<i2").astype(float)
    assert 0.05 < np.sqrt(np.mean((samples / 32768) ** 2)) < 0.5
    assert np.abs(samples).max() < 32767


@pytest.mark.parametrize("prompt", ["a lighthouse, navy and cream", "a buoy", "something for flowers"])
def test_a_form_stands_and_has_colours(studio: Studio, prompt: str) -> None:
    data = studio.made(f"form:{prompt}", kind="model3d", model="studio-form-1", params={"prompt": prompt})
    length = struct.unpack_from("<I", data, 12)[0]
    tree = json.loads(data[20 : 20 + length])
    assert "COLOR_0" in tree["meshes"][0]["primitives"][0]["attributes"]
    scene = trimesh.load_scene(io.BytesIO(data), file_type="glb")
    low, high = scene.bounds
    assert low[1] == pytest.approx(0)
    assert high[1] == pytest.approx(1, abs=0.01)
    assert sum(len(geometry.faces) for geometry in scene.geometry.values()) > 500
