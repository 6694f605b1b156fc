"""What every page of the engine uses: access, sessions, templates, words."""
