"""Robots and mechanisms in contact; the only part of the engine that knows pinocchio."""
