"""The floor: settings, clock, ids, errors, events, database, ports."""
