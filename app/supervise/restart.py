"""How long a process that died waits before it is started again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RestartPolicy:
    """The first restart is quick, since a kill is survived; each further one in a row waits longer. In seconds."""

    first: float = 0.2
    factor: float = 2.0
    longest: float = 15.0
    # A process that was ready for this long, and for as long as its start took, counts as healthy: its next death
    # starts the row anew. One that always dies so late spends more time on its work than on its starts.
    healthy_after: float = 1.0

    def pause(self, deaths_in_a_row: int) -> float:
        """The pause after this many deaths in a row, the last one included."""
        # The exponent is capped: a float overflows after a thousand deaths.
        return float(min(self.longest, self.first * self.factor ** min(deaths_in_a_row - 1, 32)))

    def in_a_row(self, deaths_before: int, served: float, start_took: float) -> int:
        """How many deaths in a row there are now that a process died which had been ready for so long."""
        return 1 if served >= max(self.healthy_after, start_took) else deaths_before + 1
