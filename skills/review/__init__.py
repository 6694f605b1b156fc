"""The review of skills: how each did, by its runs and by what people say of them, and what should change."""
