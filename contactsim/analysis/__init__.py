"""Uses of the derivative of a run: covariances, optimal gains, periodic orbits, Lyapunov exponents."""
