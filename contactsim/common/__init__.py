"""What every floor shares: errors of users' functions, schemas, plugins by name, arrays."""
