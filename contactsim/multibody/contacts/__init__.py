"""What happens to the contacts of a system: choice of modes, bounces, derivatives of events, parameters, audit."""
