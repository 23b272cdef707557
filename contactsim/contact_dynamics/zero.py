"""Zero tests of the motion in contact: each threshold once, with its unit and its reason."""

from __future__ import annotations

# --- of guards, besides `Tolerances` --------------------------------------------------------------------------------
OF_HOPS = 100.0  # speeds of hops that are too low to be followed, up to which a slip is stopped with them
# Forces of contacts are known relative to the largest of them, but no better than for this share of the largest of
# weights and inertial forces.
LEAST_FORCE = 1e-4
OF_FORCE = 4.0  # `Tolerances.force` that a margin of forces may be off: it is made of several
OF_EQUATIONS = 2.2e-16  # relative rounding of the equations for forces, which a small singular value magnifies
AT_STOP = 0.01  # a stop is as exact as this share of the speed that counts as zero
OF_SLIP_SPEED = 0.05  # share of the slip speed; where exactly a slip direction is let go or held does not matter
SPACING = 10.0  # units of rounding of the largest coordinate below which a gap is not known [m]
LOWEST = 20.0  # units of rounding of the time below which a hop is not higher than what its guard takes for zero

FASTEST = 20.0  # m/s, speed of a gap up to which it is seen coming
JOLT = 1e4  # m/s^2, acceleration of a gap up to which it is seen coming within a short time

# --- of slips -------------------------------------------------------------------------------------------------------
# A contact takes its own slip direction from this many slip speeds on. Below, while it breaks away, the direction of
# the slip acceleration stands for it: friction turns the slip within |z_t| / (mu lam_n G_tt), too fast to integrate.
# What that misses goes with the square of the speed, and a stiff method takes as many steps from a lower one on.
LEAVE = 2.0
# A slip that turned when its direction was held is free until it is so many times slower, down to this share of the
# slip speed: directions of yet slower ones are not known, as velocities are as exact as a run's tolerance.
STEADIER, SLOWEST = 10.0, 0.01
# What brings slips to rest that are held moves no contact faster than they are, and has the energy of some such
# contacts (of landing robots up to 2.4 times their speed). What has that of so many times the speed throws the robot.
THROWN = 10.0
ASIDE = 0.7  # share of a slip along its held direction, below which it has turned
BEGUN = 2.0 * LEAVE  # slip speeds below which a slip that is no longer directed has just begun
# Slip that leaves its reference direction by less than this runs straight [m/s]: without it, the rounding of a stage
# near the stop would turn the direction of friction, and a long step would amplify that. Where a slow slip turns,
# friction leaps as it passes this, and sharp tolerances take steps as short as the way there: no more than some
# roundings.
STRAIGHT = 1e-14
# A step towards a stop in space ends where this share of the way to it is gone, by the deceleration where it begins:
# friction changes its direction on the way, and no step ends well that ran past the stop. Within so many slip speeds of
# the one at which the direction is held from then on, it may go half way from there to the stop.
APPROACH = 0.9
CLOSE_TO_STOP = 2.0
# A step away from where a slip in space began slowly ends where its speed has grown by so many times itself: friction
# turns it at a rate that falls with its speed, and a longer step does not see that it does.
AWAY = 3.0
# What begins to slip takes the direction of its slip, not of its acceleration, where that falls below this share of
# what friction causes; behind its zero there is no such direction, or a far one.
TURNING, OF_TURNING = 1e-3, 0.01
LESS = 1.0 - 1e-6  # share of friction with which it is seen where a contact at the edge of its cone would slip
AT_EDGE = 1.0 - 1e-5  # share of its friction that a contact at the edge of its cone takes, as far as its event is known
MOST_OFF = 10.0  # roundings of the largest force beyond the edge of a cone from where on a contact does not stick
MOVING = 10.0  # slip speeds above which the direction of friction is compared with that of the slip

# --- of forces, energies and ratios, relative to their size ---------------------------------------------------------
JAM = 1e-3  # contacts jam where friction makes the least singular value of their equations this small
# Contacts jam where friction has taken all but this share of the determinant of their equations: forces are as good as
# infinite there, or the free acceleration as good as zero, and what remains of the way takes so many seconds.
JAMMED = 1e-6
NEAR_JAM = 0.1  # share below which it counts by how fast slips turn
CLOSER = 0.1  # share of what is left where an arc begins near a jam, by which it is looked ahead then
AT_JAM = 10.0  # such shares below which an arc begins at a jam: it leads on under bounded forces, or there were none
MORE_FRICTION = tuple(JAMMED * 4.0**k for k in range(1, 8))  # with which they have jammed, the least of them that does
SMALLEST = 1e-8  # forces that are the smallest ones are so but for this, relative to the largest of them
PARALLEL = 1e-9  # one less the cosine between two normals that count as one
SAME_RATE = 1e-4  # relative difference of two rates that count as one; normals that are parallel leave 5e-5 of it
GAIN = 1e-9  # kinetic energy that an impact gains by rounding, relative to what there was
NO_ENERGY = 1e-12  # J, the scale of a run in which nothing moves
ROUNDED = 1e-12  # share of the largest impulse of an event, up to which one that brings a contact to rest is rounding
NO_FORCE = 1e-12  # N, that of forces
NO_SPEED = 1e-12  # m/s, that of slips
SINGULAR = 1e12  # condition of a matrix from which on what solves it is not told
TOGETHER = 1e-5  # relative difference of the durations of two hops that end at one instant
ALIKE = 1e-6  # difference of two ratios r that count as one, in (1 - r)^2: the share by which the series is missed

# --- of hops that accumulate: see `zeno.py` ---------------------------------------------------------------------------
HOPS = 24  # hops that are followed one by one; what comes behind is summed as a geometric series
LESSER = 0.05  # hops that begin with less than this share of the speed of the largest do not change when that ends
STALLED = 16  # hops in succession that take no time: contacts that pass an impact to and fro; what follows takes none
LONGEST_CYCLE = 4  # hops after which a pattern of hops repeats
SLOW = 20.0  # hops that start with this many times the smallest speed told from zero are not followed

# --- of the last moments before a slip stops: see `expanded_arc.py` ---------------------------------------------------
LONGER = 1.2  # times its duration up to which an expansion may be asked: a step may run a little past a stop
PROBE = 0.75, 0.5  # shares of its duration, and of the largest turn of the slips, at which it is held to the truth
LEAST_TURN = 0.5  # share of the largest of them with which any slip is turned to see what that does
TURNS = 4  # coordinates of slips that are free to turn; each costs a look, as much as several steps save
MIDDLE = 1.0 / 3.0  # share of the duration for which a change of velocity that grows evenly has acted

# --- of places ------------------------------------------------------------------------------------------------------
PLACED = 1e-13  # to which a robot is put at its height above hills [m]
ALONG_AXIS = 1e-9  # what moves along an axis leaves it by no more, for each metre [m]
OFF_MODE = 1e-6  # how far a state may be from a mode in which a run is to start [m, m/s]: rounding of its user
OF_TIME = 2e-5  # s, of differences by time of what moving ground does
PARAMETER_STEP = 1e-4  # of a parameter, relative to its scale: what is differenced by it is linear, or nearly so

# --- of friction that depends on the slip speed -----------------------------------------------------------------------
SAME_FRICTION = 1e-13  # change of the coefficients of an impact that is rounding
OF_FRICTION = 1e-5  # of coefficients, in differences of an impact with its modes held

OFF_LATCH = 1e-6  # by which what a latch holds may be apart where it closes [m, rad]: the time of events, and drift
