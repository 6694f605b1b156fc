"""Forms: turned bodies with coloured vertices, as GLB files."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt
import trimesh

from app.standins.studio.media.colour import Rgb, mix
from app.standins.studio.media.palette import Palette, palette_of, warmth_in
from app.standins.studio.params import FormParams

SIDES = 72


@dataclass(frozen=True)
class Ring:
    """One horizontal cut through a body: how wide it is at what height, and its colour."""

    radius: float
    height: float
    colour: Rgb


def draw_form(params: FormParams, seed: int, reach: Callable[[float], None]) -> bytes:
    """A GLB file, one unit high, standing on the ground, y up. `reach` hears how far it is."""
    random = Random(seed)
    palette = palette_of(params.palette_words() or params.prompt, random, warmth_in(params.prompt))
    reach(0.3)
    if re.search(r"\b(lighthouse|tower|beacon)", params.prompt, re.IGNORECASE):
        rings, lobes, twist = _lighthouse(palette), 0, 0.0
    elif re.search(r"\b(buoy|bell|float)", params.prompt, re.IGNORECASE):
        rings, lobes, twist = _buoy(palette), 0, 0.0
    else:
        rings, lobes, twist = _vase(palette, random), random.choice((0, 5, 6, 8, 12)), random.uniform(0.4, 1.6)
    reach(0.6)
    vertices, faces, colours = _turned(rings, lobes, twist)
    mesh = trimesh.Trimesh(
        vertices=vertices, faces=faces, vertex_normals=_normals(vertices, faces), vertex_colors=colours, process=False
    )
    reach(0.8)
    scene = trimesh.Scene({"form": mesh})
    data = trimesh.exchange.gltf.export_glb(scene, include_normals=True, tree_postprocessor=_matt)
    return bytes(data)


def _matt(tree: dict[str, object]) -> None:
    """Give every surface a matt material; without one, viewers take it for metal."""
    tree["materials"] = [
        {"doubleSided": True, "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.75}}
    ]
    tree["asset"] = {"version": "2.0", "generator": "generation studio, offline stand-in"}
    meshes = tree["meshes"]
    if isinstance(meshes, list):
        for mesh in meshes:
            for primitive in mesh["primitives"]:
                primitive["material"] = 0


def _lighthouse(palette: Palette) -> list[Ring]:
    rings = [Ring(0.0, 0.0, palette.mid), Ring(0.24, 0.0, palette.mid), Ring(0.22, 0.06, palette.mid)]
    for band in range(6):
        colour = palette.paper if band % 2 else palette.ink
        for edge in (0, 1):
            share = (band + edge) / 6
            rings.append(Ring(0.155 - 0.065 * share, 0.06 + 0.66 * share, colour))
    for radius, height, colour in (
        (0.13, 0.72, palette.ink), (0.13, 0.745, palette.ink), (0.075, 0.745, palette.ink), (0.075, 0.76, palette.glow),
        (0.075, 0.86, palette.glow), (0.10, 0.865, palette.ink), (0.02, 0.955, palette.ink), (0.02, 0.985, palette.accent),
        (0.0, 1.0, palette.accent),
    ):  # fmt: skip
        rings.append(Ring(radius, height, colour))
    return rings


def _buoy(palette: Palette) -> list[Ring]:
    rows = (
        (0.0, 0.0, palette.ink), (0.22, 0.03, palette.ink), (0.36, 0.14, palette.ink), (0.38, 0.24, palette.ink),
        (0.38, 0.24, palette.paper), (0.36, 0.32, palette.paper), (0.24, 0.36, palette.glow), (0.12, 0.62, palette.glow),
        (0.12, 0.62, palette.paper), (0.09, 0.74, palette.paper), (0.09, 0.74, palette.accent), (0.10, 0.86, palette.accent),
        (0.06, 0.95, palette.accent), (0.0, 1.0, palette.accent),
    )  # fmt: skip
    return [Ring(*row) for row in rows]


def _vase(palette: Palette, random: Random) -> list[Ring]:
    foot, belly, neck, lip = (
        random.uniform(*bounds) for bounds in ((0.14, 0.22), (0.28, 0.42), (0.09, 0.16), (0.16, 0.24))
    )
    at = random.uniform(0.34, 0.52)
    rings = [Ring(0.0, 0.0, palette.ink)]
    for step in range(49):
        share = step / 48
        radius = float(np.interp(_eased(share, at), [0, 0.5, 0.85, 1], [foot, belly, neck, lip]))
        colour = (
            mix(palette.ink, palette.glow, share * 1.6)
            if share < 0.62
            else mix(palette.glow, palette.paper, (share - 0.62) / 0.38)
        )
        rings.append(Ring(radius, share, colour))
    return [
        *rings,
        Ring(lip * 0.86, 0.985, palette.paper),
        Ring(neck * 0.8, 0.8, palette.mid),
        Ring(0.0, 0.55, palette.mid),
    ]


def _eased(share: float, middle: float) -> float:
    linear = 0.5 * share / middle if share < middle else 0.5 + 0.5 * (share - middle) / (1 - middle)
    return 0.5 - 0.5 * math.cos(math.pi * linear)


def _turned(
    rings: list[Ring], lobes: int, twist: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Vertices, triangles and colours of the body through the rings; with lobes its sides swell, and twist turns them."""
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    vertices, colours, faces = [], [], []
    for row, ring in enumerate(rings):
        swell = 1 + (0.07 * np.cos(lobes * (angles + twist * ring.height)) if lobes else 0.0)
        radius = ring.radius * swell * np.ones(SIDES)
        vertices.append(
            np.stack([radius * np.cos(angles), np.full(SIDES, ring.height), radius * np.sin(angles)], axis=1)
        )
        colours.append(np.tile(np.array([*ring.colour, 255], np.uint8), (SIDES, 1)))
        if row:
            lower, upper = (row - 1) * SIDES + np.arange(SIDES), row * SIDES + np.arange(SIDES)
            lower_next, upper_next = np.roll(lower, -1), np.roll(upper, -1)
            faces.append(np.stack([lower, upper, lower_next], axis=1))
            faces.append(np.stack([upper, upper_next, lower_next], axis=1))
    return np.concatenate(vertices), np.concatenate(faces), np.concatenate(colours)


def _normals(vertices: npt.NDArray[np.float64], faces: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """At each vertex, the mean direction of the faces around it, weighted by their size."""
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(vertices)
    for corner in range(3):
        np.add.at(normals, faces[:, corner], across)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(length > 1e-12, normals / np.maximum(length, 1e-12), (0.0, 1.0, 0.0))
