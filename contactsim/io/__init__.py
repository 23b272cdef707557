"""Scenes, files of runs, and what else is read and written."""
