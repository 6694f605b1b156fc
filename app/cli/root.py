"""The group of all commands."""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="loopwright")
def main() -> None:
    """Loopwright: a durable agent for long work."""
