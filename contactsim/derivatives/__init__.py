"""Derivatives of runs: variational equations along arcs, saltation matrices and B-derivatives at events."""
