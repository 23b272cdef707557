"""Where hybrid systems, contact problems and robots meet: flows, transitions, energy audits."""
