"""The console of the command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def terminal(error: bool = False) -> Console:
    """The console, as wide as the terminal, and 120 columns wide into a file or a pipe."""
    from rich.console import Console

    console = Console(stderr=error, highlight=False)
    return (
        console if console.is_terminal or "COLUMNS" in os.environ else Console(stderr=error, highlight=False, width=120)
    )
