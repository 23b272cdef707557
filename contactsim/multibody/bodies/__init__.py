"""Gaps, rows and forces of bodies on the ground, against each other and in closed loops, with their derivatives."""
