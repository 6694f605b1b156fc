"""A person asks for a review, and sees what it found, proposed and predicted."""

from __future__ import annotations

from datetime import timedelta

from skills.review import alarms, reviews
from tests.skills.review.observations import review_facts
from tests.skills.saved_versions import record_run, save_live_version
from tests.web.site.site import Site

PROPOSAL = {
    "summary": "Most of it was <b>noise</b>.",
    "changes": [{"constant": "SENSITIVITY", "line": 1, "from": 1.0, "to": 0.6}],
    "words": "",
}
PREDICTION = {"measure": "false_alarm_rate", "was": 0.8, "expected": 0.4}


def test_a_review_is_asked_for_once_and_shown_when_it_is_done(site: Site) -> None:
    with site.writing() as scope:
        version = save_live_version(scope, "watch", "SENSITIVITY = 1.0\n")

    asked = [site.client.post("/api/v1/skills/watch/review", json={}) for _ in range(2)]

    assert [answer.status_code for answer in asked] == [202, 202]
    (review_id,) = {answer.json()["review_id"] for answer in asked}
    assert [one["state"] for one in site.get("/api/v1/skills/watch/reviews")["items"]] == ["requested"]
    assert "under way" in site.client.get("/skills/watch").text
    with site.writing() as scope:
        found = review_facts(20, false=4, real=1).model_dump(mode="json")
        comparison = {**PREDICTION, "review_id": "review_0", "outcome": "kept", "happened": 0.1}
        reviews.move_review(
            scope, review_id, "gathered", was="requested", version_id=version.id, facts={"facts": found}
        )
        reviews.move_review(scope, review_id, "judged", was="gathered", verdict={"said": {}, "proposal": PROPOSAL})
        reviews.move_review(
            scope, review_id, "done", was="judged", comparison=comparison, prediction=PREDICTION, task_id="t_1"
        )
    (shown,) = site.get("/api/v1/skills/watch/reviews")["items"]
    assert shown["proposal"]["changes"][0]["to"] == 0.6
    assert (shown["facts"]["false_alarm_rate"], shown["task_id"]) == (0.8, "t_1")
    assert shown["before"]["words"].endswith("it is 10% since: as predicted.")
    text = site.client.get("/skills/watch").text
    assert "Most of it was &lt;b&gt;noise&lt;/b&gt;." in text
    assert "1.0 → 0.6" in text
    assert "as predicted." in text


def test_a_proposal_that_came_to_nothing_says_why(site: Site) -> None:
    with site.writing() as scope:
        save_live_version(scope, "watch", "SENSITIVITY = 1.0\n")
        review = reviews.request_review(scope, "watch", "cause")
        verdict = {"proposal": PROPOSAL, "reason": "the skill has changed meanwhile"}
        reviews.move_review(scope, review.id, "done", was="requested", verdict=verdict, prediction=PREDICTION)

    (shown,) = site.get("/api/v1/skills/watch/reviews")["items"]

    assert (shown["proposal"], shown["reason"]) == (None, "the skill has changed meanwhile")


def test_nobody_elses_and_no_unknown_skill_is_reviewed(site: Site) -> None:
    assert site.client.post("/api/v1/skills/nobody/review", json={}).status_code == 404
    assert site.client.get("/api/v1/skills/nobody/reviews").status_code == 404


def test_what_came_of_an_alarm_or_never_came_is_told_and_counts(site: Site) -> None:
    with site.writing() as scope:
        version = save_live_version(scope, "watch", "SENSITIVITY = 1.0\n")
        record_run(scope, version, "run1", "completed")

    told = [{"value": "missed"}, {"value": "false alarm", "run_id": "run1", "text": "a deploy"}]
    assert [site.post("/api/v1/skills/watch/outcomes", one).status_code for one in told] == [200, 200]

    with site.writing() as scope:
        found = alarms.list_alarms(scope, "watch", version.id, scope.now - timedelta(hours=1))
    assert {(one.run_id, one.meaning) for one in found} == {("", "late"), ("run1", "false_alarm")}
    for wrong in ({"value": "perhaps"}, {"value": ""}, {"value": "x" * 40}):
        assert site.post("/api/v1/skills/watch/outcomes", wrong).status_code in {400, 422}
    assert site.post("/api/v1/skills/watch/outcomes", {"value": "real", "run_id": "run9"}).status_code == 404
    assert site.post("/api/v1/skills/nobody/outcomes", {"value": "real"}).status_code == 404
