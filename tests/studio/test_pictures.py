"""Posters, and work on given pictures, as what they are: decoded PNG files."""

import base64
import io
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread

import numpy as np
import pytest
from PIL import Image, ImageChops

from standins.studio.media.colour import contrast, parse
from standins.studio.media.palette import palette_from
from standins.studio.media.title_words import title_of
from tests.studio.running import Json, Studio, poster

WISH = "A set of three retro posters for the Harbour Festival, navy and cream"


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    assert image.format == "PNG"
    return image.convert("RGB")


def png(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def share_near(image: Image.Image, colour: str) -> float:
    """The share of pixels close to a colour."""
    distance = np.abs(np.asarray(image, dtype=int) - parse(colour)).max(axis=2)
    return float((distance < 28).mean())


def test_a_poster_is_large_by_default_and_in_the_colours_asked_for(studio: Studio) -> None:
    body: Json = {"kind": "image", "model": "studio-poster-1", "params": {"prompt": WISH, "variation": 0}}
    image = opened(studio.made("pic:1:1", **body))
    assert image.size == (1024, 1536)
    assert share_near(image, "#14274a") > 0.2
    assert share_near(image, "#f5e8cd") > 0.05


def test_three_variations_are_three_pictures_and_the_same_wish_is_the_same_one(studio: Studio) -> None:
    pictures = [opened(studio.made(f"pic:2:{number}", **poster(WISH, variation=number))) for number in range(3)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        apart = np.abs(np.asarray(pictures[one], dtype=int) - np.asarray(pictures[other], dtype=int)).max(axis=2) > 40
        assert apart.mean() > 0.2
    again = opened(studio.made("pic:2:again", **poster(WISH, variation=0)))
    assert ImageChops.difference(pictures[0], again).getbbox() is None


def test_a_title_changes_the_picture_where_it_stands(studio: Studio) -> None:
    titled, other = (
        opened(studio.made(f"pic:3:{title}", **poster(WISH, variation=0, seed=1, title=title)))
        for title in ("Regatta", "Lantern")
    )
    apart = np.abs(np.asarray(titled, dtype=int) - np.asarray(other, dtype=int)).max(axis=2) > 120
    assert apart[int(768 * 0.75) :].mean() > 0.02


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        (WISH, "Harbour Festival"),
        ("Make a poster titled “Tide & Tar” in teal", "Tide & Tar"),
        ("One square poster for the Harbour Festival, navy background.", "Harbour Festival"),
        ("retro poster about jazz in the park", "about jazz park"),
        ("A poster for St. John’s Summer Fair, red and white", "St. John’s Summer Fair"),
    ],
)
def test_the_title_is_read_off_the_prompt(prompt: str, title: str) -> None:
    assert title_of(None, prompt) == title


@pytest.mark.parametrize(
    "named", [["#14274a", "#f5e8cd"], ["#ffff00", "#fffffe"], ["#000000"], ["#808080", "#7f7f7f"], []]
)
@pytest.mark.parametrize("warmth", [-1.0, 0.0, 1.0])
def test_ink_can_be_read_on_paper_whatever_is_asked_for(named: list[str], warmth: float) -> None:
    palette = palette_from([parse(code) for code in named], Random(3), warmth)
    assert contrast(palette.ink, palette.paper) >= 4


def test_words_no_face_can_draw_make_a_poster_all_the_same(studio: Studio) -> None:
    assert opened(studio.made("pic:4:1", **poster("🎉 港口节 مهرجان", title="🎉🎉"))).size == (512, 768)
    long = "Supercalifragilistic " * 40
    assert opened(studio.made("pic:4:2", **poster("x", title=long[:200], subtitle=long[:200]))).size == (512, 768)


def test_a_given_picture_comes_back_warmer(studio: Studio) -> None:
    source = opened(studio.made("pic:5:1", **poster(WISH, variation=1)))
    given = {"role": "source", "media_type": "image/png", "data": png(source)}
    body = {"kind": "image", "model": "studio-poster-1", "params": {"prompt": "a touch warmer"}, "inputs": [given]}
    warm = opened(studio.made("pic:5:2", **body))
    assert warm.size == source.size
    before, after = (np.asarray(image, dtype=float).mean(axis=(0, 1)) for image in (source, warm))
    assert after[0] - after[2] > before[0] - before[2] + 10
    shapes = np.corrcoef(np.asarray(source.convert("L")).ravel(), np.asarray(warm.convert("L")).ravel())[0, 1]
    assert shapes > 0.97


def test_a_given_picture_comes_back_larger(studio: Studio) -> None:
    source = Image.new("RGB", (300, 200), "#1d7272")
    body = {
        "kind": "image", "model": "studio-poster-1", "params": {"operation": "enhance"},
        "inputs": [{"role": "source", "data": png(source)}],
    }  # fmt: skip
    assert opened(studio.made("pic:6:1", **body)).size == (600, 400)


@pytest.mark.parametrize("path", ["picture", "moved", "missing", "text"])
def test_a_picture_is_fetched_from_its_address(studio: Studio, path: str) -> None:
    picture = base64.b64decode(png(Image.new("RGB", (64, 64), "#ee6f57")))

    class Assets(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = {"/picture": 200, "/moved": 302, "/missing": 404, "/text": 200}[self.path]
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/picture")
            self.end_headers()
            self.wfile.write(picture if self.path == "/picture" else b"hello")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Assets)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        given = {"role": "reference", "url": f"http://127.0.0.1:{server.server_port}/{path}"}
        job = studio.final(studio.submit(f"pic:7:{path}", **poster("Regatta"), inputs=[given]).json()["id"])
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
    if path == "picture":
        assert share_near(opened(studio.output(job)), "#ee6f57") > 0.02
    else:
        assert job["state"] == "failed"
        assert job["error"]["code"] in ("input_unavailable", "input_unreadable")
