"""Robots from MJCF files: what MuJoCo's own compiler reads, as a robot of this engine."""
