"""Derivatives of runs at work: optimised inputs, receding horizons, filters, fits to what was measured."""
