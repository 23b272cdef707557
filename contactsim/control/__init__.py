"""Control and estimation by derivatives of runs: optimal inputs, receding horizons, filters, fits to measurements."""
