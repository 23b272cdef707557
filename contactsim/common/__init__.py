"""Shared by every floor: errors of users' functions, schemas, plugins by name, arrays."""
