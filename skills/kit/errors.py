"""How the kit says no."""

from __future__ import annotations

import inngest


class Refused(inngest.NonRetriableError):
    """The broker will not do it, now or at a retry: not declared, not granted, past a limit, or malformed.

    Uncaught it fails the run at once, and the skill's page says why. Catch it where there is another way:

        try:
            verdict = llm(prompt, schema=Verdict)
        except (Refused, Unavailable):
            verdict = by_rules(metrics)
    """


class Unavailable(Exception):
    """It did not work this time. Uncaught it fails the step, and the engine tries the step again later."""
