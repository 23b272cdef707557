"""Hybrid systems that are not robots of a file, by name."""
