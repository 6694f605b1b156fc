"""The wheel in an environment where nothing of the sources is: it holds all it needs, and does what a checkout does."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import story
from tests.support.environment import without_settings
from tests.support.product import Product

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
LEFT_BEHIND = {".pyc", ".pyo"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own with the wheel in it, which sees the dependencies that are installed for these tests.

    The path to them is a line of a .pth file: Python reads no such file there, and so does not find the sources.
    """
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", *options, str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for program in ("ruff", "ty"):
        (folder / "bin" / program).symlink_to(Path(sysconfig.get_path("scripts")) / program)
    return folder


@pytest.fixture(scope="module")
def product(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """Started by the wheel's own command in an empty folder."""
    empty = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(empty)
        started = Product(empty / "var", program=[str(environment / "bin" / "loopwright")])
        yield started.start(240)
        started.stop()


def test_it_holds_every_file_of_the_packages(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    files = (path for package in packages for path in (ROOT / package).rglob("*") if path.is_file())
    wanted = {str(path.relative_to(ROOT)) for path in files if path.suffix not in LEFT_BEHIND}

    held = set(zipfile.ZipFile(wheel).namelist())

    assert wanted - held == set()
    assert {name.split("/")[0] for name in held if ".dist-info/" not in name} == set(packages)


def test_nothing_comes_from_the_sources(environment: Path, tmp_path: Path) -> None:
    where = "import app, skills.kit, loopwright.tools as door; print(app.__file__, skills.kit.__file__, door.__file__)"
    argv = [str(environment / "bin" / "python"), "-c", where]

    said = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=tmp_path, env=without_settings()).stdout

    assert all(Path(path).is_relative_to(environment) for path in said.split())


def test_it_makes_the_posters(product: Product) -> None:
    posters = story.order_posters(product)

    assert len(posters.images) == 3


def test_it_shows_its_pages(product: Product) -> None:
    page = product.client.get("/")

    assert page.status_code == 200
    assert "<html" in page.text
    assert product.client.get("/static/style.css").status_code == 200


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("doctor",), "every variable is known"),
        (("ps",), "worker"),
        (("skills",), "infra_health_check"),
        (("tasks",), "done"),
    ],
)
def test_its_commands_work_beside_it(
    words: tuple[str, ...], expected: str, product: Product, environment: Path
) -> None:
    argv = [str(environment / "bin" / "loopwright"), *words, "--home", str(product.home)]

    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, env=product.env, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert expected in done.stdout


def test_a_skill_is_written_from_the_template_and_checked(environment: Path, tmp_path: Path) -> None:
    def loopwright(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [str(environment / "bin" / "loopwright"), *words]
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=120, env=without_settings(), cwd=tmp_path, check=False
        )

    made = loopwright("skills", "new", "watch_prices", "--home", str(tmp_path / "home"))
    assert made.returncode == 0, made.stderr
    (file,) = (tmp_path / "home").rglob("watch_prices.py")

    checked = loopwright("skills", "check", str(file), "--home", str(tmp_path / "home"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
