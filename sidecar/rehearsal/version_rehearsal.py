"""Rehearse a version on several recorded runs, in a process started for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from core.database import Scope
from core.ids import Ids
from sidecar.broker.broker import Broker
from sidecar.pool import child_process
from sidecar.pool.child_process import ChildProcess
from sidecar.pool.spawner import Spawner
from sidecar.rehearsal.driver import RehearsedFunction
from sidecar.rehearsal.rehearsal import Rehearsal, RunRecording, load_recording, rehearse_run
from skills.book import grants
from skills.book.runs import SkillRun
from skills.book.versions import CheckedVersion
from skills.format.problem import RefusedSkillError
from skills.lifecycle import budget_card
from skills.lifecycle.decision import Trial

_log = logging.getLogger(__name__)
_MOST_DIFFERENCES = 30


class VersionRehearsal:
    """Callable as the life cycle wants it. A run that fails for want of a recorded answer counts as tried: it has
    shown nothing against the candidate, and the shadow will ask for real. So does one that asks for real and fails
    while a limit of the skill is reached."""

    def __init__(
        self, nursery: Spawner, broker: Broker, reading: Callable[[], AbstractContextManager[Scope]], ids: Ids
    ) -> None:
        self._nursery = nursery
        self._broker = broker
        self._reading = reading
        self._ids = ids

    def __call__(self, version: CheckedVersion, runs: list[SkillRun], *, live: bool) -> Trial:
        fit: list[RunRecording] = []
        noted: list[str] = []
        for run in runs:
            recording = load_recording(run, self._broker.recordings)
            if recording is None:
                noted.append(f"run {run.run_id} cannot be tried: its event was too large to be kept")
            elif recording.function_id not in version.function_ids:
                noted.append(f"it has no function {recording.function_id} any more")
            else:
                fit.append(recording)
        if not fit:
            return Trial(len(runs), "", tuple(dict.fromkeys(noted)), silent=len(runs))
        try:
            code = self._code(version, live)
            child = self._nursery.boot(code)
        except RefusedSkillError as error:
            return Trial(0, f"it does not load: {error}")
        try:
            failed, silent = self._tried(version, code.granted, child, fit, live, noted)
        finally:
            self._nursery.end(child)
        told = tuple(dict.fromkeys(noted))[:_MOST_DIFFERENCES]
        return Trial(len(runs), failed, told, silent=len(runs) - len(fit) + silent)

    def _tried(
        self,
        version: CheckedVersion,
        granted: frozenset[str],
        child: ChildProcess,
        recordings: list[RunRecording],
        live: bool,
        noted: list[str],
    ) -> tuple[str, int]:
        """How the first run that failed did, or nothing, and how many before it showed nothing; what is worth a word
        is added to `noted`.
        """
        silent = 0
        for recording in recordings:
            rehearsal = rehearse_run(
                self._part(version, granted, recording), child, recording, self._broker.pretences, reads_for_real=live
            )
            how = rehearsal.error or "well"
            _log.info("skill %s %d rehearsed on %s: %s", version.skill_id, version.number, recording.run_id, how)
            if not rehearsal.ok:
                if not rehearsal.unrecorded and not (live and self._is_limited(version.skill_id)):
                    return f"run {recording.run_id}: {rehearsal.error}", silent
                silent += 1
            noted += [f"run {recording.run_id}: {one}" for one in _rehearsal_notes(rehearsal)]
            noted += [f"run {recording.run_id}: it showed nothing: {rehearsal.error}"] if not rehearsal.ok else []
        return "", silent

    def _is_limited(self, stem: str) -> bool:
        with self._reading() as scope:
            return budget_card.is_limit_reached(scope, stem)

    def _part(self, version: CheckedVersion, granted: frozenset[str], recording: RunRecording) -> RehearsedFunction:
        return RehearsedFunction(
            stem=version.skill_id,
            function_id=recording.function_id,
            manifest=version.manifest,
            own_functions=frozenset(str(function["id"]) for function in version.functions),
            granted=granted,
            # As an engine writes its own: a skill that knew a trial could behave in that alone.
            run_id=self._ids.new("").strip("_").upper(),
            event=recording.event,
        )

    def _code(self, version: CheckedVersion, live: bool) -> child_process.SkillCode:
        with self._reading() as scope:
            granted = grants.granted_permissions(scope, version.skill_id)
        return child_process.SkillCode(
            stem=version.skill_id,
            sha=version.sha,
            source=version.source.encode(),
            path=f"{version.skill_id}.py",
            version_id=version.id,
            manifest=version.manifest,
            granted=granted,
            mode="shadow" if live else "rehearsal",
        )


def _rehearsal_notes(rehearsal: Rehearsal) -> list[str]:
    noted = [f"it asks what was not recorded: {one}" for one in dict.fromkeys(rehearsal.unrecorded)]
    noted += [f"it asks otherwise, and was answered as recorded: {one}" for one in dict.fromkeys(rehearsal.reworded)]
    noted += [f"it was refused: {one}" for one in dict.fromkeys(rehearsal.refused)]
    return noted + list(rehearsal.differences)
