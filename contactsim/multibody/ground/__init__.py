"""Surfaces to stand on: what they have in common, hills, and ground that moves."""
