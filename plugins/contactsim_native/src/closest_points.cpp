#include "closest_points.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace native {

namespace {

using Kind = SmoothPiece::Kind;

constexpr double EPSILON = std::numeric_limits<double>::epsilon();
constexpr double PI = 3.14159265358979323846;
constexpr int ZOOMS = 3, SAMPLES = 25, DISTANCE_ROUNDS = 60;  // see closest_points/ellipsoids.py
constexpr double CLOSE = 1e-9;
constexpr double BESIDE = 1e-3, NEAR_AXIS = 0.1, KINK = 1e-13;  // see closest_points/search.py

double largest(const Vec3& a) {
    return std::max({std::abs(a.x), std::abs(a.y), std::abs(a.z)});
}

Vec3 times(const Vec3& a, const Vec3& b) {
    return {a.x * b.x, a.y * b.y, a.z * b.z};
}

template <class T>
Vector3<T> scaled(const Vec3& by, const Vector3<T>& a) {
    return {a.x * by.x, a.y * by.y, a.z * by.z};
}

// Two unit vectors across a unit vector, and across each other.
std::array<Vec3, 2> ways_across(const Vec3& axis) {
    const double x = std::abs(axis.x), y = std::abs(axis.y), z = std::abs(axis.z);
    const Vec3 least = x <= y && x <= z ? Vec3{1.0, 0.0, 0.0} : y <= z ? Vec3{0.0, 1.0, 0.0} : Vec3{0.0, 0.0, 1.0};
    const Vec3 way = cross(axis, least), first = way * (1.0 / length(way));
    return {first, cross(axis, first)};
}

// The core at a normal of any length, and S there, of an ellipsoid around its origin.
template <class T>
Vector3<T> core_of(const SmoothPiece& piece, const Vector3<T>& m) {
    using std::sqrt;
    if (piece.kind == Kind::circle) {
        const Vector3<T> axis = constant<T>(piece.axis), across = m - axis * dot(axis, m);
        const T square = dot(across, across);
        const T size = real(square) > 0.0 ? sqrt(square) : T(1.0);
        return constant<T>(piece.centre) + across * (T(piece.radius) / size);
    }
    if (piece.kind != Kind::ellipsoid) return constant<T>(piece.centre);
    const Vector3<T> square = scaled(times(piece.radii, piece.radii), m);
    return square * (T(1.0) / sqrt(dot(m, square)));
}

template <class T>
Matrix3<T> bend_of(const SmoothPiece& piece, const Vector3<T>& m) {
    using std::sqrt;
    const Vector3<T> zero{};
    if (piece.kind == Kind::circle) {  // R (1 - a a^T - e e^T) / |m_t|
        const Vector3<T> axis = constant<T>(piece.axis), across = m - axis * dot(axis, m);
        const T size = length(across), share = T(piece.radius) / size;
        const Vector3<T> e = across * (T(1.0) / size);
        return {(Vector3<T>{1.0, 0.0, 0.0} - axis * axis.x - e * e.x) * share,
                (Vector3<T>{0.0, 1.0, 0.0} - axis * axis.y - e * e.y) * share,
                (Vector3<T>{0.0, 0.0, 1.0} - axis * axis.z - e * e.z) * share};
    }
    if (piece.kind != Kind::ellipsoid) return {zero, zero, zero};
    const Vec3 squares = times(piece.radii, piece.radii);
    const Vector3<T> square = scaled(squares, m);
    const T size = sqrt(dot(m, square)), share = T(1.0) / size;
    const Vector3<T> p = square * share;
    return {(Vector3<T>{squares.x, 0.0, 0.0} - p * p.x) * share, (Vector3<T>{0.0, squares.y, 0.0} - p * p.y) * share,
            (Vector3<T>{0.0, 0.0, squares.z} - p * p.z) * share};
}

template <class T>
SideOf<T> side(const SmoothPiece& piece, const PoseOf<T>& pose, const Vector3<T>& m, const T* s) {
    using std::cos;
    using std::sin;
    const Matrix3<T>& R = pose.R;
    const Vector3<T> local = R.transposed() * m;
    SideOf<T> found{{}, R * bend_of(piece, local) * R.transposed(), piece.slides(), {}, {}, piece.offset};
    Vector3<T> core = core_of(piece, local);
    if (piece.kind == Kind::ring) {
        const Vector3<T> u = constant<T>(piece.across[0]), v = constant<T>(piece.across[1]);
        const T angle = s[0] / T(piece.radius), C = cos(angle), S = sin(angle);
        const Vector3<T> e = u * C + v * S;
        core += e * T(piece.radius);
        found.D[0] = R * (v * C - u * S), found.C[0] = R * (e * T(-1.0 / piece.radius));
    } else {
        for (int k = 0; k < found.count; ++k) {
            const Vector3<T> way = constant<T>(piece.kind == Kind::plane ? piece.across[k] : piece.axis);
            core += way * s[k];
            found.D[k] = R * way, found.C[k] = {};
            found.r -= s[k] * T(piece.sine_of(k));
        }
    }
    found.p = pose.o + R * core;
    return found;
}

template <class T>
std::array<SideOf<T>, 2> sides_at(const SmoothPiece& a, const SmoothPiece& b, const std::array<PoseOf<T>, 2>& poses,
                                  const Unknowns<T>& y) {
    const Vector3<T> n{y[0], y[1], y[2]};
    return {side(a, poses[0], -n, &y[4]), side(b, poses[1], n, &y[4 + a.slides()])};
}

// F and its derivative by y.
template <class T>
void residual(const SmoothPiece& a, const SmoothPiece& b, const std::array<SideOf<T>, 2>& sides, const Unknowns<T>& y,
              int size, Unknowns<T>& F, std::array<T, MOST * MOST>& J) {
    const auto& [one, two] = sides;
    const Vector3<T> n{y[0], y[1], y[2]};
    const T around = y[3] + one.r + two.r, square = dot(n, n);
    const Vector3<T> off = one.p - two.p - n * around;
    J.fill(T(0.0));
    F[0] = off.x, F[1] = off.y, F[2] = off.z, F[3] = T(0.5) * (square - T(1.0));
    const std::array<Vector3<T>, 3> S{one.S.c0 + two.S.c0, one.S.c1 + two.S.c1, one.S.c2 + two.S.c2};
    for (int c = 0; c < 3; ++c) {
        J[c] = -S[c].x, J[size + c] = -S[c].y, J[2 * size + c] = -S[c].z;
        J[c * size + c] -= around;
        J[c * size + 3] = -y[c], J[3 * size + c] = y[c];
    }
    for (int k = 0; k < one.count + two.count; ++k) {
        const bool own = k < one.count;
        const int at = own ? k : k - one.count;
        const Vector3<T> slide = own ? one.D[at] : -two.D[at], turn = own ? one.C[at] : -two.C[at];
        const T sine = own ? a.sine_of(at) : b.sine_of(at);
        const Vector3<T> column = slide + n * sine;
        F[4 + k] = dot(slide, n) + T(0.5) * sine * (square + T(1.0));
        const T parts[3] = {column.x, column.y, column.z};
        for (int r = 0; r < 3; ++r) J[r * size + 4 + k] = J[(4 + k) * size + r] = parts[r];
        J[(4 + k) * size + 4 + k] = dot(turn, n);
    }
}

// The root near y, to rounding, where Newton's method finds it at once.
std::optional<Unknowns<double>> root(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses, Unknowns<double> y,
                                     const ClosestRules& rules) {
    const int size = 4 + a.slides() + b.slides();
    double last = std::numeric_limits<double>::infinity();
    Unknowns<double> F{};
    std::array<double, MOST * MOST> J;
    for (int k = 0; k < rules.newton_rounds; ++k) {
        residual(a, b, sides_at(a, b, poses, y), y, size, F, J);
        solve_small(J.data(), F.data(), size);
        for (int i = 0; i < size; ++i) y[i] -= F[i];
        const double step = std::max({std::abs(F[0]), std::abs(F[1]), std::abs(F[2])});
        if (step < rules.rough && (step >= last || step < EPSILON)) return y;
        last = step;
    }
    return {};
}

// The angle about which a function of angles is largest.
template <typename Height>
double highest(const Height& height) {
    double middle = 0.0, spread = PI;
    for (int zoom = 0; zoom < ZOOMS; ++zoom) {
        double best = -std::numeric_limits<double>::infinity(), found = middle;
        for (int k = 0; k < SAMPLES; ++k) {
            const double angle = middle + spread * (-1.0 + 2.0 * k / (SAMPLES - 1)), value = height(angle);
            if (value > best) best = value, found = angle;
        }
        middle = found, spread *= 2.0 / (SAMPLES - 1);
    }
    return middle;
}

// Of an ellipsoid above the side of a cone.
std::optional<Unknowns<double>> on_slant(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses,
                                         const ClosestRules& rules) {
    const Mat3 back = poses[1].R.transposed(), turn = back * poses[0].R;
    const Vec3 x = back * (poses[0].o - poses[1].o) - b.centre, squares = times(a.radii, a.radii);
    const auto square = [&](const Vec3& n) { return turn * times(squares, turn.transposed() * n); };
    const double cosine = std::sqrt(1.0 - b.sine * b.sine);
    const std::array<Vec3, 2> ways = ways_across(b.axis);
    const auto normal = [&](double angle) {
        return b.axis * b.sine + (ways[0] * std::cos(angle) + ways[1] * std::sin(angle)) * cosine;
    };
    const auto height = [&](double angle) {
        const Vec3 n = normal(angle);
        return dot(n, x) - std::sqrt(dot(n, square(n)));
    };
    const Vec3 n = normal(highest(height)), bent = square(n);
    const Vec3 apart = x - bent * (1.0 / std::sqrt(dot(n, bent)));
    // The best (above, slide) of apart = above n + slide b, with unit n and b at n . b = s.
    const double along = dot(apart, n), up = dot(apart, b.axis), det = 1.0 - b.sine * b.sine;
    const double above = (along - b.sine * up) / det, slide = (up - b.sine * along) / det;
    const Vec3 there = poses[1].R * n;
    return root(a, b, poses, {there.x, there.y, there.z, above + b.sine * slide, slide, 0.0}, rules);
}

// Signed distance of a point from an ellipsoid along the axes, and its normal there.
std::pair<double, Vec3> from_ellipsoid(const Vec3& x, const Vec3& radii) {
    const double least = std::min({radii.x, radii.y, radii.z}), tiny = EPSILON * least;
    const Vec3 squares = times(radii, radii);
    const auto begin = [&](double r, double at) { return r * std::max(std::abs(at), tiny) - r * r; };
    double t = std::max({begin(radii.x, x.x), begin(radii.y, x.y), begin(radii.z, x.z)});
    for (int k = 0; k < DISTANCE_ROUNDS; ++k) {
        const Vec3 below{squares.x + t, squares.y + t, squares.z + t};
        const Vec3 share{radii.x * x.x / below.x, radii.y * x.y / below.y, radii.z * x.z / below.z};
        const Vec3 parts = times(share, share);
        const double F = parts.x + parts.y + parts.z - 1.0;
        const double fall = -2.0 * (parts.x / below.x + parts.y / below.y + parts.z / below.z);
        const double step = fall < 0.0 ? -F / fall : 0.0;
        t += step;
        if (std::abs(step) <= CLOSE * std::max(std::abs(t), least * least)) break;
    }
    const Vec3 outward{x.x / (squares.x + t), x.y / (squares.y + t), x.z / (squares.z + t)};
    const double size = length(outward);
    return {t * size, outward * (1.0 / (size > 0.0 ? size : 1.0))};
}

// Of an ellipsoid and a rim.
std::optional<Unknowns<double>> on_ring(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses,
                                        const ClosestRules& rules) {
    const Mat3 turn = poses[0].R.transposed();
    const Vec3 centre = turn * (poses[1].o + poses[1].R * b.centre - poses[0].o);
    const Vec3 u = turn * (poses[1].R * b.across[0]), v = turn * (poses[1].R * b.across[1]);
    const auto place = [&](double angle) { return centre + (u * std::cos(angle) + v * std::sin(angle)) * b.radius; };
    const double angle = highest([&](double at) { return -from_ellipsoid(place(at), a.radii).first; });
    const auto [distance, outward] = from_ellipsoid(place(angle), a.radii);
    const Vec3 n = -(poses[0].R * outward);
    return root(a, b, poses, {n.x, n.y, n.z, distance, b.radius * angle, 0.0}, rules);
}

double rounding(const std::array<SideOf<double>, 2>& sides) {
    return EPSILON * std::max({largest(sides[0].p), largest(sides[1].p), std::numeric_limits<double>::min()});
}

std::array<SideOf<double>, 2> sides_of(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses, const Vec3& n) {
    const double none[2] = {0.0, 0.0};
    return {side(a, poses[0], -n, none), side(b, poses[1], n, none)};
}

// The step on the sphere by which Newton's method climbs along some tangents, one or two.
Vec3 climbing_step(const std::array<Vec3, 2>& tangents, int count, const Vec3& apart, double g, double radii,
                   const std::array<SideOf<double>, 2>& sides) {
    const auto bend = [&](const Vec3& t, const Vec3& u) { return dot(t, sides[0].S * u + sides[1].S * u); };
    const auto taken = [&](double value, double most) { return std::max(std::abs(value), EPSILON * (most + radii)); };
    const double first = dot(tangents[0], apart), a = bend(tangents[0], tangents[0]) + g;
    if (count == 1) return tangents[0] * (first / taken(a, std::abs(a)));
    const double second = dot(tangents[1], apart), b = bend(tangents[0], tangents[1]);
    const double c = bend(tangents[1], tangents[1]) + g;
    const double middle = 0.5 * (a + c), spread = std::hypot(0.5 * (a - c), b);
    const double angle = 0.5 * std::atan2(2.0 * b, a - c), C = std::cos(angle), S = std::sin(angle);
    const double most = std::max(std::abs(middle + spread), std::abs(middle - spread));
    const double one = (C * first + S * second) / taken(middle + spread, most);
    const double two = (C * second - S * first) / taken(middle - spread, most);
    return tangents[0] * (C * one - S * two) + tangents[1] * (S * one + C * two);
}

// Of discs alone: the sine of the smallest angle between n and the axis of one; 1: there is none.
double least_sine(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses, const Vec3& n) {
    double least = 1.0;
    if (a.kind == Kind::circle) least = std::min(least, length(cross(poses[0].R * a.axis, n)));
    if (b.kind == Kind::circle) least = std::min(least, length(cross(poses[1].R * b.axis, n)));
    return least;
}

// From n along the axis of a disc: the normal near it of the largest g, if the other piece is beside the disc.
std::optional<Vec3> beside(const SmoothPiece& disc, const PoseOf<double>& pose, const SideOf<double>& other,
                           const Vec3& n, double sense) {
    const Vec3 axis = pose.R * disc.axis;
    Vec3 way = other.p - pose.o - pose.R * disc.centre;
    const double height = dot(axis, way);
    way = way - axis * height;
    const double size = length(way);
    if (!(size > disc.radius)) return {};
    way = way * (sense / size);
    const double bend = dot(way, other.S * way) + std::abs(height);
    const double turn = bend > 0.0 ? std::min((size - disc.radius) / bend, BESIDE) : BESIDE;
    const Vec3 found = n + way * turn;
    return found * (1.0 / length(found));
}

// A normal by the axis of a disc; flat: g is largest on the axis, along which it is.
struct Jump {
    Vec3 n;
    bool flat;
};

// Where a step of some size from n leads past the axis of a disc: the best normal by that.
std::optional<Jump> past_axis(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses, const Vec3& n,
                              double size) {
    const std::array<const SmoothPiece*, 2> both{&a, &b};
    int number = -1;
    double sine = std::min(NEAR_AXIS, size);
    Vec3 axis;
    for (int k = 0; k < 2; ++k) {
        if (both[k]->kind != Kind::circle) continue;
        Vec3 own = poses[k].R * both[k]->axis;
        if (!(dot(own, n) > 0.0)) own = -own;
        const double away = length(cross(own, n));
        if (0.0 < away && away < sine) sine = away, number = k, axis = own;
    }
    if (number < 0) return {};
    const auto sides = sides_of(a, b, poses, axis);
    const auto there = beside(*both[number], poses[number], sides[1 - number], axis, number == 0 ? -1.0 : 1.0);
    if (there) return Jump{*there, false};
    const Vec3 found = axis + (n - axis * dot(axis, n)) * (KINK / sine);
    return Jump{found * (1.0 / length(found)), true};
}

// Where n is along the axis of a disc that the other piece is beside: a normal off that kink of g, uphill.
std::optional<Vec3> off_axis(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses, const Vec3& n,
                             const ClosestRules& rules) {
    const auto sides = sides_of(a, b, poses, n);
    const std::array<const SmoothPiece*, 2> both{&a, &b};
    for (int k = 0; k < 2; ++k) {
        const SmoothPiece& disc = *both[k];
        if (disc.kind != Kind::circle || !(length(cross(poses[k].R * disc.axis, n)) < rules.flat)) continue;
        const auto found = beside(disc, poses[k], sides[1 - k], n, k == 0 ? -1.0 : 1.0);
        if (found) return found;
    }
    return {};
}

// The normal of largest g across the slides, of which there is one or none.
bool climb(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses, Vec3& n, const std::optional<Vec3>& slide,
           const ClosestRules& rules) {
    auto sides = sides_of(a, b, poses, n);
    double halfway = -std::numeric_limits<double>::infinity();
    for (int k = 0; k < rules.rounds; ++k) {
        const Vec3 apart = sides[0].p - sides[1].p;
        const std::array<Vec3, 2> tangents = slide ? std::array<Vec3, 2>{cross(*slide, n), {}} : ways_across(n);
        const int count = slide ? 1 : 2;
        const double g = dot(n, apart);
        if (k == rules.rounds / 2) halfway = g;
        const double steepest = std::max(std::abs(dot(tangents[0], apart)), std::abs(dot(tangents[1], apart)));
        if (steepest <= rules.exact * rounding(sides)) return true;
        Vec3 step = climbing_step(tangents, count, apart, g, a.offset + b.offset, sides);
        const double size = length(step);
        if (const auto jump = slide ? std::optional<Jump>{} : past_axis(a, b, poses, n, size)) {
            const auto there = sides_of(a, b, poses, jump->n);
            if (dot(jump->n, there[0].p - there[1].p) > g + rules.exact * rounding(sides)) {
                n = jump->n, sides = there;
                if (jump->flat) return true;
                continue;
            }
            if (jump->flat && largest(jump->n - n) <= rules.settled) return true;
        }
        step = step * (1.0 / std::max(size, 1.0));
        bool gained = false;
        for (int half = 0; half < rules.halvings && !gained; ++half, step = step * 0.5) {
            const Vec3 trial = (n + step) * (1.0 / length(n + step));
            const auto there = sides_of(a, b, poses, trial);
            if (dot(trial, there[0].p - there[1].p) <= g - rules.exact * rounding(sides)) continue;
            gained = true, n = trial, sides = there;
        }
        if (!gained || size < std::max(rules.rough * least_sine(a, b, poses, n), rules.settled)) return true;
    }
    const double g = dot(n, sides[0].p - sides[1].p);
    return std::abs(g - halfway) <= rules.rounds * rules.exact * rounding(sides);
}

}  // namespace

int SmoothPiece::slides() const {
    return kind == Kind::plane ? 2 : kind == Kind::line || kind == Kind::slant || kind == Kind::ring ? 1 : 0;
}

SmoothPiece SmoothPiece::point(const Vec3& centre, double radius) {
    return {Kind::point, centre, radius, {}, 0.0, 0.0, {}, {}};
}

SmoothPiece SmoothPiece::line(const Vec3& centre, const Vec3& axis, double radius) {
    return {Kind::line, centre, radius, axis, 0.0, 0.0, {}, {}};
}

SmoothPiece SmoothPiece::slant(const Vec3& tip, const Vec3& axis, double sine) {
    return {Kind::slant, tip, 0.0, axis, 0.0, sine, {}, {}};
}

SmoothPiece SmoothPiece::plane(const Vec3& centre, const Vec3& normal, double offset) {
    return {Kind::plane, centre, offset, normal, 0.0, 0.0, {}, ways_across(normal)};
}

SmoothPiece SmoothPiece::ring(const Vec3& centre, const Vec3& axis, double radius) {
    return {Kind::ring, centre, 0.0, axis, radius, 0.0, {}, ways_across(axis)};
}

SmoothPiece SmoothPiece::circle(const Vec3& centre, const Vec3& axis, double radius) {
    return {Kind::circle, centre, 0.0, axis, radius, 0.0, {}, {}};
}

SmoothPiece SmoothPiece::ellipsoid(const Vec3& radii) {
    return {Kind::ellipsoid, {}, 0.0, {}, 0.0, 0.0, radii, {}};
}

template <class T>
void solve_small(T* A, T* b, int size) {
    for (int k = 0; k < size; ++k) {
        int pivot = k;
        for (int r = k + 1; r < size; ++r) {
            if (std::abs(real(A[r * size + k])) > std::abs(real(A[pivot * size + k]))) pivot = r;
        }
        if (pivot != k) {
            std::swap_ranges(A + k * size, A + (k + 1) * size, A + pivot * size);
            std::swap(b[k], b[pivot]);
        }
        for (int r = k + 1; r < size; ++r) {
            const T share = A[r * size + k] / A[k * size + k];
            for (int c = k + 1; c < size; ++c) A[r * size + c] -= share * A[k * size + c];
            b[r] -= share * b[k];
        }
    }
    for (int k = size - 1; k >= 0; --k) {
        for (int c = k + 1; c < size; ++c) b[k] -= A[k * size + c] * b[c];
        b[k] = b[k] / A[k * size + k];
    }
}

std::optional<Unknowns<double>> closest(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses,
                                        const Vec3& towards, const ClosestRules& rules) {
    if (b.kind == Kind::slant) return on_slant(a, b, poses, rules);
    if (b.kind == Kind::ring) return on_ring(a, b, poses, rules);
    std::optional<Vec3> slide;
    Vec3 n = towards;
    if (b.kind == Kind::line) slide = poses[1].R * b.axis, n = n - *slide * dot(n, *slide);
    if (b.kind == Kind::plane) {
        const Vec3 normal = poses[1].R * b.axis;
        n = normal * dot(n, normal);
    }
    if (!(length(n) > 0.0)) return {};
    n = n * (1.0 / length(n));
    if (b.kind != Kind::plane && !climb(a, b, poses, n, slide, rules)) return {};
    if (const auto beside = b.kind == Kind::circle ? off_axis(a, b, poses, n, rules) : std::optional<Vec3>{}) {
        n = *beside;
        if (!climb(a, b, poses, n, slide, rules)) return {};
    }
    const auto sides = sides_of(a, b, poses, n);
    const Vec3 apart = sides[0].p - sides[1].p;
    Unknowns<double> y{n.x, n.y, n.z, dot(n, apart) - a.offset - b.offset, 0.0, 0.0};
    for (int k = 0; k < sides[1].count; ++k) y[4 + k] = dot(sides[1].D[k], apart);
    return y;
}

template <class T>
SettledOf<T> settled(const SmoothPiece& a, const SmoothPiece& b, const std::array<PoseOf<T>, 2>& poses,
                     const Unknowns<double>& y) {
    SettledOf<T> found;
    found.size = 4 + a.slides() + b.slides();
    std::copy(y.begin(), y.end(), found.y.begin());
    Unknowns<T> F{};
    residual(a, b, sides_at(a, b, poses, found.y), found.y, found.size, F, found.J);
    solve_small(found.J.data(), F.data(), found.size);
    for (int i = 0; i < found.size; ++i) found.y[i] -= F[i];
    found.sides = sides_at(a, b, poses, found.y);
    residual(a, b, found.sides, found.y, found.size, F, found.J);
    return found;
}

// At held y the cores are carried along, and each body sees the normal turn by -w x n.
template <class T>
DriftOf<T> drift(const SmoothPiece& a, const SmoothPiece&, const SettledOf<T>& found, const SpatialVector<T>& V_a,
                 const SpatialVector<T>& V_b) {
    const auto& [one, two] = found.sides;
    const Vector3<T> n = found.normal(), &w_a = V_a.angular, &w_b = V_b.angular;
    const Vector3<T> core_a = found.on_a() + n * one.r, core_b = found.on_b() - n * two.r;
    const Vector3<T> moved_a = V_a.linear + cross(w_a, core_a) + one.S * cross(w_a, n);
    const Vector3<T> moved_b = V_b.linear + cross(w_b, core_b) - two.S * cross(w_b, n);
    const Vector3<T> apart = moved_a - moved_b;
    Unknowns<T> rate{apart.x, apart.y, apart.z, T(0.0), T(0.0), T(0.0)};
    for (int k = 0; k < one.count; ++k) rate[4 + k] = dot(one.D[k], cross(n, w_a));
    for (int k = 0; k < two.count; ++k) rate[4 + one.count + k] = -dot(two.D[k], cross(n, w_b));
    std::array<T, MOST * MOST> J = found.J;
    solve_small(J.data(), rate.data(), found.size);
    const Vector3<T> n_rate = -Vector3<T>{rate[0], rate[1], rate[2]};
    Vector3<T> on_a = moved_a - one.S * n_rate - n_rate * one.r;
    for (int k = 0; k < one.count; ++k) {
        const T slid = -rate[4 + k];
        on_a += one.D[k] * slid + n * (slid * T(a.sine_of(k)));
    }
    return {n_rate, on_a};
}

template void solve_small(double*, double*, int);
template void solve_small(Dual*, Dual*, int);
template SettledOf<double> settled(const SmoothPiece&, const SmoothPiece&, const std::array<PoseOf<double>, 2>&,
                                   const Unknowns<double>&);
template SettledOf<Dual> settled(const SmoothPiece&, const SmoothPiece&, const std::array<PoseOf<Dual>, 2>&,
                                 const Unknowns<double>&);
template DriftOf<double> drift(const SmoothPiece&, const SmoothPiece&, const SettledOf<double>&,
                               const SpatialVector<double>&, const SpatialVector<double>&);
template DriftOf<Dual> drift(const SmoothPiece&, const SmoothPiece&, const SettledOf<Dual>&, const SpatialVector<Dual>&,
                             const SpatialVector<Dual>&);

}  // namespace native
