"""Rehearse a version on several recorded runs, in a process started for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from core.database import Scope
from core.ids import Ids
from sidecar.broker.broker import Broker
from sidecar.pool.child_process import ChildProcess, SkillCode
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
    """Rehearses versions, as the life cycle's `RehearseVersion`.

    A run that fails because an answer was not recorded is counted as tried: it has shown nothing against the candidate,
    and the shadow will ask for real. So is one that fails in the shadow while a limit of the skill is reached.
    """

    def __init__(
        self, spawner: Spawner, broker: Broker, reading: Callable[[], AbstractContextManager[Scope]], ids: Ids
    ) -> None:
        self._spawner = spawner
        self._broker = broker
        self._reading = reading
        self._ids = ids

    def __call__(self, version: CheckedVersion, runs: list[SkillRun], *, live: bool) -> Trial:
        fit: list[RunRecording] = []
        notes: list[str] = []
        for run in runs:
            recording = load_recording(run, self._broker.recordings)
            if recording is None:
                notes.append(f"run {run.run_id} cannot be tried: its event was too large to be kept")
            elif recording.function_id not in version.function_ids:
                notes.append(f"it has no function {recording.function_id} any more")
            else:
                fit.append(recording)
        if not fit:
            return Trial(len(runs), "", tuple(dict.fromkeys(notes)), silent=len(runs))
        try:
            code = self._skill_code(version, live)
            child = self._spawner.boot(code)
        except RefusedSkillError as error:
            return Trial(0, f"it does not load: {error}")
        try:
            failed, silent = self._rehearse_runs(version, code.granted, child, fit, live, notes)
        finally:
            self._spawner.end(child)
        differences = tuple(dict.fromkeys(notes))[:_MOST_DIFFERENCES]
        return Trial(len(runs), failed, differences, silent=len(runs) - len(fit) + silent)

    def _rehearse_runs(
        self,
        version: CheckedVersion,
        granted: frozenset[str],
        child: ChildProcess,
        recordings: list[RunRecording],
        live: bool,
        notes: list[str],
    ) -> tuple[str, int]:
        """Rehearse run after run until one fails; return why it failed, or nothing, and how many runs showed nothing.

        Adds what is worth mentioning to `notes`.
        """
        silent = 0
        for recording in recordings:
            rehearsal = rehearse_run(
                self._rehearsed_function(version, granted, recording),
                child,
                recording,
                self._broker.simulations,
                reads_for_real=live,
            )
            how = rehearsal.error or "well"
            _log.info("skill %s %d rehearsed on %s: %s", version.skill_id, version.number, recording.run_id, how)
            if not rehearsal.ok:
                if not rehearsal.unrecorded and not (live and self._is_limited(version.skill_id)):
                    return f"run {recording.run_id}: {rehearsal.error}", silent
                silent += 1
            notes += [f"run {recording.run_id}: {one}" for one in _rehearsal_notes(rehearsal)]
            notes += [f"run {recording.run_id}: it showed nothing: {rehearsal.error}"] if not rehearsal.ok else []
        return "", silent

    def _is_limited(self, stem: str) -> bool:
        with self._reading() as scope:
            return budget_card.is_limit_reached(scope, stem)

    def _rehearsed_function(
        self, version: CheckedVersion, granted: frozenset[str], recording: RunRecording
    ) -> RehearsedFunction:
        return RehearsedFunction(
            stem=version.skill_id,
            function_id=recording.function_id,
            manifest=version.manifest,
            own_functions=frozenset(str(function["id"]) for function in version.functions),
            granted=granted,
            # Looks like an engine's id: a skill that recognized a rehearsal could behave differently in it.
            run_id=self._ids.new("").strip("_").upper(),
            event=recording.event,
        )

    def _skill_code(self, version: CheckedVersion, live: bool) -> SkillCode:
        with self._reading() as scope:
            granted = grants.granted_permissions(scope, version.skill_id)
        return SkillCode(
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
    notes = [f"it asks for something that was not recorded: {one}" for one in dict.fromkeys(rehearsal.unrecorded)]
    notes += [
        f"it asks in other words, and was answered as recorded: {one}" for one in dict.fromkeys(rehearsal.reworded)
    ]
    notes += [f"it was refused: {one}" for one in dict.fromkeys(rehearsal.refused)]
    return notes + list(rehearsal.differences)
