"""Take in a saved file: check it without running it, load it in its own jail, and store it as a candidate.

Checking and loading run side by side, since a save should be live within half a second. What is loaded reaches nothing
outside its jail until it is a stored version that is called.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from core.database import Scope
from sidecar.pool.child_process import ChildProcess, SkillCode
from sidecar.protocol.registration import check_functions
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.skill_processes import SkillProcesses
from sidecar.watch.folders import SkillFile
from skills.book import drafts, grants, refusals, versions
from skills.book.drafts import SkillDraft
from skills.book.refusals import RefusalKind
from skills.book.skill import get_skill, list_skills
from skills.book.versions import CheckedVersion
from skills.format.manifest import read_manifest
from skills.format.problem import Overreach, RefusedSkillError, SkillProblem
from skills.lifecycle import decision, promotion

_log = logging.getLogger(__name__)
_PROMPT_SECONDS = 1.0


def take_in_file(
    dependencies: SidecarDependencies,
    processes: SkillProcesses,
    file: SkillFile,
    url: str,
    abandoned: Callable[[], None],
) -> CheckedVersion:
    """Store the file as a version and return it.

    Raises RefusedSkillError with everything that is wrong, or UnavailableError where no process can be started.
    `abandoned` is called when a process has loaded the file in vain.
    """
    began = time.monotonic()
    with dependencies.reading() as scope:
        known = versions.find_version_by_sha(scope, file.stem, file.sha)
        draft = drafts.find_fresh_draft(scope, file.stem, file.sha)
        _refuse_stale(scope, file.stem, draft)
        version_id = known.id if known is not None else versions.new_version_id(scope)
        granted = grants.granted_permissions(scope, file.stem)
    try:
        manifest = read_manifest(file.source)
    except RefusedSkillError as error:
        raise RefusedSkillError(*(dependencies.check(file) or error.problems)) from None
    code = SkillCode(file.stem, file.sha, file.source, str(file.path), version_id, manifest, granted)
    # The process that loads the file cannot use the broker yet.
    loading = dependencies.checkers.submit(processes.load, code)
    if problems := dependencies.check(file):
        # Problems found in the source name a line, so they are reported without waiting for the process. It ends by
        # itself.
        code.given_up.set()
        loading.add_done_callback(lambda _: abandoned())
        _note_claims(dependencies, code, problems)
        raise RefusedSkillError(*problems)
    try:
        child = _await_child(dependencies, loading)
    except RefusedSkillError as error:
        _note_tried(dependencies, code, error.tried)
        raise
    _note_tried(dependencies, code, child.tried)
    functions = _check_registration(dependencies, code, child.functions(), url)
    _log.info("skill %s checked and loaded in %.0f ms", file.stem, (time.monotonic() - began) * 1000)
    return _store_version(dependencies, file, draft, code, functions)


def _await_child(dependencies: SidecarDependencies, loading: Future[ChildProcess]) -> ChildProcess:
    """Wait for the process. A file that loads slowly gives up its worker slot, so that other skills go on."""
    try:
        return loading.result(_PROMPT_SECONDS)
    except TimeoutError:
        dependencies.worker_slots.step_aside()
        return loading.result()


def _check_registration(
    dependencies: SidecarDependencies, code: SkillCode, stated: list[dict[str, Any]], url: str
) -> list[dict[str, Any]]:
    """Return the functions as they are registered; a claim on what belongs to others is recorded as a refusal."""
    with dependencies.reading() as scope:
        taken = frozenset(_ids_of_others(scope, code.stem))
    try:
        return check_functions(stated, code.app_id, url, code.manifest, taken)
    except RefusedSkillError as error:
        _record_refusal(dependencies, code, "registration", str(error))
        raise


def _note_tried(dependencies: SidecarDependencies, code: SkillCode, tried: Sequence[str]) -> None:
    """Record what the file tried to do while it was loaded."""
    if tried:
        _record_refusal(dependencies, code, "attempt", f"while it was loaded it tried to {'; '.join(tried)}")


def _note_claims(dependencies: SidecarDependencies, code: SkillCode, problems: list[SkillProblem]) -> None:
    """Record claims on what belongs to others that the source check found, as the registration would."""
    claims = [one.reason for one in problems if isinstance(one, Overreach)]
    if claims:
        _record_refusal(dependencies, code, "registration", "; ".join(dict.fromkeys(claims)))


def _record_refusal(dependencies: SidecarDependencies, code: SkillCode, what: RefusalKind, detail: str) -> None:
    with dependencies.transaction("skill-refusal") as scope:
        refusals.record_refusal(scope, skill_id=code.stem, version_id=None, run_id=None, what=what, detail=detail)


def _ids_of_others(scope: Scope, stem: str) -> Iterator[str]:
    """Yield full ids of other skills' functions that this skill's could equal: `a-b` with `c`, `a` with `b-c`."""
    for skill in list_skills(scope):
        if skill.id.startswith(f"{stem}-") or stem.startswith(f"{skill.id}-"):
            for version_id in (skill.version_id, skill.candidate_id):
                if version_id is not None:
                    yield from (str(function["id"]) for function in versions.get_version(scope, version_id).functions)


def _store_version(
    dependencies: SidecarDependencies,
    file: SkillFile,
    draft: SkillDraft | None,
    code: SkillCode,
    functions: list[dict[str, Any]],
) -> CheckedVersion:
    with dependencies.transaction("skill-version") as scope:
        skill = promotion.lock_with_candidate(scope, file.stem)
        _refuse_stale(scope, file.stem, draft)
        version = versions.add_version(
            scope,
            skill_id=file.stem,
            sha=file.sha,
            source=_decode_source(file.source),
            author=draft.author if draft is not None else "shipped" if file.origin == "shipped" else "person",
            author_ref=draft.author_ref if draft is not None else None,
            reason=draft.reason if draft is not None else "",
            parent_id=skill.version_id,
            manifest=code.manifest,
            functions=functions,
            version_id=code.version_id,
        )
        promotion.offer_version(scope, file.stem, version, _changed_author(version, draft))
        return versions.get_version(scope, version.id)


def _changed_author(version: CheckedVersion, draft: SkillDraft | None) -> dict[str, Any] | None:
    """Return who saved the text of an older version again; None when its author stays the same.

    A save without a draft is a person's. It makes them the author of an agent's version only if that served before.
    """
    if draft is not None and (draft.author, draft.author_ref) != (version.author, version.author_ref):
        return {"author": draft.author, "author_ref": draft.author_ref, "reason": draft.reason}
    if draft is None and version.author == "agent" and version.active_at is not None:
        return {"author": "person", "author_ref": None, "reason": ""}
    return None


def _refuse_stale(scope: Scope, stem: str, draft: SkillDraft | None) -> None:
    """Refuse an agent's change that is based on a version which no longer serves."""
    if draft is None or draft.author != "agent":
        return
    skill = get_skill(scope, stem)
    candidate = versions.get_version(scope, skill.candidate_id) if skill.candidate_id is not None else None
    if not decision.is_stale_base(
        draft.base_id,
        serving_id=skill.version_id if skill.serves else None,
        candidate_id=skill.candidate_id if candidate is not None and candidate.sha != draft.sha else None,
        same_author=candidate is not None and candidate.offered_by[1] == draft.author_ref,
    ):
        return
    base = f"version {versions.get_version(scope, draft.base_id).number}" if draft.base_id is not None else "no version"
    if skill.version_id is not None and draft.base_id != skill.version_id:
        now = f"version {versions.get_version(scope, skill.version_id).number} serves now"
    else:
        now = f"version {candidate.number if candidate is not None else '?'}, based on it too, is on its way"
    raise RefusedSkillError(
        SkillProblem(None, f"this change is based on {base}, but {now}", "read the newest version and change that one")
    )


def _decode_source(source: bytes) -> str:
    try:
        return source.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedSkillError(SkillProblem(None, "the file is no UTF-8 text", "save it as UTF-8 text")) from None
