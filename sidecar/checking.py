"""The checks of a file that run none of it, beside the files of the other skills."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar.folders import Folder, SkillFile, paths_in
from skills.checks.gate import check_source
from skills.problem import Problem


class Checking:
    """Names of files are compared with those that are there now."""

    def __init__(self, folders: Sequence[Folder]) -> None:
        self._folders = tuple(folders)

    def __call__(self, file: SkillFile) -> list[Problem]:
        others = {path.stem: path for path in paths_in(self._folders) if path != file.path}
        return check_source(file.source, file.stem, others)
