"""Steps of a run that works on a turn, from entry to end, and the outcome of an order, which wakes its task."""
