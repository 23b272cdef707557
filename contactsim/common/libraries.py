"""Libraries that are imported when something in them is first asked for.

SciPy alone takes as long to import as a robot to read, and runs of which a compiled engine knows all need none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import Late

if TYPE_CHECKING:
    import scipy
    from numpy.polynomial import chebyshev
else:
    scipy, chebyshev = Late("scipy"), Late("numpy.polynomial.chebyshev")

__all__ = ["chebyshev", "scipy"]
