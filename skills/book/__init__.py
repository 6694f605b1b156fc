"""The book of skills: rows of skills, versions, drafts, grants, runs and what became of them."""
