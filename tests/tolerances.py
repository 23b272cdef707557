"""The one table of tolerances of the tests: what is compared, with its unit, and why the figure is what it is."""

# --- accuracy, default tolerances of the engine ---------------------------------------------------------
BOUNCE_TIME = 1e-10  # s, first five bounces
STOP_TIME = 1e-9  # s, sliding point or box
STOP_PLACE = 1e-9  # m
SLOPE_PATH = 1e-8  # m and m/s, against an independent ODE
CREEP = 1e-9  # m, over 10 s at rest
SLIDE_TO_ROLL = 1e-8  # s, m, m/s
MOMENTUM = 1e-9  # relative to max(1, |momentum|)
ENERGY = 1e-8  # relative to max(1 J, |energy|)
GAP = 1e-9  # m, deepest penetration allowed
LAW_RESIDUAL = 1e-8  # cone and complementarity, relative to the force scale of the run
WORK_ENERGY = 1e-6  # relative to the energy turned over
SETTLE = 2e-6  # m/s, what is left of a slip velocity in space when it is captured (Tolerances.slip_speed)
IMPULSE = 1e-9  # N s, momentum balance of one impact, relative to its scale

# --- published numbers ---------------------------------------------------------------------------------------------
PUBLISHED_TIME = 1e-10  # s, event times quoted to 12 digits and more
PUBLISHED_STATE = 1e-8  # state after several events
PUBLISHED_PRINT_8 = 1e-8  # values printed with 8 decimals
REFERENCE_FILE = 5e-9  # Siconos' files, exact to 5e-11, against a run with default tolerances
INVARIANT = 1e-8  # m/s, first integrals of sliding
RATIO = 1e-9  # dimensionless, quotient of velocities at an impact

# --- complementarity -----------------------------------------------------------------------------------------------
PROBLEM_LAW = 1e-8  # violation of the law by a solution, relative to the problem's scale
PROBLEM_MOTION = 1e-7  # difference of two accelerations that are to be the same, relative to the problem's scale
PUBLISHED_FORCE = 1e-7  # relative, the contact problems of Siconos (unsymmetric in the 5th digit)

# --- manifold and modelling ----------------------------------------------------------------------------------------
ON_MANIFOLD = 1e-12  # distance of a quaternion's or a circle's norm from one
BOTH_WAYS = 1e-8  # two models of one body, run with TIGHT tolerances
TOP_REFERENCE = 1e-10  # the reference of the spinning top itself
DENSE = 1e-7  # dense output between steps against a closed form

# --- MJCF files, against MuJoCo's own compiler and integrator ------------------------------------------------------
MJCF = 1e-9  # masses, inertias, ranges, coefficients and poses: relative to max(1, |number|), inertias to their largest
MJCF_SHAPE = 1e-5  # m, rad: MuJoCo puts geoms that are almost in the axes of inertia of their body into these
MJCF_MOTION = 1e-6  # rad, m: free motion of 0.5 s against a converged run of MuJoCo's RK4
MJCF_FORCE = 1e-9  # forces of actuators and springs, relative to max(1, |largest|)

# --- order of the integrators: slope of log(error) over log(steps) must be at least this steep ----------------------
ORDER = {"DOP853": 6.0, "RK45": 3.7}

# --- closest points of features, which are 0.2 m to 1.5 m large and apart -------------------------------------------
CLOSEST_POINT = 1e-12  # m, and of unit normals: equations of the closest points
CLOSEST_MINIMUM = 1e-8  # m, distance against minimisation, which ends where its differences are rounding
CLOSEST_RATE = 1e-8  # relative to the rate, against differences of fourth order
CLOSEST_SECOND = 1e-7  # relative, derivatives of rates against the same

# --- capsules, cylinders and ellipsoids ------------------------------------------------------------------------------
ROLLED = 1e-8  # m, rolling on a plane, default tolerances
PRECESSION = 1e-9  # of Euler's disk: m, unit vectors, and its energy relative to itself
ROCKING = 1e-8  # rad and m, against an equation of its own
THROUGH_SHAPES = 1e-5  # relative, the derivative of a run against Richardson's differences

# --- files ----------------------------------------------------------------------------------------------------------
STORED = 1e-12  # a stored run against the run itself, at any time: polynomials are kept, so rounding only
DERIVATIVE = 1e-9  # relative, the matrix of a stored run against that of the run itself

# --- parameters -----------------------------------------------------------------------------------------------------
PARAMETER = 1e-6  # relative, the derivative by a parameter against differences of whole runs of fourth order
