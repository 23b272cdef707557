"""The contact problem in plain arrays, and the ways in which `complementarity` looks for its solution."""
