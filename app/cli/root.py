"""The root command, with the module of every subcommand."""

from __future__ import annotations

import click

from app.cli.lazy_group import LazyGroup

COMMANDS = {
    "up": ("app.cli.installation.up:up", "Start everything on this machine."),
    "ps": ("app.cli.installation.ps:ps", "List the processes of a running product."),
    "say": ("app.cli.product.messages:say", "Post a message."),
    "messages": ("app.cli.product.messages:messages", "List the main thread."),
    "tasks": ("app.cli.product.tasks:tasks", "List tasks."),
    "task": ("app.cli.product.tasks:task", "Show one task."),
    "stop": ("app.cli.product.tasks:stop", "Stop a task for good."),
    "pause": ("app.cli.product.tasks:pause", "Pause a task until it is resumed."),
    "resume": ("app.cli.product.tasks:resume", "Let a paused or blocked task go on."),
    "cards": ("app.cli.product.cards:cards", "List the cards that wait for an answer."),
    "answer": ("app.cli.product.cards:answer", "Answer a card."),
    "objects": ("app.cli.product.objects:objects", "List the shared workspace."),
    "object": ("app.cli.product.objects:show_object", "Show one object, or save its content."),
    "memory": ("app.cli.product.memory:memory", "List, correct and forget what is remembered."),
    "skills": ("app.cli.skills.group:skills", "List skills, turn them on and off, and write new ones."),
    "runs": ("app.cli.product.runs:runs", "List function runs, newest first."),
    "run": ("app.cli.product.runs:run", "Show one run with its steps."),
    "keys": ("app.cli.product.keys:keys", "List, create and revoke keys."),
    "secrets": ("app.cli.skills.secrets:secrets", "List, store and delete the secrets of skills."),
    "budget": ("app.cli.product.budget:budget", "Show the budget, or set parts of it."),
    "doctor": ("app.cli.installation.doctor:doctor", "Check settings, home, database, processes and engine."),
    "migrate": ("app.cli.installation.migrate:migrate_database", "Bring the database to this release's schema."),
    "backup": ("app.cli.installation.backup:backup", "Write database, works and keys into one file."),
    "restore": ("app.cli.installation.backup:restore", "Bring back what a backup holds."),
    "serve": ("app.cli.installation.serve:serve", "Run one process in the foreground."),
}


@click.group(cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="loopwright")
def main() -> None:
    """Loopwright: a durable agent for long work."""
