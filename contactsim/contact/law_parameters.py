"""The schema of a contact law's parameters, apart from the laws: pydantic takes longer to import than a first run."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class LawParameters(BaseModel):
    """Parameters of a contact law: a schema with defaults, checked when a law is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)
