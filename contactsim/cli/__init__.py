"""The command `contactsim`, and what its process returns."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """Exit status of a process."""

    OK = 0
    BROKEN = 1  # `doctor` found something without which nothing runs
    MISTAKE = 2  # of the user: one sentence said what
    STOPPED = 3  # a run ended before its time or failed its own check, and is kept; or `check` found a fault
    INTERRUPTED = 130  # by Ctrl-C or SIGTERM, before there was a run to keep
