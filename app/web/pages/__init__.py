"""The pages: server-rendered, kept fresh by small scripts."""
