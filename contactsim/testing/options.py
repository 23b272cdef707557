"""The option `--contactsim-law` of pytest; importing this imports nothing else."""

from __future__ import annotations

from typing import Any

HELP = "plugin to hold to its contract: pytest --pyargs contactsim.testing --contactsim-law NAME"


def pytest_addoption(parser: Any) -> None:
    """Add the option; it may be given several times."""
    parser.getgroup("contactsim").addoption(
        "--contactsim-law", action="append", default=[], metavar="NAME", dest="contactsim_laws", help=HELP
    )
