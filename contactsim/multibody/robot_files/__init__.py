"""Robots from URDF and MJCF files, with their geometry."""
