"""The format of a skill file: manifest, schedules, events and expressions that it may name, and its template."""
