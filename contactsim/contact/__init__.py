"""The contact problem on plain arrays: friction, impacts, choice of stick and slip; nothing of robots."""
