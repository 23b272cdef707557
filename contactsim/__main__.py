"""``python -m contactsim`` is the `contactsim` command."""

from .cli.command import main

if __name__ == "__main__":
    main()
