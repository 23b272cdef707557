#include "flats.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr int ONWARD = 100, TILT = 50, BENT = 51;  // sides of a margin

double length(const Vec3& a) {
    return std::sqrt(dot(a, a));
}

Way operator+(const Way& a, const Way& b) {
    return {a[0] + b[0], a[1] + b[1]};
}

Way operator-(const Way& a, const Way& b) {
    return {a[0] - b[0], a[1] - b[1]};
}

double dot(const Way& a, const Way& b) {
    return a[0] * b[0] + a[1] * b[1];
}

double sign(double value) {
    return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : 0.0;
}

// Eigenvalues, rising, and unit eigenvectors of the symmetric matrix (a, b, c).
struct Axes {
    Way values;
    std::array<Way, 2> axes;

    Axes(double a, double b, double c) {
        const double middle = 0.5 * (a + c), half = 0.5 * (a - c), away = std::hypot(half, b);
        const double angle = 0.5 * std::atan2(b, half), C = std::cos(angle), S = std::sin(angle);
        values = {middle - away, middle + away};
        axes = {Way{-S, C}, Way{C, S}};
    }
};

// Solution of a symmetric system (a, b, c) of `dim` numbers.
Way solved(const std::array<double, 3>& m, std::size_t dim, const Way& right) {
    if (dim == 0) return {};
    if (dim == 1) return {right[0] / m[0], 0.0};
    const double determinant = m[0] * m[2] - m[1] * m[1];
    return {(m[2] * right[0] - m[1] * right[1]) / determinant, (m[0] * right[1] - m[1] * right[0]) / determinant};
}

}  // namespace

void Flat::prepare() {
    const std::size_t n = samples.size();
    first_ = kind == Kind::arc ? cross(along[0], disc.axis) : Vec3{};
    points_.resize(n), runs_.assign(n * dim(), {}), ways_.resize(n * n), beside_.assign(n * n, 0);
    Vec3 low{INFINITE, INFINITE, INFINITE}, high = -low;
    for (std::size_t i = 0; i < n; ++i) {
        Vec3 e, t;
        if (kind == Kind::arc) {
            turned(samples[i], e, t);
            points_[i] = centre + e * disc.rim, runs_[i] = t;
        } else {
            points_[i] = centre;
            for (std::size_t d = 0; d < dim(); ++d) {
                points_[i] += along[d] * samples[i][d], runs_[i * dim() + d] = along[d];
            }
        }
        const Vec3& p = points_[i];
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
        extent_ = std::max(extent_, length(p) + rounding(samples[i]));
        widest_ = std::max(widest_, rounding(samples[i]));
    }
    if (kind == Kind::arc) extent_ = length(centre) + disc.rim;
    middle_ = (low + high) * 0.5;
    for (const Vec3& p : points_) span_ = std::max(span_, length(p - middle_));
    span_ *= 1.0 + taper;
    bend_most_ = hills->bend(widest_), sag_ = 0.5 * bend_most_ * spacing * spacing;
    if (kind == Kind::arc) {
        span_ += disc.rim * (1.0 - std::cos(spacing / disc.rim));
        sag_ += 0.5 * spacing * spacing / disc.rim;
    }
    const double around = 2.0 * std::acos(-1.0) * disc.rim;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            Way& way = ways_[i * n + j];
            way = samples[j] - samples[i];
            if (kind == Kind::arc && whole()) way[0] -= around * std::nearbyint(way[0] / around);
            beside_[i * n + j] = i != j && std::sqrt(dot(way, way)) <= 2.01 * spacing;
        }
    }
}

void Flat::turned(const Way& way, Vec3& e, Vec3& t) const {
    const double angle = way[0] / disc.rim, C = std::cos(angle), S = std::sin(angle);
    e = first_ * C + along[0] * S, t = along[0] * C - first_ * S;
}

std::array<Vec3, 2> Flat::laid(const Pose& pose, const Way& way, Vec3& arm) const {
    std::array<Vec3, 2> A{};
    if (kind == Kind::arc) {
        Vec3 e, t;
        turned(way, e, t);
        A[0] = pose.turn * t, arm = pose.turn * (centre + e * disc.rim);
        return A;
    }
    arm = pose.turn * centre;
    for (std::size_t d = 0; d < dim(); ++d) A[d] = pose.turn * along[d], arm += A[d] * way[d];
    return A;
}

std::array<double, 3> Flat::bent(const Pose& pose, const Way& way, const std::array<Vec3, 2>& A, const Vec3& normal,
                                 const Mat3& hessian) const {
    if (dim() == 0) return {};
    const Vec3 one = hessian * A[0];
    if (dim() == 1) {
        double M = native::dot(A[0], one);
        if (kind == Kind::arc) {
            Vec3 e, t;
            turned(way, e, t);
            M -= native::dot(pose.turn * e, normal) / disc.rim;
        }
        return {M, 0.0, 0.0};
    }
    return {native::dot(A[0], one), native::dot(A[1], one), native::dot(A[1], hessian * A[1])};
}

Way Flat::slopes(const std::array<Vec3, 2>& A, const Vec3& normal) const {
    Way found{};
    for (std::size_t d = 0; d < dim(); ++d) found[d] = native::dot(A[d], normal) - taper;
    return found;
}

std::vector<Vec3> Flat::onward_at(const Pose& pose, const Way& way) const {
    std::vector<Vec3> found;
    if (kind == Kind::arc) {
        Vec3 e, t;
        turned(way, e, t);
        found.push_back(pose.turn * -e);
        if (disc.side) {
            found.push_back(pose.turn * (disc.axis * -std::sqrt(1.0 - *disc.side * *disc.side) - e * *disc.side));
        }
        found.resize(std::min(found.size(), onward.size()));  // as many as have a name
        return found;
    }
    for (const Vec3& direction : onward) found.push_back(pose.turn * direction);
    return found;
}

double Flat::inside(const Way& way) const {
    double found = INFINITE;
    for (std::size_t k = 0; k < room.size(); ++k) found = std::min(found, dot(into[k], way) + room[k]);
    if (kind != Kind::face) return found;
    const Way off = way + disc.off;
    return std::min(found, disc.rim - std::sqrt(dot(off, off)));
}

double Flat::clearance(const Pose& pose, bool& near) const {
    const double gap = hills->gap(pose.turn * middle_ + pose.place, radius);
    const double found = hills->at_least(gap, radius) - span_;
    near = found <= std::max(span_, rules.off);
    return found;
}

bool Flat::begin(const Pose& pose, Search& found) const {
    const std::size_t n = points_.size(), d = dim();
    std::vector<double> gaps(n);
    std::vector<Vec3> normals(n);
    std::size_t lowest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Vec3 point = pose.turn * points_[i] + pose.place;
        gaps[i] = hills->gap(point, rounding(samples[i]));
        if (std::isnan(gaps[i])) return false;
        if (gaps[i] < gaps[lowest]) lowest = i;
    }
    const double low = hills->at_least(gaps[lowest], widest_);
    if (d && low > 2.0 * sag_ + rules.seen * spacing) {
        found = {low - sag_, {}, {}, {}};
        return true;
    }
    std::vector<int> starts;
    for (std::size_t i = 0; i < n; ++i) {
        const double round = rounding(samples[i]);
        if (!hills->normal_below(pose.turn * points_[i] + pose.place, round, normals[i])) return false;
        std::array<Vec3, 2> A{};
        for (std::size_t a = 0; a < d; ++a) A[a] = pose.turn * runs_[i * d + a];
        const Way slope = slopes(A, normals[i]);
        bool on = false;
        for (std::size_t j = 0; j < n && !on; ++j) {
            const double tangent = dot(ways_[i * n + j], slope), lower = gaps[j] - gaps[i];
            on = beside_[i * n + j] && tangent < 0.0 && lower < 0.0 && tangent >= rules.straight * lower;
        }
        if (!on) starts.push_back(static_cast<int>(i));
    }
    std::stable_sort(starts.begin(), starts.end(), [&](int i, int j) { return gaps[i] < gaps[j]; });
    found = {gaps[lowest], {}, {}, {}};
    for (const int i : starts) {
        found.gaps.push_back(gaps[i]), found.starts.push_back(samples[i]), found.normals.push_back(normals[i]);
    }
    return true;
}

// Normals below samples differ from those at the nearest points by no more than the curvature times the height.
bool Flat::leads(const Pose& pose, const Search& search, std::size_t k) const {
    if (kind != Kind::arc) return true;
    const double curvature = hills->curvature(), doubt = curvature * std::abs(search.gaps[k]) + rules.tiny;
    const Vec3 n = pose.turn.transposed() * search.normals[k];
    const double size = length(n - disc.axis * native::dot(n, disc.axis));
    if (whole()) return !disc.alone || size + doubt + 2.0 * curvature * spacing >= *disc.alone;
    const double half = room[0];
    if (disc.alone && size - doubt - 2.0 * curvature * half > *disc.alone) return false;
    const Way& way = search.starts[k];
    Vec3 e, t;
    turned(way, e, t);
    const double inward = -sign(way[0]) * native::dot(n, t);
    return std::abs(way[0]) < half * rules.same || inward <= doubt;
}

Hills::Found Flat::from(const Pose& pose, Way way, bool within, Lowest& found) const {
    const double farthest = within ? spacing : rules.beyond * span_, least = (within ? 1.0 : 0.5) * this->least;
    double in = 0.0, last = INFINITE, limit = spacing;
    Way before{};
    Surface ground;
    for (int round = 0; round < rules.rounds; ++round) {
        Vec3 arm;
        const std::array<Vec3, 2> A = laid(pose, way, arm);
        const Vec3 core = pose.place + arm;
        const Hills::Found there = hills->look(core, rounding(way), ground);
        if (there != Hills::Found::yes) return there;
        found = {way, core, ground.distance, ground.normal, ground.hessian};
        if (!dim()) return Hills::Found::yes;
        const Way slope = slopes(A, ground.normal);
        const std::array<double, 3> M = bent(pose, way, A, ground.normal, ground.hessian);
        Way step{};
        double size, lowest;
        const auto single = [&](double value, double down) {
            if (value > least) return down / value;
            return std::abs(down) > rules.level ? limit * sign(down) : 0.0;
        };
        if (dim() == 1) {
            step[0] = single(M[0], -slope[0]);
            size = std::abs(step[0]), lowest = M[0];
        } else {
            const Axes axes(M[0], M[1], M[2]);
            for (int k = 0; k < 2; ++k) {
                const double part = single(axes.values[k], -dot(axes.axes[k], slope));
                step = step + Way{axes.axes[k][0] * part, axes.axes[k][1] * part};
            }
            size = std::sqrt(dot(step, step)), lowest = axes.values[0];
        }
        if (size <= rules.settled_way || (size <= rules.rim && size >= last)) {
            return lowest > least ? Hills::Found::yes : Hills::Found::none;
        }
        const double share = std::min(1.0, limit / size);
        step = {step[0] * share, step[1] * share};
        if (dot(step, before) < 0.0) limit *= 0.5;
        way = way + step, last = size, before = step;
        const double was = in;
        in = inside(way);
        if (in < -farthest && in < was) return Hills::Found::none;
    }
    return Hills::Found::none;
}

FlatLook Flat::look(const Pose& pose) const {
    FlatLook seen;
    Search search;
    if (!begin(pose, search)) return {false, NAN, {}, false};
    seen.low = search.low;
    for (std::size_t k = 0; k < search.gaps.size(); ++k) {
        if (seen.own && search.gaps[k] - sag_ > gap(*seen.own)) break;
        if (!leads(pose, search, k)) continue;
        Lowest found;
        const Hills::Found there = from(pose, search.starts[k], true, found);
        if (there == Hills::Found::outside) return {false, NAN, {}, false};
        if (there == Hills::Found::none || !(inside(found.way) > 0.5 * rules.rim)) continue;
        if (!seen.own || gap(found) < gap(*seen.own)) seen.own = found;
    }
    if (!seen.own) return seen;
    const bool from_inside =
        dim() == 2 && native::dot(seen.own->normal, pose.turn * cross(along[0], along[1])) >= 0.0;
    seen.acts = !from_inside && is_free(pose, *seen.own);
    return seen;
}

Hills::Found Flat::nearest(const Pose& pose, Lowest& least) const {
    Search search;
    if (!begin(pose, search)) return Hills::Found::outside;
    std::vector<int> order(search.gaps.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int i, int j) { return std::abs(search.gaps[i]) < std::abs(search.gaps[j]); });
    std::pair<bool, double> rank{true, INFINITE};
    bool any = false;
    for (const int k : order) {
        Lowest found;
        const Hills::Found there = from(pose, search.starts[k], false, found);
        if (there == Hills::Found::outside) return there;
        if (there == Hills::Found::none) continue;
        const double off = std::abs(gap(found)), outside = std::max(-inside(found.way), 0.0);
        const std::pair<bool, double> own{off > rules.held, off <= rules.held ? outside : off};
        if (own < rank) least = found, rank = own, any = true;
        if (off <= rules.held && outside <= rules.rim) break;
    }
    return any ? Hills::Found::yes : Hills::Found::none;
}

double Flat::near_gap(const FlatLook& seen) const {
    if (!seen.known) return NAN;
    if (seen.acts) return gap(*seen.own);
    return sunk(seen.low) ? seen.low : std::max(seen.low - sag_, 0.0) + rules.off;
}

double Flat::tilt(const Pose& pose, const Lowest& here) const {
    Vec3 e, t;
    turned(here.way, e, t);
    return -native::dot(pose.turn * e, here.normal);
}

bool Flat::is_free(const Pose& pose, const Lowest& here) const {
    if (kind == Kind::arc && disc.alone) {
        const double beyond = tilt(pose, here) - *disc.alone;
        if (whole() ? beyond <= 0.0 : beyond >= 0.0) return false;
    }
    for (std::size_t k = 0; k < onward.size(); ++k) {
        if (!(clear(pose, here, k, false) > 0.0)) return false;
    }
    return true;
}

double Flat::lowest(const Pose& pose, const Lowest& here) const {
    Vec3 arm;
    const std::array<double, 3> M = bent(pose, here.way, laid(pose, here.way, arm), here.normal, here.hessian);
    return dim() == 1 ? M[0] : Axes(M[0], M[1], M[2]).values[0];
}

std::optional<Vec3> Flat::runs_along(const Pose& pose, const Lowest& here) const {
    if (dim() != 1 || kind == Kind::arc || lowest(pose, here) > rules.nearly * least) return {};
    const Vec3 side = pose.turn * along[0] - here.normal * taper;
    return side * (1.0 / length(side));
}

double Flat::clear(const Pose& pose, const Lowest& here, std::size_t k, bool closed) const {
    const Vec3 e = onward_at(pose, here.way)[k];
    Vec3 arm;
    const std::array<Vec3, 2> A = laid(pose, here.way, arm);
    const Vec3 across = here.hessian * e;
    const Way mixed{native::dot(A[0], across), native::dot(A[1], across)};
    const Way back = solved(bent(pose, here.way, A, here.normal, here.hessian), dim(), mixed);
    const double bend = native::dot(e, across) - (dim() ? dot(mixed, back) : 0.0);
    const double rising = native::dot(e, here.normal) - taper * length(e), curvature = hills->curvature();
    const double rim = closed ? rules.rim : 0.5 * rules.rim;
    const double straight = (1.0 + (closed ? rules.later : 0.0) - bend / leasts[k]) / curvature;
    return std::max(straight, (rising + rim * bend) / curvature + rules.tiny_way);
}

double Flat::margin(const Pose& pose, const Lowest& here, int side) const {
    if (side >= ONWARD) return clear(pose, here, static_cast<std::size_t>(side - ONWARD), true);
    if (side == BENT) return (lowest(pose, here) / least - (1.0 - rules.later)) / hills->curvature();
    if (side == TILT) {
        const double leant = tilt(pose, here);
        return disc.rim * (whole() ? leant - (1.0 - rules.later) * *disc.alone
                                   : (1.0 + rules.later) * *disc.alone - leant);
    }
    if (side <= static_cast<int>(room.size())) return dot(into[side - 1], here.way) + room[side - 1] + rules.rim;
    const Way off = here.way + disc.off;
    return disc.rim - std::sqrt(dot(off, off)) + rules.rim;
}

MovingSpot Flat::moving(const Pose& pose, const Lowest& here, const Spatial& velocity) const {
    Vec3 arm;
    const std::array<Vec3, 2> A = laid(pose, here.way, arm);
    const Vec3 carried = velocity.linear + cross(velocity.angular, here.core), bent_by = here.hessian * carried;
    Way right{};
    for (std::size_t d = 0; d < dim(); ++d) {
        right[d] = native::dot(cross(velocity.angular, A[d]), here.normal) + native::dot(A[d], bent_by);
    }
    const Way slide = solved(bent(pose, here.way, A, here.normal, here.hessian), dim(), right);
    Vec3 rate = carried;
    for (std::size_t d = 0; d < dim(); ++d) rate = rate - A[d] * slide[d];
    const Vec3 turning = here.hessian * rate, growing = here.normal * (-taper * (slide[0] + slide[1]));
    const double round = rounding(here.way);
    return {here.core - here.normal * round, rate - turning * round - growing, here.normal, turning};
}

double Flat::bend(const std::optional<Lowest>& own, const Pose& pose, double speed, double spin) const {
    if (!dim()) return bend_most_ * speed * speed;
    const double bent = own ? std::max(0.5 * lowest(pose, *own), least) : least, both = bend_most_ * speed + spin;
    return bend_most_ * speed * speed + both * both / bent;
}

}  // namespace native
