#include "contact_mode.hpp"

#include <algorithm>
#include <numeric>

#include "charts.hpp"
#include "dense.hpp"
#include "redundancy.hpp"

namespace native {

constexpr int FEW_ROWS = 24;  // that are held: of more it is looked at whether they fall into parts

Ground Terrain::at(double t) const {
    if (!motion) return {};
    const double w = motion->pace, s = std::sin(w * t + motion->phase), c = std::cos(w * t + motion->phase);
    return {motion->amplitude * s, motion->amplitude * (w * c), motion->amplitude * (-w * w * s)};
}

double Terrain::fastest(int order) const {
    if (!motion) return 0.0;
    const Vec3& way = motion->amplitude;
    return (hills ? std::sqrt(dot(way, way)) : std::abs(dot(basis[0], way))) * std::pow(motion->pace, order);
}

int rows_of(const ContactMode& mode, const Closed& closed) {
    return closed.contact.is_limit() ? 1 : static_cast<int>(mode.terrain.basis.size());
}

bool gives_way(const ContactMode& mode) {
    const State state = mode.closed.empty() ? State::smooth : mode.closed.front().state;
    return state == State::yields || state == State::released;
}

bool slides(const Closed& closed) {
    return closed.state == State::slip_free || closed.state == State::slip_held || closed.state == State::slip_begins;
}

int stuck_rows(const ContactMode& mode, const Closed& closed) {
    if (closed.state == State::yields || closed.state == State::released) return 0;
    return closed.state == State::stick ? rows_of(mode, closed) : 1;
}

namespace {

// The centre of a contact, from the origin of the sweep, and the same from that of the ground.
Vec3 centre_of(const Contact& contact, const Sweep& sweep) {
    if (contact.joint < 0) return contact.centre - sweep.origin;
    return sweep.place[contact.joint] + sweep.turn[contact.joint] * contact.centre;
}

// The point of its core that is nearest to the plane: of a sphere the centre.
Vec3 core_of(const Terrain& terrain, const Contact& contact, const Sweep& sweep) {
    const Vec3 centre = centre_of(contact, sweep);
    return contact.round ? centre + contact.round->arm(sweep.turn[contact.joint], terrain.basis[0]) : centre;
}

// Velocity of that point: with its body, and over it.
Vec3 velocity_of_core(const Terrain& terrain, const Contact& contact, const Vec3& core, const Sweep& sweep) {
    const Spatial& motion = sweep.velocity[contact.joint];
    const Vec3 carried = motion.linear + cross(motion.angular, core);
    if (!contact.round) return carried;
    return carried + contact.round->sliding(sweep.turn[contact.joint], terrain.basis[0], motion.angular);
}

Vec3 on_ground(const Vec3& centre, const Sweep& sweep) {
    return centre + (sweep.origin - sweep.ground.place);
}

// Velocity of a contact's centre against the ground as a whole.
Vec3 speed_of(const Contact& contact, const Vec3& centre, const Sweep& sweep) {
    const Spatial& motion = sweep.velocity[contact.joint];
    return motion.linear + cross(motion.angular, centre) - sweep.ground.velocity;
}

// Velocity of the point of a contact that is nearest to the ground, against the ground there; or to its solid.
Vec3 slip_velocity(const Terrain& terrain, const Contact& contact, const Vec3& centre, const Sweep& sweep,
                   const Footing& under) {
    const Vec3 below = under.axis[0] * -contact.radius;
    if (contact.is_flat()) {
        const Spatial motion = velocity_of(contact.joint, sweep);
        return motion.linear + cross(motion.angular, under.point);
    }
    if (contact.other) {
        const Spatial against = velocity_of(contact.joint, sweep) + velocity_of(contact.other->joint, sweep) * -1.0;
        const bool known = contact.edges || contact.features;
        return against.linear + cross(against.angular, known ? under.point : centre + below);
    }
    const Vec3 speed = speed_of(contact, centre, sweep);
    const Vec3 slip = speed + cross(sweep.velocity[contact.joint].angular, below);
    return slip - (terrain.hills ? under.hill.velocity : terrain.belt);
}

// What the curvature of hills adds to the accelerations along the rows that velocities cause: the normal turns by
// n' = H u as the centre moves by u, and with it the place below the centre and the tangents.
void add_curvature(const Hills& hills, const Contact& contact, const Vec3& speed, const Vec3& spin, const Vec3& slip,
                   const Footing& under, int tangents, double* bias) {
    const Vec3 turn = under.hill.hessian * speed;
    const Vec3 change = cross(spin, turn * -contact.radius) - Vec3{0.0, 0.0, dot(under.hill.rise, speed)};
    const std::array<Vec3, 2> turned = hills.turned(under.axis[0], turn);
    bias[0] += dot(turn, speed);
    for (int d = 0; d < tangents; ++d) bias[1 + d] += dot(under.axis[1 + d], change) + dot(turned[d], slip);
}

Ball ball_of(const Contact& contact, const Sweep& sweep) {
    Ball ball{centre_of(contact, sweep), contact.radius, {}};
    if (!contact.inner) return ball;
    ball.inner = ball.centre + (contact.joint < 0 ? *contact.inner : sweep.turn[contact.joint] * *contact.inner);
    return ball;
}

// Where what touches a solid does so, and how fast that moves; where the joints' velocities are known.
MovingSpot moving_spot_of(const Contact& contact, const Sweep& sweep) {
    if (contact.edges) return moving_spot_of(*contact.edges, *contact.other, sense_of(contact, sweep), sweep);
    if (contact.features) {
        const MotionsOf<double> motions = motions_of(contact, sweep);
        const MeetOf<double> found = contact.features->meet(motions, held_region(contact, motions.places));
        return {found.x, found.x_rate, found.n, found.n_rate};
    }
    const Meeting meeting = met(contact, sweep);
    const RelativeMotion motion = motion_of(*contact.other, meeting, contact.joint, sweep);
    return {meeting.centre - meeting.normal * contact.radius, motion.centre_rate - motion.normal_rate * contact.radius,
            meeting.normal, motion.normal_rate};
}

// Rows of what touches a solid at a point x, with E = (n, t...): with dV = V - V_other,
//     z = E u, u = dV_l + dV_w x x,    z' = E' u + E u', u' = dA_l + dA_w x x + dV_w x x'.
void pair_rows(const Robot& robot, const ContactMode& mode, const Contact& contact, int other, const MovingSpot& spot,
               int first, Scratch& s, Footing& found) {
    const Sweep& sweep = s.sweep;
    found.axis = mode.terrain.frame.axes(spot.normal), found.point = spot.point;
    const std::array<Vec3, 3> turning = mode.terrain.frame.rates(spot.normal, spot.normal_rate);
    const int nv = robot.nv, count = static_cast<int>(mode.terrain.basis.size());
    const auto add = [&](int j, double sign) {
        if (j < 0) return;
        const Joint& joint = robot.joints[j];
        for (int k = joint.v + joint.size - 1; k >= 0; k = robot.ancestor[k]) {
            const Vec3 moved = sweep.column[k].linear + cross(sweep.column[k].angular, spot.point);
            for (int d = 0; d < count; ++d) s.row[(first + d) * nv + k] += sign * dot(found.axis[d], moved);
        }
    };
    add(contact.joint, 1.0), add(other, -1.0);
    const Spatial against = velocity_of(contact.joint, sweep) + velocity_of(other, sweep) * -1.0;
    const Spatial drift = drift_of(contact.joint, robot, sweep) + drift_of(other, robot, sweep) * -1.0;
    const Vec3 slip = against.linear + cross(against.angular, spot.point);
    const Vec3 change = drift.linear + cross(drift.angular, spot.point) + cross(against.angular, spot.point_rate);
    for (int d = 0; d < count; ++d) {
        s.rates[first + d] = dot(found.axis[d], slip);
        s.bias[first + d] = dot(turning[d], slip) + dot(found.axis[d], change);
    }
}

}  // namespace

bool Contact::is_kinked() const {
    return edges || inner || feature || !meets_corners || (features && features->kinked);
}

bool Contact::takes_over() const {
    return features ? features->takes_over : is_kinked() || !beside.empty();
}

bool Contact::is_measured() const {
    return edges ? !edges->blunt : !features || features->measured;
}

bool is_on_standing_disc(const ContactMode& mode, const Contact& contact) {
    if (contact.disc < 0 || contact.region) return false;
    return std::any_of(mode.closed.begin(), mode.closed.end(), [&](const Closed& closed) {
        return closed.contact.disc == contact.disc && closed.contact.features->holds_disc;
    });
}

PairPlaces places_of(const Contact& contact, const Sweep& sweep) {
    const Solid& other = *contact.other;
    const Mat3 turn = contact.joint < 0 ? contact.turn : sweep.turn[contact.joint] * contact.turn;
    return {{turn, centre_of(contact, sweep)}, {axes_of(other, sweep), place_of(other, sweep)}};
}

MotionsOf<double> motions_of(const Contact& contact, const Sweep& sweep) {
    return {places_of(contact, sweep), velocity_of(contact.joint, sweep), velocity_of(contact.other->joint, sweep)};
}

Region held_region(const Contact& contact, const PairPlaces& places) {
    return contact.region ? *contact.region : contact.features->region(places);
}

Pose pose_of(const Contact& contact, const Sweep& sweep) {
    const HillFeature& feature = *contact.feature;
    if (contact.joint < 0) return {feature.turn, feature.place};
    const Mat3& turn = sweep.turn[contact.joint];
    return {turn * feature.turn, sweep.place[contact.joint] + turn * feature.place + sweep.origin};
}

std::optional<MovingSpot> spot_on_hills(const Contact& contact, const Sweep& sweep, bool moving,
                                        const std::optional<Lowest>& own) {
    const Flat& flat = *contact.feature->flat;
    const Pose pose = pose_of(contact, sweep);
    Lowest here;
    if (own) here = *own;
    if (!own && flat.nearest(pose, here) != Hills::Found::yes) return {};
    here.core = here.core - sweep.origin;
    return flat.moving(pose, here, moving ? velocity_of(contact.joint, sweep) : Spatial{});
}

double sense_of(const Contact& contact, const Sweep& sweep) {
    return contact.region ? (*contact.region)[0] : cross_edges(*contact.edges, *contact.other, sweep).sense;
}

Meeting met(const Contact& contact, const Sweep& sweep) {
    return meet(*contact.other, contact.region, ball_of(contact, sweep), sweep);
}

Region region_there(const Contact& contact, const Sweep& sweep) {
    if (contact.features) return contact.features->region(places_of(contact, sweep));
    if (!contact.edges) return region_of(*contact.other, ball_of(contact, sweep), sweep);
    return {static_cast<int>(cross_edges(*contact.edges, *contact.other, sweep).sense), 0, 0};
}

Spot spot_of(const Contact& contact, const Sweep& sweep) {
    if (contact.edges) return spot_of(*contact.edges, *contact.other, sense_of(contact, sweep), sweep);
    if (contact.features) {
        const PairPlaces places = places_of(contact, sweep);
        const MeetOf<double> found = contact.features->meet({places, {}, {}}, held_region(contact, places));
        return {found.x, found.n};
    }
    const Meeting meeting = met(contact, sweep);
    return {meeting.centre - meeting.normal * contact.radius, meeting.normal};
}

int outermost(const Robot& robot, int j) {
    return j < 0 ? -1 : robot.joints[j].v + robot.joints[j].size - 1;
}

Tips outermost(const Robot& robot, const Contact& contact) {
    if (contact.is_limit()) return {contact.velocity};
    return {outermost(robot, contact.joint), contact.other ? outermost(robot, contact.other->joint) : -1};
}

Tips tips_of(const Robot& robot, const Contact& contact) {
    return robot.loops.size() ? Tips{robot.nv - 1, -1, true} : outermost(robot, contact);
}

std::vector<int> moving(const Robot& robot, Tips tips) {
    std::vector<int> found;
    for (; tips.outermost() >= 0; tips.go_inwards(robot)) found.push_back(tips.outermost());
    std::reverse(found.begin(), found.end());
    return found;
}

bool stand(const Terrain& terrain, const Contact& contact, const Sweep& sweep, Footing& found) {
    if (contact.is_flat()) {
        const std::optional<MovingSpot> spot = spot_on_hills(contact, sweep, false);
        if (spot) found.axis = terrain.frame.axes(spot->normal), found.point = spot->point;
        return spot.has_value();
    }
    if (contact.other) {
        const Spot spot = spot_of(contact, sweep);
        found.axis = terrain.frame.axes(spot.normal), found.point = spot.point;
        return !std::isnan(spot.normal.x);
    }
    if (terrain.hills) {
        const Vec3 centre = on_ground(centre_of(contact, sweep), sweep);
        return terrain.hills->near(centre, contact.radius, found.hill) &&
               terrain.hills->frame(found.hill.normal, found.axis);
    }
    std::copy(terrain.basis.begin(), terrain.basis.end(), found.axis.begin());
    return true;
}

bool contact_rows(const Robot& robot, const ContactMode& mode, std::size_t number, const double* v, Scratch& s) {
    const int nv = robot.nv, first = mode.first[number];
    const Contact& contact = mode.closed[number].contact;
    if (contact.is_limit()) {
        s.row[first * nv + contact.velocity] = contact.sign;
        s.rates[first] = contact.sign * v[contact.velocity];
        s.bias[first] = 0.0;
        return true;
    }
    if (contact.is_flat()) {
        const std::optional<MovingSpot> spot = spot_on_hills(contact, s.sweep, true);
        if (spot) pair_rows(robot, mode, contact, -1, *spot, first, s, s.footing[number]);
        return spot.has_value();
    }
    if (contact.other) {
        const MovingSpot spot = moving_spot_of(contact, s.sweep);
        pair_rows(robot, mode, contact, contact.other->joint, spot, first, s, s.footing[number]);
        return !std::isnan(spot.normal.x);
    }
    const Sweep& sweep = s.sweep;
    const int j = contact.joint;
    const Vec3 core = core_of(mode.terrain, contact, sweep);
    Footing& under = s.footing[number];
    if (!stand(mode.terrain, contact, sweep, under)) return false;
    const Vec3 touching = core + under.axis[0] * -contact.radius;
    const Joint& joint = robot.joints[j];
    const int count = static_cast<int>(mode.terrain.basis.size());
    for (int k = joint.v + joint.size - 1; k >= 0; k = robot.ancestor[k]) {
        const Vec3 moved = sweep.column[k].linear + cross(sweep.column[k].angular, touching);
        for (int d = 0; d < count; ++d) s.row[(first + d) * nv + k] = dot(under.axis[d], moved);
    }
    // The material point below the core: -r n does not turn with the body.
    const Spatial &motion = sweep.velocity[j], &drift = sweep.drift[j];
    const Vec3 speed = velocity_of_core(mode.terrain, contact, core, sweep);
    const Vec3 change = drift.linear + robot.gravity + cross(drift.angular, touching) + cross(motion.angular, speed) -
                        sweep.ground.acceleration;
    const Vec3 slip = slip_velocity(mode.terrain, contact, core, sweep, under);
    for (int d = 0; d < count; ++d) {
        s.rates[first + d] = dot(under.axis[d], slip);
        s.bias[first + d] = dot(under.axis[d], change);
    }
    if (mode.terrain.hills) {
        const Vec3 against = speed - sweep.ground.velocity;
        add_curvature(*mode.terrain.hills, contact, against, motion.angular, slip, under, count - 1, &s.bias[first]);
    }
    return true;
}

namespace {

// Rows and velocities of all closed contacts at a state that has been swept, along motions that keep loops closed;
// false where a contact has none.
bool lay_swept(const Robot& robot, const ContactMode& mode, const double* v, Scratch& s) {
    const int nv = robot.nv, rows = mode.rows;
    set_zeros(s.row, rows * nv);
    s.rates.resize(rows), s.bias.resize(rows);
    s.footing.resize(mode.closed.size());
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        if (!contact_rows(robot, mode, i, v, s)) return false;
    }
    if (!robot.loops.size()) return true;
    s.open = s.row;
    for (int r = 0; r < rows; ++r) s.hold.reduce(robot, &s.row[r * nv], s.rates[r], s.bias[r]);
    return true;
}

// Rows C that are held and directions D of the forces, at a state that has been swept; false where a contact has none.
bool assemble(const Robot& robot, const ContactMode& mode, const References& references, const double* v, Scratch& s) {
    const int nv = robot.nv;
    if (!lay_swept(robot, mode, v, s)) return false;
    s.slip.resize(mode.closed.size());
    s.held.clear(), s.held_bias.clear(), s.directions.clear(), s.tips.clear();
    int first = 0, size = 0;
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int count = rows_of(mode, closed), stuck = stuck_rows(mode, closed);
        const double* normal = &s.row[first * nv];
        s.held.insert(s.held.end(), normal, normal + stuck * nv);
        s.held_bias.insert(s.held_bias.end(), &s.bias[first], &s.bias[first] + stuck);
        const Tips tips = tips_of(robot, closed.contact);
        for (int r = 0; r < stuck; ++r) s.tips.push_back(tips);
        s.directions.insert(s.directions.end(), normal, normal + stuck * nv);
        if (slides(closed)) {
            s.slip[i] =
                slip_direction(closed.state, references.direction + 2 * i, references.straight, &s.rates[first]);
            double* direction = &s.directions[size * nv];
            for (int d = 1; d < count; ++d) {
                const double share = closed.friction * s.slip[i][d - 1];
                for (int k = 0; k < nv; ++k) direction[k] -= share * normal[d * nv + k];
            }
        }
        first += count, size += stuck;
    }
    s.size = size;
    return true;
}

// Held rows that are moved by the same velocities, one after the other.
int end_of_set(const Scratch& s, int first) {
    int end = first + 1;
    while (end < s.size && s.tips[end] == s.tips[first]) ++end;
    return end;
}

// Whether most numbers of the held rows are zero.
bool moves_few(const Robot& robot, const Scratch& s) {
    int moved = 0;
    for (int first = 0, end; first < s.size; first = end) {
        end = end_of_set(s, first);
        for (Tips at = s.tips[first]; at.outermost() >= 0; at.go_inwards(robot)) moved += end - first;
    }
    return 4 * moved < s.size * robot.nv;
}

// Which of some rows (size, nv) each velocity moves, and how.
void find_movers(const Robot& robot, Scratch& s, const double* rows) {
    s.movers.resize(robot.nv);
    for (Mover& own : s.movers) own.rows.clear(), own.values.clear();
    for (int i = 0; i < s.size; ++i) {
        for (Tips at = s.tips[i]; at.outermost() >= 0; at.go_inwards(robot)) {
            Mover& own = s.movers[at.outermost()];
            own.rows.push_back(i), own.values.push_back(rows[i * robot.nv + at.outermost()]);
        }
    }
}

// The matrix (size, size) of `weighed` times the transpose of rows (size, nv), of which numbers count that are moved.
void multiply_few(const Robot& robot, Scratch& s, const double* rows) {
    const int nv = robot.nv, size = s.size, width = padded(size);
    find_movers(robot, s, rows);
    set_zeros(s.product, size * width);
    for (int first = 0, end; first < size; first = end) {
        end = end_of_set(s, first);
        for (const int k : moving(robot, s.tips[first])) {
            const Mover& mover = s.movers[k];
            const int count = static_cast<int>(mover.rows.size());
            for (int i = first; i < end; ++i) {
                const double share = s.weighed[i * nv + k];
                double* own = &s.product[i * width];
                for (int m = 0; m < count; ++m) own[mover.rows[m]] += share * mover.values[m];
            }
        }
    }
}

// The same of `across`, whose numbers are many.
void multiply_all(const Robot& robot, Scratch& s) {
    const int nv = robot.nv, size = s.size, width = padded(size);
    set_zeros(s.product, size * width);
    add_product({s.product.data(), width}, 1.0, {s.weighed.data(), nv}, {s.across.data(), width}, size, nv, width);
}

void take_matrix(Scratch& s) {
    const int size = s.size, width = padded(size);
    s.matrix.resize(size * size);
    for (int i = 0; i < size; ++i) std::copy_n(&s.product[i * width], size, &s.matrix[i * size]);
}

// held M^-1 directions^T (size, size), row by row: M = L^T D L, and L^-T of a row has no more entries than the row.
void delassus(const Robot& robot, Scratch& s, const std::vector<double>& directions) {
    const int nv = robot.nv, size = s.size, width = padded(size);
    const bool few = moves_few(robot, s);
    s.inwards = directions;
    if (few) set_zeros(s.weighed, size * nv);  // derivatives read all of it
    if (!few) s.weighed = s.held, set_zeros(s.across, nv * width);
    for (int first = 0, end; first < size; first = end) {
        end = end_of_set(s, first);
        const Tips tips = s.tips[first];
        double *inwards = &s.inwards[first * nv], *weighed = &s.weighed[first * nv];
        const double* held = &s.held[first * nv];
        const bool same = std::equal(held, held + (end - first) * nv, inwards);
        if (!same && few) std::copy(held, held + (end - first) * nv, weighed);
        s.sweep.solve_inwards(robot, inwards, end - first, tips);
        if (!same) s.sweep.solve_inwards(robot, weighed, end - first, tips);
        for (Tips at = tips; at.outermost() >= 0; at.go_inwards(robot)) {
            const int k = at.outermost();
            const double share = 1.0 / s.sweep.mass[robot.branches.diagonal(k)];
            for (int r = 0; r < end - first; ++r) {
                weighed[r * nv + k] = share * (same ? inwards : weighed)[r * nv + k];
                if (!few) s.across[k * width + first + r] = inwards[r * nv + k];
            }
        }
    }
    few ? multiply_few(robot, s, s.inwards.data()) : multiply_all(robot, s);
    take_matrix(s);
}

// The same of the rows that are held themselves, from what that left of them.
void delassus_of_held(const Robot& robot, Scratch& s) {
    const int nv = robot.nv, size = s.size, width = padded(size);
    const bool few = moves_few(robot, s);
    few ? s.across.resize(size * nv) : set_zeros(s.across, nv * width);
    for (int i = 0; i < size; ++i) {
        for (Tips at = s.tips[i]; at.outermost() >= 0; at.go_inwards(robot)) {
            const int k = at.outermost();
            s.across[few ? i * nv + k : k * width + i] =
                s.weighed[i * nv + k] * s.sweep.mass[robot.branches.diagonal(k)];
        }
    }
    few ? multiply_few(robot, s, s.across.data()) : multiply_all(robot, s);
    take_matrix(s);
}

// Forces of the parts that are stale, in place of what their rows need, and the determinant of all; false where one is
// singular.
bool solve_stale(Scratch& s) {
    std::vector<double> matrix, right;
    bool regular = true;
    s.determinant = 1.0;
    for (Part& part : s.parts) {
        const int n = static_cast<int>(part.rows.size());
        if (part.stale && regular) {
            matrix.clear(), right.clear();
            for (const int i : part.rows) {
                right.push_back(s.unknown[i]);
                for (const int j : part.rows) matrix.push_back(s.matrix[i * s.size + j]);
            }
            regular = solve_dense(matrix, right, n, &part.determinant);
            for (int i = 0; i < n; ++i) s.unknown[part.rows[i]] = right[i];
            part.stale = false;
        }
        s.determinant *= part.determinant;
    }
    return regular;
}

// The contact of each held row, where these are so many that `solve_parts` asks for it.
std::vector<int> owners_of_many(const ContactMode& mode, const Scratch& s) {
    return s.size > FEW_ROWS ? owners(mode) : std::vector<int>();
}

// The same of all, where `matrix` is new; `owner`: contact of each row.
bool solve_parts(const std::vector<int>& owner, Scratch& s) {
    if (s.size <= FEW_ROWS) {
        s.parts.resize(1), s.parts[0].rows.resize(s.size);
        std::iota(s.parts[0].rows.begin(), s.parts[0].rows.end(), 0);
        return solve_dense(s.matrix, s.unknown, s.size, &s.determinant);
    }
    s.parts.clear();
    for (std::vector<int>& rows : sets_of_rows(s.matrix, s.size, owner)) s.parts.push_back({std::move(rows)});
    return solve_stale(s);
}

// M^-1 sum_j u_j d_j of the directions that `delassus` was asked for.
void moved_by(const Robot& robot, const Scratch& s, double* change) {
    const int nv = robot.nv;
    std::fill(change, change + nv, 0.0);
    for (std::size_t j = 0; j < s.unknown.size(); ++j) {
        const double* inwards = &s.inwards[j * nv];
        for (Tips at = s.tips[j]; at.outermost() >= 0; at.go_inwards(robot)) {
            change[at.outermost()] += s.unknown[j] * inwards[at.outermost()];
        }
    }
    s.sweep.solve_outwards(robot, change);
}

// The acceleration under the forces along the held rows.
void accelerate_by_forces(const Robot& robot, Scratch& s, double* acceleration) {
    moved_by(robot, s, acceleration);
    for (int k = 0; k < robot.nv; ++k) acceleration[k] += s.unforced[k];
}

// Forces along the held rows, and the acceleration under them; false where the rows depend on each other.
bool solve_forces(const Robot& robot, const ContactMode& mode, Scratch& s, double* acceleration) {
    const int nv = robot.nv, size = s.size;
    delassus(robot, s, s.directions);
    s.needed.resize(size);
    for (int i = 0; i < size; ++i) s.needed[i] = -product(&s.held[i * nv], s.unforced.data(), nv) - s.held_bias[i];
    s.unknown = s.needed;
    if (!(mode.redundant ? solve_redundant(robot, mode, s) : solve_parts(owners_of_many(mode, s), s))) return false;
    accelerate_by_forces(robot, s, acceleration);
    return true;
}

// A contact that begins to slip: its number, its first row, and the place of its normal among the held rows.
struct Beginning {
    int contact, row, place;
};

std::vector<Beginning> beginnings(const ContactMode& mode) {
    std::vector<Beginning> found;
    int place = 0;
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        if (mode.closed[i].state == State::slip_begins) found.push_back({static_cast<int>(i), mode.first[i], place});
        place += stuck_rows(mode, mode.closed[i]);
    }
    return found;
}

// The smallest solution for each of some right sides (size, padded), in place.
void solve_columns(const Smallest& smallest, std::vector<double>& right, int size, int columns) {
    std::vector<double> column(size);
    for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < size; ++i) column[i] = right[i * padded(columns) + j];
        smallest.solve(column.data());
        for (int i = 0; i < size; ++i) right[i * padded(columns) + j] = column[i];
    }
}

// The column of a row of which the direction has turned, in the matrix of forces.
void renew_column(const Robot& robot, Scratch& s, int column) {
    const int nv = robot.nv, size = s.size, width = padded(size);
    double* inwards = &s.inwards[column * nv];
    std::copy_n(&s.directions[column * nv], nv, inwards);
    s.sweep.solve_inwards(robot, inwards, 1, s.tips[column]);
    for (int i = 0; i < size; ++i) s.product[i * width + column] = 0.0;
    for (const int k : moving(robot, s.tips[column])) {
        for (const int i : s.movers[k].rows) s.product[i * width + column] += s.weighed[i * nv + k] * inwards[k];
    }
    for (int i = 0; i < size; ++i) s.matrix[i * size + column] = s.product[i * width + column];
}

// Forces and acceleration where directions of contacts that begin to slip have turned since these were found: of the
// parts alone that these are in.
bool solve_turned(const Robot& robot, const ContactMode& mode, const std::vector<Beginning>& beginning, Scratch& s,
                  double* acceleration) {
    if (s.size <= FEW_ROWS || !moves_few(robot, s)) return solve_forces(robot, mode, s, acceleration);
    for (const Beginning& one : beginning) renew_column(robot, s, one.place);
    const auto renew = [&](auto& part) {
        const auto begins = [&](int row) {
            return std::any_of(beginning.begin(), beginning.end(), [row](const auto& one) { return one.place == row; });
        };
        part.stale = std::any_of(part.rows.begin(), part.rows.end(), begins);
        for (const int row : part.rows) {
            if (part.stale) s.unknown[row] = s.needed[row];
        }
    };
    if (mode.redundant) {
        std::for_each(s.islands.begin(), s.islands.end(), renew);
        if (!solve_stale_islands(robot, mode, s)) return false;
    } else {
        std::for_each(s.parts.begin(), s.parts.end(), renew);
        if (!solve_stale(s)) return false;
    }
    accelerate_by_forces(robot, s, acceleration);
    return true;
}

// What a turn of each slip direction by one radian adds to the accelerations (count, nv), of those of the contacts that
// are among some rows, which move no others, right after `solve_forces`; by the smallest forces, where there are many.
bool add_turns(const Robot& robot, const ContactMode& mode, const std::vector<Beginning>& beginning,
               const std::vector<int>& rows, const Smallest* smallest, Scratch& s, std::vector<double>& added) {
    std::vector<int> among;
    for (std::size_t j = 0; j < beginning.size(); ++j) {
        if (std::find(rows.begin(), rows.end(), beginning[j].place) != rows.end()) among.push_back(j);
    }
    if (among.empty()) return true;
    const int nv = robot.nv, size = static_cast<int>(rows.size()), count = static_cast<int>(among.size());
    const int width = padded(size), columns = padded(count);
    std::vector<double> matrix(size * width), answers(size * columns, 0.0), solved(nv);
    for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) matrix[i * width + j] = s.product[rows[i] * padded(s.size) + rows[j]];
    }
    for (int j = 0; j < count; ++j) {
        const Beginning& one = beginning[among[j]];
        double* own = &added[among[j] * nv];
        const double push = -mode.closed[one.contact].friction * s.unknown[one.place];
        const std::array<double, 2>& slip = s.slip[one.contact];
        const double *first = &s.row[(one.row + 1) * nv], *second = first + nv;
        for (int k = 0; k < nv; ++k) own[k] = push * (slip[0] * second[k] - slip[1] * first[k]);
        s.sweep.solve(robot, own);
        for (int i = 0; i < size; ++i) {
            const double* held = &s.held[rows[i] * nv];
            for (Tips at = s.tips[rows[i]]; at.outermost() >= 0; at.go_inwards(robot)) {
                answers[i * columns + j] -= held[at.outermost()] * own[at.outermost()];
            }
        }
    }
    if (smallest) {
        solve_columns(*smallest, answers, size, count);
    } else if (!solve_dense({matrix.data(), width}, {answers.data(), columns}, size, columns)) {
        return false;
    }
    for (int i = 0; i < size; ++i) {
        std::copy_n(&s.inwards[rows[i] * nv], nv, solved.begin());
        s.sweep.solve_outwards(robot, solved.data());
        for (int j = 0; j < count; ++j) add_scaled(&added[among[j] * nv], answers[i * columns + j], solved.data(), nv);
    }
    return true;
}

// The same of all.
bool accelerations_by_turns(const Robot& robot, const ContactMode& mode, const std::vector<Beginning>& beginning,
                            Scratch& s, std::vector<double>& added) {
    added.assign(beginning.size() * robot.nv, 0.0);
    const auto add = [&](const std::vector<int>& rows, const Smallest* smallest = nullptr) {
        return add_turns(robot, mode, beginning, rows, smallest, s, added);
    };
    if (!mode.redundant) {
        return std::all_of(s.parts.begin(), s.parts.end(), [&](const Part& part) { return add(part.rows); });
    }
    return std::all_of(s.islands.begin(), s.islands.end(), [&](const Island& island) {
        return add(island.rows, island.unique ? nullptr : &island.smallest);
    });
}

// Slip directions of contacts that begin to slip, each turned by Newton's method to that of its own acceleration; false
// where that does not converge, or leaps, as at the pole of a jam. See contactsim's contact/solvers/slip_directions.py.
bool turn_beginnings(const Robot& robot, const ContactMode& mode, double leap, Scratch& s, double* acceleration) {
    const Turning& rules = mode.turning;
    const std::vector<std::array<double, 2>> start = s.slip;
    const std::vector<Beginning> beginning = beginnings(mode);
    if (beginning.empty()) return true;
    const auto is_choice = [&](const Beginning& one) { return mode.redundant && is_chosen(s, one.place); };
    const int nv = robot.nv, count = static_cast<int>(beginning.size());
    const double across = mode.redundant ? rules.across_singular : rules.across;
    double speed = 0.0, farthest = 1.0, before = 1.0;
    for (int i = 0; i < mode.rows; ++i) {
        speed = std::max(speed, std::abs(product(&s.row[i * nv], s.unforced.data(), nv) + s.bias[i]));
    }
    std::vector<double> along(count), turn(count), added, jacobian(count * count);
    for (int step = 0;; ++step) {
        if (std::any_of(beginning.begin(), beginning.end(), is_choice)) return false;  // Python makes both agree
        double off = 0.0;
        for (int j = 0; j < count; ++j) {
            const int row = beginning[j].row;
            const std::array<double, 2>& slip = s.slip[beginning[j].contact];
            const double x = product(&s.row[(row + 1) * nv], acceleration, nv) + s.bias[row + 1];
            const double y = product(&s.row[(row + 2) * nv], acceleration, nv) + s.bias[row + 2];
            along[j] = slip[0] * x + slip[1] * y;
            turn[j] = -(slip[0] * y - slip[1] * x);
            off = std::max(off, std::abs(turn[j]));
        }
        const bool stalled = 0.5 * before < farthest && farthest < rules.stalled;
        if (off <= across * speed || farthest < rules.turned || stalled) {
            return std::none_of(beginning.begin(), beginning.end(), [&](const Beginning& one) {
                const std::array<double, 2>&a = start[one.contact], &b = s.slip[one.contact];
                return std::abs(std::atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])) > leap;
            });
        }
        if (step == rules.steps || !accelerations_by_turns(robot, mode, beginning, s, added)) return false;
        for (int i = 0; i < count; ++i) {
            const int row = beginning[i].row;
            const std::array<double, 2>& slip = s.slip[beginning[i].contact];
            for (int j = 0; j < count; ++j) {
                jacobian[i * count + j] = slip[0] * product(&s.row[(row + 2) * nv], &added[j * nv], nv) -
                                          slip[1] * product(&s.row[(row + 1) * nv], &added[j * nv], nv);
            }
            jacobian[i * count + i] -= along[i];
        }
        if (!solve_dense(jacobian, turn, count)) return false;
        before = farthest, farthest = 0.0;
        for (const double angle : turn) farthest = std::max(farthest, std::abs(angle));
        if (!std::isfinite(farthest)) return false;
        const double share = farthest > rules.farthest ? rules.farthest / farthest : 1.0;
        for (int j = 0; j < count; ++j) {
            const Beginning& one = beginning[j];
            std::array<double, 2>& slip = s.slip[one.contact];
            const double c = std::cos(share * turn[j]), w = std::sin(share * turn[j]);
            const double x = c * slip[0] - w * slip[1], y = c * slip[1] + w * slip[0], length = std::hypot(x, y);
            slip = {x / length, y / length};
            const double friction = mode.closed[one.contact].friction;
            const double* normal = &s.row[one.row * nv];
            for (int k = 0; k < nv; ++k) {
                s.directions[one.place * nv + k] =
                    normal[k] - friction * (slip[0] * normal[nv + k] + slip[1] * normal[2 * nv + k]);
            }
        }
        if (!solve_turned(robot, mode, beginning, s, acceleration)) return false;
    }
}

// Acceleration under ground that gives way, M a = f + J^T lam(g, z), at a state that has been swept; false where there
// is no ground.
bool accelerate_yielding(const Robot& robot, const ContactMode& mode, const double* q, const double* v,
                         const double* applied, Scratch& s, double* acceleration, Forces* told) {
    const int nv = robot.nv;
    s.size = 0, s.held.clear(), s.held_bias.clear();
    if (!lay_swept(robot, mode, v, s)) return false;
    s.unknown.assign(mode.rows, 0.0);
    for (int k = 0; k < nv; ++k) acceleration[k] = s.sweep.free[k] + applied[k];
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int first = mode.first[i], count = rows_of(mode, closed);
        const double gap = gap_of(mode, closed.contact, s.sweep, q);
        if (std::isnan(gap)) return false;
        if (closed.state == State::released) continue;
        yielding_force(closed.law, gap, &s.rates[first], count, &s.unknown[first]);
        for (int r = first; r < first + count; ++r) {
            for (int k = 0; k < nv; ++k) acceleration[k] += s.row[r * nv + k] * s.unknown[r];
        }
    }
    s.sweep.solve(robot, acceleration);
    if (robot.loops.size()) s.hold.keep(robot, acceleration);
    if (told) told->rates = s.rates, told->forces = s.unknown;
    return true;
}

void swept(const Robot& robot, const double* q, const double* v, Sweep& sweep) {
    sweep.prepare(robot);
    sweep.at(robot, q, v);
    sweep.factorise(robot);
}

// The same with the loops there; false where these are not finite.
bool swept_and_held(const Robot& robot, const double* q, const double* v, Scratch& s) {
    swept(robot, q, v, s.sweep);
    return !robot.loops.size() || s.hold.at(robot, s.sweep, v);
}

// Puts (q, v) back onto its closed loops, where it is off by more than `drift`; unknown, too, where they stay open.
Projection close_loops(const Robot& robot, double drift, Scratch& s, double* q, double* v) {
    if (!robot.loops.size()) return Projection::none;
    std::vector<double> off, fast, moved(robot.nv, 0.0), there(robot.nq);
    s.sweep.prepare(robot);
    s.sweep.motions(robot, q, v);
    openings(robot, s.sweep, q, off), opening_speeds(robot, s.sweep, v, fast);
    const double opening = largest_of(off);
    if (opening <= drift && largest_of(fast) <= drift) return Projection::none;
    if (!swept_and_held(robot, q, v, s)) return Projection::unknown;
    if (opening > drift) {
        s.hold.undo(robot, off.data(), moved.data());
        integrate(robot, q, moved.data(), there.data());
        std::copy(there.begin(), there.end(), q);
        if (!swept_and_held(robot, q, v, s)) return Projection::unknown;
        openings(robot, s.sweep, q, off);
        if (!(largest_of(off) <= std::max(0.5 * opening, drift))) return Projection::unknown;
    }
    if (largest_of(s.hold.speed) > drift) s.hold.undo(robot, s.hold.speed.data(), v);
    return Projection::moved;
}

// Whether gaps and held velocities are zero but for `drift`, by places and velocities alone; false, too, where there is
// no ground.
bool keeps_touch(const Robot& robot, const ContactMode& mode, double drift, Scratch& s, const double* q,
                 const double* v) {
    s.sweep.prepare(robot);
    s.sweep.motions(robot, q, v);
    s.rates.resize(mode.rows);
    if (!contact_velocities(mode, s.sweep, v, s.rates.data())) return false;
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        if (!(std::abs(gap_of(mode, mode.closed[i].contact, s.sweep, q)) <= drift)) return false;
        const double* rates = &s.rates[mode.first[i]];
        const auto moves = [&](double rate) { return !(std::abs(rate) <= drift); };
        if (std::any_of(rates, rates + stuck_rows(mode, mode.closed[i]), moves)) return false;
    }
    return true;
}

}  // namespace

std::array<double, 2> slip_direction(State state, const double* reference, double straight, const double* rates) {
    if (state == State::slip_held || state == State::slip_begins) return {reference[0], reference[1]};
    const double x = rates[1], y = rates[2];
    const double along = x * reference[0] + y * reference[1], aside = x * reference[1] - y * reference[0];
    if (along <= 0.0 || std::abs(aside) < straight) return {reference[0], reference[1]};
    const double speed = std::hypot(x, y);
    return {x / speed, y / speed};
}

void solve_directions(const Robot& robot, Scratch& s) {
    s.solved = s.inwards;
    for (int j = 0; j < s.size; ++j) s.sweep.solve_outwards(robot, &s.solved[j * robot.nv]);
}

void ContactMode::count() {
    rows = 0;
    first.clear();
    for (const Closed& one : closed) {
        first.push_back(rows);
        rows += rows_of(*this, one);
    }
}

bool lay_rows(const Robot& robot, const ContactMode& mode, const double* q, const double* v, Scratch& s) {
    return swept_and_held(robot, q, v, s) && lay_swept(robot, mode, v, s);
}

bool accelerate(const Robot& robot, const ContactMode& mode, const References& references, const double* q,
                const double* v, const double* applied, Scratch& s, double* acceleration, Forces* told) {
    const int nv = robot.nv, rows = mode.rows;
    if (!swept_and_held(robot, q, v, s)) return false;
    if (gives_way(mode)) return accelerate_yielding(robot, mode, q, v, applied, s, acceleration, told);
    for (int k = 0; k < nv; ++k) acceleration[k] = s.sweep.free[k] + applied[k];
    s.sweep.solve(robot, acceleration);
    if (robot.loops.size()) s.hold.keep(robot, acceleration);
    if (told) told->rates.assign(rows, 0.0), told->forces.assign(rows, 0.0), told->loose.clear();
    if (!rows) return true;

    if (!assemble(robot, mode, references, v, s)) return false;
    s.unforced.assign(acceleration, acceleration + nv);
    if (!solve_forces(robot, mode, s, acceleration)) return false;
    if (!turn_beginnings(robot, mode, references.leap, s, acceleration)) return false;
    if (!told) return true;
    told->rates = s.rates;
    if (mode.redundant) return tell_redundant(robot, mode, s, *told);
    for (std::size_t i = 0, at = 0, place = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int count = rows_of(mode, closed), stuck = stuck_rows(mode, closed);
        std::copy(&s.unknown[place], &s.unknown[place] + stuck, &told->forces[at]);
        for (int d = 1; d < count && slides(closed); ++d) {
            told->forces[at + d] = -closed.friction * s.unknown[place] * s.slip[i][d - 1];
        }
        at += count, place += stuck;
    }
    return true;
}

double regularity_there(const Robot& robot, const ContactMode& mode, Scratch& s) {
    bool rubs = false;
    if (mode.redundant) return 1.0;
    for (const Closed& closed : mode.closed) rubs = rubs || slides(closed);
    if (!rubs) return 1.0;
    const double rubbing = s.determinant;
    s.unknown.assign(s.size, 0.0);
    delassus_of_held(robot, s);
    solve_parts(owners_of_many(mode, s), s);
    const double smooth = std::exchange(s.determinant, rubbing);
    return smooth > 0.0 ? rubbing / smooth : 1.0;
}

void along_rows(const Robot& robot, const ContactMode& mode, const Scratch& s, const double* acceleration,
                double* change) {
    for (int i = 0; i < mode.rows; ++i) change[i] = product(&s.row[i * robot.nv], acceleration, robot.nv) + s.bias[i];
}

namespace {

// Whether it is open, and belongs to a disc: what does not act of that is raised.
bool is_raisable(const Contact& contact) {
    return contact.round && contact.round->disc && !contact.region;
}

// Whether closed points of its rim hold the disc that something belongs to: none of its points is raised, its rim is
// off.
bool is_standing(const ContactMode& mode, const Rounded& own) {
    return std::any_of(mode.closed.begin(), mode.closed.end(), [&](const Closed& closed) {
        const Rounded* held = closed.contact.round.get();
        return held && closed.contact.region && held->same_disc(own) && held->disc->lying;
    });
}

// How what belongs to a disc and is open comes nearer, by the gap of its core, at a rate, as if it were not raised; the
// gap of a rim bends much where it is little tilted.
Nearing raised(const ContactMode& mode, const Contact& contact, double gap, double rate, const Sweep& sweep) {
    const Rounded& own = *contact.round;
    if (is_standing(mode, own)) {
        return own.disc->lying ? Nearing{gap, rate, true} : Nearing{own.rules.off, 0.0, true, 1};
    }
    const double tilt = own.tilt(sweep.turn[contact.joint], mode.terrain.basis[0]);
    return {own.raised(gap, tilt), rate, own.acts(tilt) && (own.disc->lying || tilt > own.rules.steep)};
}

double above_plane(const Terrain& terrain, const Contact& contact, const Vec3& core) {
    return dot(terrain.basis[0], core - terrain.point) - contact.radius;
}

}  // namespace

namespace {

// Whether what is open touches where it meets its solid: else that is a corner which others meet in its place.
bool counts(const Contact& contact, const Meeting& meeting) {
    return contact.meets_corners || contact.region || !meeting.corner;
}

// The gap of open features; while their disc stands, its points are not raised, and the rim that lies there is off.
double open_gap(const ContactMode& mode, const Contact& contact, const PairPlaces& places) {
    const FeaturePair& features = *contact.features;
    if (!is_on_standing_disc(mode, contact)) return features.look(places).gap;
    if (features.holds_disc) return features.standing_gap(places);
    const double gap = features.look(places).gap;
    return features.lies(places) ? std::max(gap, 0.0) + contact.other->rules.off : gap;
}

// How far what touches a solid is from leaving its region. A corner ends where its normal leaves those of the corner:
// towards an edge of its own body it is the way along that to the point which is nearest to the core of the solid.
double solid_margin(const Contact& contact, int side, const Sweep& sweep) {
    const Solid& solid = *contact.other;
    const Region& held = *contact.region;
    if (side >= CONE) {
        const Meeting meeting = met(contact, sweep);
        const Vec3& own = contact.beside.at(side - CONE);
        const Vec3 edge = contact.joint < 0 ? own : sweep.turn[contact.joint] * own;
        const double core = meeting.gap + contact.radius + solid.radius;
        return core * dot(meeting.normal, edge) + solid.rules.round_rim;
    }
    const bool ends = !contact.meets_corners && is_corner_behind(solid, held, side);
    const double rim = contact.inner ? solid.rules.rim : ends ? solid.rules.round_rim : 0.0;
    return margin(solid, held, side, rim, ball_of(contact, sweep), sweep);
}

}  // namespace

double gap_of(const ContactMode& mode, const Contact& contact, const Sweep& sweep, const double* q) {
    if (contact.is_limit()) return contact.sign * (q[contact.coordinate] - contact.bound);
    if (contact.idle) return *contact.idle;
    if (contact.edges) {
        const EdgeOnEdge& edges = *contact.edges;
        return contact.region ? gap_along(edges, *contact.other, (*contact.region)[0], sweep)
                              : cross_edges(edges, *contact.other, sweep).gap;
    }
    if (contact.features) {
        const PairPlaces places = places_of(contact, sweep);
        if (contact.region) return contact.features->gap(places, *contact.region);
        return open_gap(mode, contact, places);
    }
    if (contact.other) {
        const Meeting meeting = met(contact, sweep);
        return counts(contact, meeting) ? meeting.gap : meeting.gap + contact.other->rules.off;
    }
    if (contact.is_flat()) {
        const Flat& flat = *contact.feature->flat;
        const Pose pose = pose_of(contact, sweep);
        Lowest here;
        if (contact.region) {
            return flat.nearest(pose, here) == Hills::Found::yes ? flat.gap(here) : NAN;
        }
        bool near;
        const double distance = flat.clearance(pose, near);
        return near ? flat.near_gap(flat.look(pose)) : distance;
    }
    const Vec3 core = on_ground(core_of(mode.terrain, contact, sweep), sweep);
    if (mode.terrain.hills) return mode.terrain.hills->gap(core, contact.radius);
    const double gap = above_plane(mode.terrain, contact, core);
    return is_raisable(contact) ? raised(mode, contact, gap, 0.0, sweep).gap : gap;
}

double distance_between(const Contact& contact, const Sweep& sweep) {
    const Vec3 way = centre_of(contact, sweep) - place_of(*contact.other, sweep);
    return std::sqrt(dot(way, way));
}

double region_margin(const Terrain& ground, const Contact& contact, int side, const Sweep& sweep) {
    if (contact.feature) {
        const Pose pose = pose_of(contact, sweep);
        Lowest here;
        const bool found = contact.feature->flat->nearest(pose, here) == Hills::Found::yes;
        return found ? contact.feature->flat->margin(pose, here, side) : NAN;
    }
    if (contact.round) {
        return contact.round->margin(contact.round->tilt(sweep.turn[contact.joint], ground.basis[0]));
    }
    if (contact.edges) return end_margin(*contact.edges, *contact.other, side, sweep);
    if (contact.features) return contact.features->margin(places_of(contact, sweep), *contact.region, side);
    return solid_margin(contact, side, sweep);
}

bool velocities_of(const ContactMode& mode, const Contact& contact, const Sweep& sweep, const double* v,
                   double* rates) {
    if (contact.is_limit()) {
        rates[0] = contact.sign * v[contact.velocity];
        return true;
    }
    const Vec3 core = core_of(mode.terrain, contact, sweep);
    Footing under;
    if (!stand(mode.terrain, contact, sweep, under)) return false;
    const Vec3 slip = slip_velocity(mode.terrain, contact, core, sweep, under);
    for (std::size_t d = 0; d < mode.terrain.basis.size(); ++d) rates[d] = dot(under.axis[d], slip);
    return true;
}

bool contact_velocities(const ContactMode& mode, const Sweep& sweep, const double* v, double* rates) {
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        if (!velocities_of(mode, mode.closed[i].contact, sweep, v, rates + mode.first[i])) return false;
    }
    return true;
}

namespace {

// Along the normal, of the material of both bodies; nothing is said of a rate where others are nearer.
Nearing edges_nearing(const Contact& contact, const Sweep& sweep) {
    const Solid& solid = *contact.other;
    const Spatial against = velocity_of(contact.joint, sweep) + velocity_of(solid.joint, sweep) * -1.0;
    const auto rate_at = [&](const Vec3& point, const Vec3& normal) {
        return dot(normal, against.linear + cross(against.angular, point));
    };
    if (contact.region) {
        const double sense = (*contact.region)[0];
        const Spot spot = spot_of(*contact.edges, solid, sense, sweep);
        return {gap_along(*contact.edges, solid, sense, sweep), rate_at(spot.point, spot.normal), true};
    }
    const EdgeLook found = cross_edges(*contact.edges, solid, sweep);
    if (!found.touches) return {found.gap, 0.0, false, 0, true};
    const Lines& lines = found.lines;
    return {found.gap, rate_at(lines.p + lines.a * lines.s, lines.normal(found.sense)), true, found.piece()};
}

// Features that meet by functions of places, while they are open, by a mode in which their disc may stand.
FeatureLook look_of(const ContactMode& mode, const Contact& contact, const PairPlaces& places) {
    const FeaturePair& features = *contact.features;
    if (contact.region) return {features.gap(places, *contact.region), true, false, *contact.region};
    FeatureLook seen = features.look(places);
    if (!is_on_standing_disc(mode, contact)) return seen;
    if (features.holds_disc) {
        seen.gap = features.standing_gap(places), seen.smooth = true, seen.piece = 0;
    } else if (features.lies(places)) {
        seen.gap = std::max(seen.gap, 0.0) + contact.other->rules.off, seen.touches = false;
    }
    return seen;
}

// The same of these.
Nearing features_nearing(const ContactMode& mode, const Contact& contact, const Sweep& sweep) {
    const FeaturePair& features = *contact.features;
    const MotionsOf<double> motions = motions_of(contact, sweep);
    const FeatureLook seen = look_of(mode, contact, motions.places);
    if (features.passing && (!seen.touches || seen.lifted)) return {seen.gap, 0.0, false, 0, !seen.touches};
    if (!seen.smooth) return {seen.gap, 0.0, false};
    const MeetOf<double> met = features.meet(motions, seen.region);
    const Spatial against = motions.V_a + motions.V_b * -1.0;
    return {seen.gap, dot(met.n, against.linear + cross(against.angular, met.x)), true, seen.piece};
}

}  // namespace

Nearing nearing(const ContactMode& mode, const Contact& contact, const Sweep& sweep, const double* q, const double* v) {
    if (contact.is_limit()) return {gap_of(mode, contact, sweep, q), contact.sign * v[contact.velocity], true};
    if (contact.idle) return {*contact.idle, 0.0, true};
    if (contact.edges) return edges_nearing(contact, sweep);
    if (contact.features) return features_nearing(mode, contact, sweep);
    if (contact.is_flat()) {
        const std::optional<MovingSpot> spot = spot_on_hills(contact, sweep, false);
        if (!spot) return {NAN, 0.0, false};
        const Spatial motion = velocity_of(contact.joint, sweep);
        const double rate = dot(spot->normal, motion.linear + cross(motion.angular, spot->point));
        return {gap_of(mode, contact, sweep, q), rate, true};
    }
    if (contact.other) {
        const Meeting meeting = met(contact, sweep);
        const Vec3 speed = motion_of(*contact.other, meeting, contact.joint, sweep).speed;
        if (!counts(contact, meeting)) return {meeting.gap + contact.other->rules.off, 0.0, false, 0, true};
        const bool smooth = !contact.inner || meeting.face;  // a point passes edges as sharply as it comes near
        return {meeting.gap, dot(meeting.normal, speed), smooth, contact.inner ? meeting.face : 0};
    }
    const Vec3 core = core_of(mode.terrain, contact, sweep), speed = speed_of(contact, core, sweep);
    if (!mode.terrain.hills) {
        const double gap = above_plane(mode.terrain, contact, on_ground(core, sweep));
        const double rate = dot(mode.terrain.basis[0], speed);
        return is_raisable(contact) ? raised(mode, contact, gap, rate, sweep) : Nearing{gap, rate, true};
    }
    const Approach found = mode.terrain.hills->approach(on_ground(core, sweep), contact.radius);
    if (!found.gradient) return {found.gap, 0.0, false};
    return {found.gap, dot(*found.gradient, speed), true};
}

double gap_change(const Robot& robot, const ContactMode& mode, const Contact& contact, const Sweep& sweep,
                  const double* acceleration) {
    if (contact.is_limit()) return contact.sign * acceleration[contact.velocity];
    const auto whole = [&](int j) {  // the acceleration of a body, less that of gravity
        Spatial change = drift_of(j, robot, sweep);
        for (int k = outermost(robot, j); k >= 0; k = robot.ancestor[k]) change += sweep.column[k] * acceleration[k];
        return change;
    };
    if (contact.other || contact.is_flat()) {
        const std::optional<MovingSpot> found =
            contact.other ? moving_spot_of(contact, sweep) : spot_on_hills(contact, sweep, true);
        if (!found) return NAN;
        const MovingSpot& spot = *found;
        const int other = contact.other ? contact.other->joint : -1;
        const Spatial motion = velocity_of(contact.joint, sweep) + velocity_of(other, sweep) * -1.0;
        const Spatial against = whole(contact.joint) + whole(other) * -1.0;
        const Vec3 speed = motion.linear + cross(motion.angular, spot.point);
        const Vec3 moved = against.linear + cross(against.angular, spot.point) + cross(motion.angular, spot.point_rate);
        return dot(spot.normal, moved) + dot(spot.normal_rate, speed);
    }
    const int j = contact.joint;
    const Vec3 core = core_of(mode.terrain, contact, sweep);
    Spatial change = whole(j);
    change.linear += robot.gravity - sweep.ground.acceleration;
    const Spatial& motion = sweep.velocity[j];
    const Vec3 speed = velocity_of_core(mode.terrain, contact, core, sweep);
    const Vec3 moved = change.linear + cross(change.angular, core) + cross(motion.angular, speed);
    Footing under;
    if (!stand(mode.terrain, contact, sweep, under)) return NAN;
    const double along = dot(under.axis[0], moved);
    if (!mode.terrain.hills) return along;
    const Vec3 against = speed - sweep.ground.velocity;
    return along + dot(under.hill.hessian * against, against);
}

Projection project(const Robot& robot, const ContactMode& mode, const References& references, double drift, Scratch& s,
                   double* q, double* v) {
    const Projection closed = close_loops(robot, drift, s, q, v);
    if (closed == Projection::unknown) return closed;
    if (mode.closed.empty() || gives_way(mode) || keeps_touch(robot, mode, drift, s, q, v)) return closed;
    const int nv = robot.nv, count = static_cast<int>(mode.closed.size());
    std::vector<double> gaps(count), speeds, moved(nv);
    const auto look = [&] {  // rows, and the velocities along those that are held
        speeds.clear();
        if (!swept_and_held(robot, q, v, s) || !assemble(robot, mode, references, v, s)) return false;
        for (int i = 0; i < count; ++i) {
            const double* rates = &s.rates[mode.first[i]];
            speeds.insert(speeds.end(), rates, rates + stuck_rows(mode, mode.closed[i]));
        }
        return true;
    };
    if (!look()) return Projection::unknown;
    double off = 0.0, fast = 0.0;
    for (int i = 0; i < count; ++i) {
        gaps[i] = gap_of(mode, mode.closed[i].contact, s.sweep, q);
        off = std::max(off, std::abs(gaps[i]));
    }
    for (const double speed : speeds) fast = std::max(fast, std::abs(speed));
    if (off <= drift && fast <= drift) return closed;
    // The smallest change in the metric of M that changes the held rows by -`wrong`, into `moved`.
    const auto change = [&](const std::vector<double>& wrong, const std::vector<int>& owner) {
        const int k = static_cast<int>(wrong.size());
        s.size = k;
        delassus(robot, s, s.held);
        s.unknown.resize(k);
        for (int i = 0; i < k; ++i) s.unknown[i] = -wrong[i];
        const bool solved =
            mode.redundant ? smallest_forces(mode.redundant->ranks, owner, s) : solve_parts(owner, s);
        if (!solved) return false;
        native::moved_by(robot, s, moved.data());
        return true;
    };
    if (off > drift) {
        for (int i = 0; i < count; ++i) {
            const double* normal = &s.row[mode.first[i] * nv];
            std::copy(normal, normal + nv, &s.held[i * nv]);
            s.tips[i] = tips_of(robot, mode.closed[i].contact);
        }
        std::vector<int> each(count);
        for (int i = 0; i < count; ++i) each[i] = i;
        if (!change(gaps, each)) return Projection::unknown;
        std::vector<double> there(robot.nq);
        integrate(robot, q, moved.data(), there.data());
        std::copy(there.begin(), there.end(), q);
        if (!look()) return Projection::unknown;
    }
    if (!change(speeds, owners(mode))) return Projection::unknown;
    for (int i = 0; i < nv; ++i) v[i] += moved[i];
    return Projection::moved;
}

}  // namespace native
