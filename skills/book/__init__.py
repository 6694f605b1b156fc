"""The book of skills: database rows for skills, versions, drafts, grants, runs and outcomes."""
