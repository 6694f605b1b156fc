"""Steps of a turn's run, from its entry to its end, and the end of an order that wakes a task."""
