"""Commands that are given what no request can hold: one line and a status, never a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from tests.web.site.site import Site


def run(site: Site, *words: str, token: str = "", url: str = "") -> Result:
    return CliRunner().invoke(main, [*words, "--url", url or site.url, "--token", token or site.token])


@pytest.mark.parametrize("wrong", ["../budget", "", "..", "x?y=1", "#", "%00", "é", "\udcff"])
def test_what_is_no_id_is_wrong_use_and_asks_for_nothing_else(site: Site, wrong: str) -> None:
    done = run(site, "task", wrong)

    assert done.exit_code == 2
    assert "is not an id" in done.output


def test_words_that_are_no_text_are_wrong_use(site: Site) -> None:
    # As Python hands on bytes of an argument that are not UTF-8
    done = run(site, "say", "caf\udce9")

    assert done.exit_code == 2
    assert "is not UTF-8" in done.output
    assert site.get("/api/v1/thread")["items"] == []


def test_a_key_that_no_header_can_hold_is_refused(site: Site) -> None:
    done = run(site, "tasks", token="clé")

    assert done.exit_code == 1
    assert done.output.startswith("Error: the key has characters that no key of Loopwright has")


@pytest.mark.parametrize("url", ["http://[::1", "garbage", "ftp://x"])
def test_an_address_that_is_none_is_named(site: Site, url: str) -> None:
    done = run(site, "tasks", url=url)

    assert done.exit_code == 1
    assert done.output.startswith(f"Error: Loopwright does not answer at {url} (")


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing_behind(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    made = site.post("/api/v1/objects", {"kind": "document", "title": "Notes", "content": "navy"}).json()

    refused = run(site, "object", made["id"], "--save", str(folder / "nowhere" / "notes.md"))
    saved = run(site, "object", made["id"], "--save", str(folder / "notes.md"))

    assert (refused.exit_code, saved.exit_code) == (1, 0)
    assert f"{folder}/nowhere/notes.md cannot be written (No such file or directory)" in refused.output
    assert {file.name: file.read_text() for file in folder.iterdir()} == {"notes.md": "navy"}
