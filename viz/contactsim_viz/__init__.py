"""Shows a trajectory in 3-D with meshcat: an offline page, a live page, a picture.

The viewer reads a trajectory and its robot, or the drawing of its system (see `reads`), and is read by nobody.
Importing it costs nothing: pinocchio and meshcat are touched when something is drawn.
"""

from .viewer import MeshcatViewer, export_html, export_mp4, export_png, view

__all__ = ["MeshcatViewer", "export_html", "export_mp4", "export_png", "view"]
