"""Weekly reviews of skills: judge each by its runs and people's answers, and propose changes."""
