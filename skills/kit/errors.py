"""Errors that the kit raises."""

from __future__ import annotations

import inngest


class Refused(inngest.NonRetriableError):
    """The broker refuses, now and at a retry: not declared, not granted, past a limit, or malformed.

    Uncaught, it fails the run at once, and the skill's page says why. If there is another way, catch it inside the
    step, so that the engine remembers which way was taken:

        def assess() -> str:
            try:
                return llm(prompt, name="health", schema=Health, facts=metrics).state
            except (Refused, Unavailable):
                return by_rules(metrics)

        state = ctx.step.run("assess", assess)
    """


class Unavailable(Exception):
    """The call failed this time. Uncaught, it fails the step, and the engine retries the step later."""


class LimitReached(Unavailable, inngest.RetryAfterError):
    """A spending limit is reached, and a person is asked on a card to raise it.

    Uncaught, it has the step retried after a while, as often as the function has retries.
    """
