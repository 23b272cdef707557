"""The command `contactsim`."""
