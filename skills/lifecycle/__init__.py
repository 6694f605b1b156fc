"""The life of a skill's versions: how far each may go, who moves it, and what ends its service."""
