"""The group of all commands."""

from __future__ import annotations

import click

from app.cli.lazy import LazyGroup

COMMANDS = {
    "up": ("app.cli.up:up", "Start everything on this machine."),
    "ps": ("app.cli.ps:ps", "List the processes of a running product."),
    "say": ("app.cli.say:say", "Post a message."),
    "messages": ("app.cli.messages:messages", "List the main thread."),
    "tasks": ("app.cli.tasks:tasks", "List tasks."),
    "task": ("app.cli.tasks:task", "Show one task."),
    "stop": ("app.cli.tasks:stop", "Stop a task for good."),
    "pause": ("app.cli.tasks:pause", "Pause a task until it is resumed."),
    "resume": ("app.cli.tasks:resume", "Let a paused or blocked task go on."),
    "cards": ("app.cli.cards:cards", "List the cards that wait for an answer."),
    "answer": ("app.cli.cards:answer", "Answer a card."),
    "objects": ("app.cli.objects:objects", "List the shared workspace."),
    "object": ("app.cli.objects:show_object", "Show one object, or save its content."),
    "memory": ("app.cli.memory:memory", "List what is remembered; correct it, have it forgotten."),
    "skills": ("app.cli.skills:skills", "List skills, turn them on and off, and write new ones."),
    "runs": ("app.cli.runs:runs", "List function runs, newest first."),
    "run": ("app.cli.runs:run", "Show one run with its steps."),
    "keys": ("app.cli.keys:keys", "List, create and revoke keys."),
    "secrets": ("app.cli.secrets:secrets", "List, store and delete the secrets of skills."),
    "budget": ("app.cli.budget:budget", "Show the budget, or set parts of it."),
    "doctor": ("app.cli.doctor:doctor", "Check settings, home, database, processes and engine."),
    "migrate": ("app.cli.migrate:migrate_database", "Bring the database to this release's schema."),
    "backup": ("app.cli.backup:backup", "Write database, works and keys into one file."),
    "restore": ("app.cli.backup:restore", "Bring back what a backup holds."),
    "serve": ("app.cli.serve:serve", "Run one process in the foreground."),
}


@click.group(cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="loopwright")
def main() -> None:
    """Loopwright: a durable agent for long work."""
