"""The parameters of laws with Coulomb friction."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contactsim.contact.law_parameters import LawParameters


class CoulombParameters(LawParameters):
    """Parameters of laws with Coulomb friction."""

    painleve: Literal["stop", "impact"] = Field(
        "impact",
        description="where no mode is admissible or forces have no bound: impact without collision, or the run stops",
    )
