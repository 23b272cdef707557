"""Solvers of contact problems, one a file."""
