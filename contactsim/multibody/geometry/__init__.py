"""Shapes that touch each other: distances, regions and rows, a pair a file."""
