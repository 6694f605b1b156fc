"""The same functions and events on any Inngest server, and what came of them."""
