"""Parts that all pages share: access, sessions, rendering, query parameters and text."""
