"""Many runs: sweeps over parameters on a cluster, and environments for learning."""
