"""Callbacks: signed, numbered, repeated until they are taken."""

import hashlib
import hmac
import time

from tests.studio.listener import listening
from tests.studio.running import KEY, Studio, poster
from tests.support.waiting import until


def test_news_is_signed_numbered_and_like_the_job(studio: Studio) -> None:
    with listening() as listener:
        job_id = studio.submit("news:1:1", **poster(), callback_url=listener.url).json()["id"]
        until("the last news", lambda: listener.states()[-1:] == ["succeeded"])
    for callback in listener.heard:
        at, signature = (part.partition("=")[2] for part in callback.signature.split(","))
        expected = hmac.new(KEY.encode(), at.encode() + b"." + callback.body, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(signature, expected)
        assert abs(int(at) - time.time()) < 300
    sequence = [callback.job["sequence"] for callback in listener.heard]
    assert sequence == list(range(1, len(sequence) + 1))
    assert [callback.job["progress"] for callback in listener.heard] == [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    last = listener.heard[-1].job
    del last["sequence"]
    assert last == studio.job(job_id)


def test_news_that_is_refused_is_sent_again(studio: Studio) -> None:
    with listening(refusals=3) as listener:
        studio.submit("news:1:2", **poster(), callback_url=listener.url)
        until("every piece of news", lambda: len(listener.heard) == 6)
    assert sorted(callback.job["sequence"] for callback in listener.heard) == [1, 2, 3, 4, 5, 6]


def test_nobody_listening_harms_no_job(studio: Studio) -> None:
    job_id = studio.submit("news:1:3", **poster(), callback_url="http://127.0.0.1:9/nobody").json()["id"]
    assert studio.final(job_id)["state"] == "succeeded"
