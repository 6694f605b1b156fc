"""How the kit says no."""

from __future__ import annotations

import inngest


class Refused(inngest.NonRetriableError):
    """The broker will not do it, now or at a retry: not declared, not granted, past a limit, or malformed.

    Uncaught it fails the run at once, and the skill's page says why. Where there is another way, catch it inside the
    step, so that the engine remembers which way was taken:

        def assess() -> str:
            try:
                return llm(prompt, name="health", schema=Health, facts=metrics).state
            except (Refused, Unavailable):
                return by_rules(metrics)

        state = ctx.step.run("assess", assess)
    """


class Unavailable(Exception):
    """It did not work this time. Uncaught it fails the step, and the engine tries the step again later."""


class LimitReached(Unavailable, inngest.RetryAfterError):
    """A limit on money is reached, and a person is asked on a card to raise it.

    Uncaught the step is tried again after a while, as often as the function has retries: in the meantime the answer
    may have come.
    """
