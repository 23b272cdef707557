"""Equations of motion and contact rows of robots, by pinocchio."""
