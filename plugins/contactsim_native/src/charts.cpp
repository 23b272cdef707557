#include "charts.hpp"

namespace native {

namespace {

constexpr double SMALL = 0.25;  // squared angle below which series are taken; they are exact to rounding there

// (1 - cos a) / a^2 and (a - sin a) / a^3, by the squared angle.
void turning(double square, double& first, double& second) {
    if (square < SMALL) {
        first = second = 0.0;
        double a = 1.0 / 2.0, b = 1.0 / 6.0;
        for (int k = 0; k < 9; ++k) {
            first += a, second += b;
            a *= -square / ((2 * k + 3) * (2 * k + 4));
            b *= -square / ((2 * k + 4) * (2 * k + 5));
        }
        return;
    }
    const double angle = std::sqrt(square), half = std::sin(0.5 * angle);
    first = 2.0 * half * half / square;
    second = (angle - std::sin(angle)) / (square * angle);
}

// c = (1 - (a / 2) cot(a / 2)) / a^2 and c' / a, by the squared angle.
void unturning(double square, double& value, double& slope) {
    if (square < SMALL) {  // |B_2n| a^(2n-2) / (2n)!
        constexpr double series[] = {1.0 / 12.0,          1.0 / 720.0,
                                     1.0 / 30240.0,       1.0 / 1209600.0,
                                     1.0 / 47900160.0,    691.0 / 1307674368000.0,
                                     1.0 / 74724249600.0, 3617.0 / 10670622842880000.0};
        value = slope = 0.0;
        for (int k = 7; k >= 0; --k) value = value * square + series[k];
        for (int k = 7; k >= 1; --k) slope = slope * square + 2.0 * k * series[k];
        return;
    }
    const double angle = std::sqrt(square), half = 0.5 * angle;
    const double cot = 1.0 / std::tan(half);
    value = (1.0 - half * cot) / square;
    const double derivative = (0.5 * half * (1.0 + cot * cot) - 0.5 * cot) / square - 2.0 * value / angle;
    slope = derivative / angle;
}

Quaternion turn(const Quaternion& start, const Vec3& angle) {
    const double square = dot(angle, angle), length = std::sqrt(square);
    const double share = length > 1e-8 ? std::sin(0.5 * length) / length : 0.5 - square / 48.0;
    Quaternion end = start * Quaternion{angle.x * share, angle.y * share, angle.z * share, std::cos(0.5 * length)};
    const double size = 1.0 / std::sqrt(end.x * end.x + end.y * end.y + end.z * end.z + end.w * end.w);
    return {end.x * size, end.y * size, end.z * size, end.w * size};
}

// Displacement, in the frame in which it starts, of a motion by (move, angle).
Vec3 displacement(const Vec3& move, const Vec3& angle) {
    double first, second;
    turning(dot(angle, angle), first, second);
    const Vec3 across = cross(angle, move);
    return move + across * first + cross(angle, across) * second;
}

// The inverse differential on rotation and, since SE(3) is SO(3) over dual numbers, on both parts of a motion.
Vec3 unturned(const Vec3& angle, const Vec3& rate, double value) {
    const Vec3 across = cross(angle, rate);
    return rate + across * 0.5 + cross(angle, across) * value;
}

void rate_of_motion(const Vec3& move, const Vec3& angle, Vec3& along, Vec3& about) {
    double value, slope;
    unturning(dot(angle, angle), value, slope);
    const Vec3 across = cross(angle, about);
    const Vec3 coupled = cross(move, about) * 0.5 + (cross(angle, cross(move, about)) + cross(move, across)) * value +
                         cross(angle, across) * (slope * dot(angle, move));
    along = unturned(angle, along, value) + coupled;
    about = unturned(angle, about, value);
}

void turn_pair(const double* pair, double angle, double* out) {
    const double c = std::cos(angle), s = std::sin(angle);
    const double x = pair[0] * c - pair[1] * s, y = pair[1] * c + pair[0] * s;
    const double size = 1.0 / std::sqrt(x * x + y * y);
    out[0] = x * size, out[1] = y * size;
}

Vec3 three(const double* a) {
    return {a[0], a[1], a[2]};
}

void put(const Vec3& a, double* out) {
    out[0] = a.x, out[1] = a.y, out[2] = a.z;
}

void put(const Quaternion& a, double* out) {
    out[0] = a.x, out[1] = a.y, out[2] = a.z, out[3] = a.w;
}

void put_skew(Bracket& bracket, int row, int column, const double* w) {
    double* m = bracket.matrix.data() + row * bracket.size + column;
    m[1] = -w[2], m[2] = w[1];
    m[bracket.size] = w[2], m[bracket.size + 2] = -w[0];
    m[2 * bracket.size] = -w[1], m[2 * bracket.size + 1] = w[0];
}

}  // namespace

void integrate(const Robot& robot, const double* q, const double* dq, double* out) {
    for (const Joint& joint : robot.joints) {
        const double *start = q + joint.q, *along = dq + joint.v;
        double* end = out + joint.q;
        switch (joint.kind) {
            case JointKind::revolute:
            case JointKind::prismatic:
                end[0] = start[0] + along[0];
                break;
            case JointKind::unbounded:
                turn_pair(start, along[0], end);
                break;
            case JointKind::free_flyer: {
                const Quaternion first{start[3], start[4], start[5], start[6]};
                const Vec3 angle = three(along + 3);
                put(three(start) + first.matrix() * displacement(three(along), angle), end);
                put(turn(first, angle), end + 3);
                break;
            }
            case JointKind::spherical:
                put(turn({start[0], start[1], start[2], start[3]}, three(along)), end);
                break;
            case JointKind::planar: {
                const Vec3 moved = rotation({0.0, 0.0, 1.0}, start[2], start[3]) *
                                   displacement({along[0], along[1], 0.0}, {0.0, 0.0, along[2]});
                end[0] = start[0] + moved.x, end[1] = start[1] + moved.y;
                turn_pair(start + 2, along[2], end + 2);
                break;
            }
            case JointKind::translation:
                put(three(start) + three(along), end);
                break;
        }
    }
}

void integrate_state(const Robot& robot, int size, const double* base, const double* dx, double* x) {
    integrate(robot, base, dx, x);
    for (int i = robot.nq; i < size; ++i) x[i] = base[i] + dx[i - robot.nq + robot.nv];
}

void chart_rate(const Robot& robot, const double* dq, double* rate) {
    for (const Joint& joint : robot.joints) {
        const double* moved = dq + joint.v;
        double* own = rate + joint.v;
        if (joint.kind == JointKind::free_flyer) {
            Vec3 along = three(own), about = three(own + 3);
            rate_of_motion(three(moved), three(moved + 3), along, about);
            put(along, own), put(about, own + 3);
        } else if (joint.kind == JointKind::spherical) {
            double value, slope;
            const Vec3 angle = three(moved);
            unturning(dot(angle, angle), value, slope);
            put(unturned(angle, three(own), value), own);
        } else if (joint.kind == JointKind::planar) {
            Vec3 along{own[0], own[1], 0.0}, about{0.0, 0.0, own[2]};
            rate_of_motion({moved[0], moved[1], 0.0}, {0.0, 0.0, moved[2]}, along, about);
            own[0] = along.x, own[1] = along.y, own[2] = about.z;
        }
    }
}

double joint_difference(const Joint& joint, const double* from, const double* to) {
    const double *a = from + joint.q, *b = to + joint.q;
    if (joint.kind == JointKind::unbounded) return std::atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]);
    return b[0] - a[0];
}

std::vector<Bracket> brackets(const Robot& robot, const double* velocity) {
    std::vector<Bracket> found;
    for (const Joint& joint : robot.joints) {
        const double* v = velocity + joint.v;
        Bracket bracket{joint.v, joint.size, {}};
        if (joint.kind == JointKind::free_flyer) {
            put_skew(bracket, 0, 0, v + 3), put_skew(bracket, 3, 3, v + 3), put_skew(bracket, 0, 3, v);
        } else if (joint.kind == JointKind::spherical) {
            put_skew(bracket, 0, 0, v);
        } else if (joint.kind == JointKind::planar) {
            bracket.matrix = {0.0, -v[2], v[1], v[2], 0.0, -v[0]};
        } else {
            continue;
        }
        found.push_back(bracket);
    }
    return found;
}

}  // namespace native
