"""Draw 3D forms: turned bodies with coloured vertices, as GLB files."""

import re
from collections.abc import Callable
from random import Random

import numpy as np
import numpy.typing as npt
import trimesh

from standins.studio.media.bodies import Ring, buoy_body, lighthouse_body, vase_body
from standins.studio.media.palette import palette_of, warmth_in
from standins.studio.params import FormParams

SIDES = 72
Points = npt.NDArray[np.float64]
Triangles = npt.NDArray[np.int64]


def draw_form(params: FormParams, seed: int, reach: Callable[[float], None]) -> bytes:
    """A GLB file, one unit high, standing on the ground, y up. `reach` is called with the fraction done."""
    random = Random(seed)
    palette = palette_of(params.palette_words() or params.prompt, random, warmth_in(params.prompt))
    reach(0.3)
    lobes, twist = 0, 0.0
    if re.search(r"\b(lighthouse|tower|beacon)", params.prompt, re.IGNORECASE):
        rings = lighthouse_body(palette)
    elif re.search(r"\b(buoy|bell|float)", params.prompt, re.IGNORECASE):
        rings = buoy_body(palette)
    else:
        rings = vase_body(palette, random)
        lobes, twist = random.choice((0, 5, 6, 8, 12)), random.uniform(0.4, 1.6)
    reach(0.6)
    vertices, faces, colours = _turned(rings, lobes, twist)
    reach(0.8)
    return _glb(vertices, faces, colours)


def _glb(vertices: Points, faces: Triangles, colours: npt.NDArray[np.uint8]) -> bytes:
    normals = _normals(vertices, faces)
    mesh = trimesh.Trimesh(vertices, faces, vertex_normals=normals, vertex_colors=colours, process=False)
    scene = trimesh.Scene([mesh])
    # trimesh leaves `export` without types.
    data = scene.export(  # type: ignore[no-untyped-call]
        file_type="glb", include_normals=True, tree_postprocessor=_matt
    )
    return bytes(data)


def _matt(tree: dict[str, object]) -> None:
    """Give every surface a matt material; without one, viewers take it for metal."""
    surface = {"metallicFactor": 0.0, "roughnessFactor": 0.75}
    tree["materials"] = [{"doubleSided": True, "pbrMetallicRoughness": surface}]
    tree["asset"] = {"version": "2.0", "generator": "generation studio, offline stand-in"}
    meshes = tree["meshes"]
    if isinstance(meshes, list):
        for mesh in meshes:
            for primitive in mesh["primitives"]:
                primitive["material"] = 0


def _turned(rings: list[Ring], lobes: int, twist: float) -> tuple[Points, Triangles, npt.NDArray[np.uint8]]:
    """Vertices, triangles and colours of the body through the rings; with lobes its sides swell, and twist
    turns them."""
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    around = np.arange(SIDES)
    vertices, colours, faces = [], [], []
    for row, ring in enumerate(rings):
        swell = 1 + (0.07 * np.cos(lobes * (angles + twist * ring.height)) if lobes else 0.0)
        radius = ring.radius * swell * np.ones(SIDES)
        height = np.full(SIDES, ring.height)
        vertices.append(np.stack([radius * np.cos(angles), height, radius * np.sin(angles)], axis=1))
        colours.append(np.tile(np.array([*ring.colour, 255], np.uint8), (SIDES, 1)))
        if row:
            lower, upper = (row - 1) * SIDES + around, row * SIDES + around
            lower_next, upper_next = np.roll(lower, -1), np.roll(upper, -1)
            faces.append(np.stack([lower, upper, lower_next], axis=1))
            faces.append(np.stack([upper, upper_next, lower_next], axis=1))
    return np.concatenate(vertices), np.concatenate(faces), np.concatenate(colours)


def _normals(vertices: Points, faces: Triangles) -> Points:
    """At each vertex, the mean direction of the faces around it, weighted by their size."""
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(vertices)
    for corner in range(3):
        np.add.at(normals, faces[:, corner], across)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(length > 1e-12, normals / np.maximum(length, 1e-12), (0.0, 1.0, 0.0))
