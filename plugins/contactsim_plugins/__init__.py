"""Built-in plugins of contactsim, found through their entry points like anybody's."""
