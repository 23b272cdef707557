"""Zero tests of robots, their geometry and their ground: each threshold once, with its unit and its reason."""

from __future__ import annotations

# --- of lengths -----------------------------------------------------------------------------------------------------
ON_SOLID = 1e-9  # m: a contact point on the surface of a solid of its own body is this near to it
RIM = 1e-7  # m: a point without radius is held by a face of a box up to this far beyond its edge
SUNK = 1e-9  # m: a point outside of a solid touches none of its faces that it is deeper below: contacts start as deep
BESIDE = 5e-10  # m: a point less than this beside a face is over it; edges touch what they cross from half of that from
# their ends on, so that nothing passes between them
NEAR_EDGE = 2e-7  # m: a corner passes an edge within this; more than RIM
ROUND_RIM = 1e-11  # m: a rounded contact ends this far beyond its edge, its normal off by that over the radius
TIED = 1e-13  # m: features that are as near as another one but for this are the nearest, too
OFF = 1e-6  # m: added to the distance of edges that do not meet as features of their bodies, so that they never touch
OPEN = 1e-6  # m, m/s: a loop may start open by this much; it is closed then
CLOSED = 1e-11  # m: what is left of a loop where Newton's method ends
EXACT = 1e-15  # errors of a loop below this are zero, relative to the size of the configuration
FOUND = 1e-9  # step of Newton's method to a nearest point after which the next is rounding, in radii of curvature or m
RELATIVE = 1e-13  # such a step that is rounding, relative to the place
UNLIMITED = 1e3  # rad, m: position limits beyond this mean that there is none
ABYSS = 1e9  # m: depth at which a ground is none
FAR = 1e6  # m: limits of a coordinate beyond this are none

# --- of directions --------------------------------------------------------------------------------------------------
MOTION = 1e-9  # a direction in which things move less, relative to the largest motion or to one, is none
IMMOBILE = 1e-12  # largest motion of contacts that do not move
ASIDE = 1e-9  # part of a normal, or slope, out of the plane of motion that is none: that plane is known to rounding
DOWN = 1e-12  # 1 + n_z of a normal that counts as pointing straight down: 1e-6 rad
FLAT = (
    1e-6  # rad: a disc that is tilted by less lies flat: points of its rim hold it, a few nm below the rim between them
)
FLAT_ON_HILLS = 2.0  # the same on curved ground, in radii of the disc times its curvature: there a tilted rim is unique
ALONG = 1e-9  # rad: lines or planes that run along each other within this have no one common normal
ROUGH = 1e-7  # rad: a turn of a normal below this that no longer shrinks is rounding, of grounds that are differenced
SMALL_ANGLE = 1e-4  # rad: below, two terms of a series are exact to rounding

BULGE = 1e-4  # half thickness of a rim on what gives way, in radii: tilt in which its force crosses the disc
EVEN = 0.5**0.5  # radii at which points are as hard to tip as a disc that presses evenly: x^2 is R^2 / 4 there
LEVEL = 5e-9  # m: a disc on a plane whose low side is no lower than this below its middle lies flat, at most FLAT
FAR_BODIES = 0.1  # distance of the boxes around two bodies, in sums of their sizes, from which on edges are not asked
NEARING = 1e-6  # m: bodies that come this near to each other along a step may touch; interpolants err by less
SETTLED_WAY = (
    1e-13  # m: a step of Newton's method to the point of an edge or face nearest to the ground that is rounding
)
LEAST_HUMP = 1e-9  # m: a hump between the corners of a body that is no higher is none: contacts may start as deep
TOUCHING = 1e-11  # m: bodies that may be inside each other by less are not looked at more closely
DEEP = 1e-6  # m: features that are less inside each other are taken at their word: their bodies are, too
FAR_SIDE = 0.1  # share of their depth below which bodies are not inside each other where features deeper than DEEP are
SETTLED = 1e-14  # m: a gain of distance that is rounding
LOOSE = 1e-3  # share of the size of bodies: edges this close that do not meet are watched by samples, not by bounds
ONE_POINT = 1e-6  # m: contacts of round bodies this near to each other, with one normal, take over from each other: RIM
# beyond the rim of an end the nearest points are as far apart as RIM over the sine at which rims cross there, at most,
ONE_NORMAL = 1e-5  # rad: and normals that are one there, as RIM over a radius of 1 cm
RULED = 1e-8  # curvature of the ground along an edge, relative to the largest, below which it is ruled: ends hold it
STRAIGHT_HUMP = 1e-10  # m: a hump below an edge or a side that is no higher between its ends is none: these hold it
PARALLEL_EDGES = 1e-7  # sine of the angle of edges that are parallel: their vertices meet, within RIM on 1 m
PARALLEL_RIMS = 1e-4  # sine of the angle of rims below which sides take their place, off by its square times the radius
ARC = 1e-6  # by which a normal may miss the arc of an edge: in a face it lies at the end of it
COPLANAR = 1e-9  # difference of the normals of faces that are one, and distance from it in sizes of the hull
FLAT_HULL = 1e-6  # thickness of a convex hull, in units of its size, that is none

# --- of numbers that were given, and of rounding --------------------------------------------------------------------
UNIT = 1e-6  # a quaternion (or complex number) may be off unit length by this much
AGREES = 1e-5  # difference of a derivative that is given from that by differences, relative to one and to its size
INDEFINITE = -1e-9  # eigenvalue of an inertia, in units of the mass, that rounding leaves
UNMOVED = 1e-13  # inertia that a joint moves by itself, relative to all it carries, that is rounding
TRIANGLE = 0.01  # by which a moment of inertia may be above the sum of the others: files round to two digits or three
SYMMETRIC = 1e-9  # entries by which a mass matrix may differ from its transpose, relative to the largest
ULPS = 8.0  # units in the last place by which a gap or a velocity is rounded
NOTHING_ADDED = 1e-9  # share of its volume by which a mesh that is its own hull differs from it, by rounding
