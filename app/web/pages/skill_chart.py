"""A chart of a skill's runs by day: position and height of each bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skills.book.run_days import RunDay

WIDTH, HEIGHT = 560, 96
_GAP = 6


@dataclass(frozen=True)
class ChartBar:
    """A day's column. The three heights are stacked from the bottom, in units of the chart."""

    day: str
    x: float
    width: float
    completed: float
    failed: float
    other: float
    words: str


@dataclass(frozen=True)
class RunsChart:
    bars: tuple[ChartBar, ...]
    width: int
    height: int
    words: str

    @property
    def empty(self) -> bool:
        return not any(bar.completed or bar.failed or bar.other for bar in self.bars)


def draw_runs_chart(days: Sequence[RunDay]) -> RunsChart:
    """Draw a column for each day; the one with the most runs is as high as the chart."""
    most = max((day.runs for day in days), default=0) or 1
    pitch = WIDTH / max(1, len(days))
    bars = tuple(
        ChartBar(
            day=day.date.isoformat(),
            x=round(n * pitch + _GAP / 2, 1),
            width=round(pitch - _GAP, 1),
            completed=_bar_height(day.completed, most),
            failed=_bar_height(day.failed, most),
            other=_bar_height(day.other, most),
            words=f"{day.date.isoformat()}: {day.completed} completed, {day.failed} failed, {day.other} other",
        )
        for n, day in enumerate(days)
    )
    completed, failed = sum(day.completed for day in days), sum(day.failed for day in days)
    judged = completed + failed
    rate = f"{round(100 * completed / judged)} % of {judged} went well" if judged else "no run ended"
    return RunsChart(bars, WIDTH, HEIGHT, f"Runs of the last {len(days)} days: {rate}")


def _bar_height(count: int, most: int) -> float:
    return round(HEIGHT * count / most, 1)
