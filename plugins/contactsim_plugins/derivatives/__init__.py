"""Derivatives of events: of one guard, and of several that fall at one instant."""
