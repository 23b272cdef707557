#include "edge_derivatives.hpp"

namespace native {

namespace {

Vec3 at(const Spatial& motion, const Vec3& point) {
    return motion.linear + cross(motion.angular, point);
}

// The two lines p + s a and q + t b, as `moving_spot_of` in edges.cpp has them, differentiated once more: s and t are
// the roots of a . r = b . r = 0 with r = p + s a - q - t b, and n = +-(a x b) / |a x b|; what is rounded around the
// first one is touched at p + s a - r n.
class EdgeFollower final : public Follower {
  public:
    EdgeFollower(const Lines& lines, double sense, double radius, const Spatial& own, const Spatial& other)
        : lines_(lines),
          sense_(sense),
          radius_(radius),
          own_spin_(own.angular),
          other_spin_(other.angular),
          a_rate_(cross(own.angular, lines.a)),
          b_rate_(cross(other.angular, lines.b)),
          turning_((cross(a_rate_, lines.b) + cross(lines.a, b_rate_)) * (sense / lines.length)),
          apart_(lines.apart()) {
        const Vec3 n = lines.normal(sense), moved = at(own, lines.p) + a_rate_ * lines.s;
        drift_ = moved - at(other, lines.q) - b_rate_ * lines.t;
        one_ = -dot(a_rate_, apart_) - dot(lines.a, drift_), two_ = -dot(b_rate_, apart_) - dot(lines.b, drift_);
        s_rate_ = (lines.bb * one_ - lines.ab * two_) / lines.det;
        const Vec3 n_rate = turning_ - n * dot(n, turning_);
        spot_ = {lines.p + lines.a * lines.s - n * radius, moved + lines.a * s_rate_ - n_rate * radius, n, n_rate};
    }

    Spot displaced(const Spatial& own, const Spatial& other) const override {
        const Moved moved = move(own, other);
        return {point_of(moved), moved.n};
    }

    MovingSpot changed(const BodyChange& own, const BodyChange& other) const override {
        const Lines& l = lines_;
        const Vec3& n = spot_.normal;
        const Moved m = move(own.place, other.place);
        const Vec3 p_rate = at(own.velocity, l.p) + cross(own_spin_, m.p);
        const Vec3 q_rate = at(other.velocity, l.q) + cross(other_spin_, m.q);
        const Vec3 a_rate = cross(own.velocity.angular, l.a) + cross(own_spin_, m.a);
        const Vec3 b_rate = cross(other.velocity.angular, l.b) + cross(other_spin_, m.b);
        const Vec3 across = cross(a_rate, l.b) + cross(a_rate_, m.b) + cross(m.a, b_rate_) + cross(l.a, b_rate);
        const Vec3 turning = across * (sense_ / l.length) - turning_ * (m.length / l.length);
        const Vec3 normal_rate = turning - m.n * dot(n, turning_) - n * (dot(m.n, turning_) + dot(n, turning));
        const Vec3 on_own = p_rate + a_rate_ * m.s + a_rate * l.s;
        const Vec3 drift = on_own - q_rate - b_rate_ * m.t - b_rate * l.t;
        const Vec3 apart = m.p + l.a * m.s + m.a * l.s - m.q - l.b * m.t - m.b * l.t;
        const double one = -dot(a_rate, apart_) - dot(a_rate_, apart) - dot(m.a, drift_) - dot(l.a, drift);
        const double two = -dot(b_rate, apart_) - dot(b_rate_, apart) - dot(m.b, drift_) - dot(l.b, drift);
        const double s_rate = (l.bb * one - m.ab * two_ - l.ab * two - s_rate_ * m.det) / l.det;
        const Vec3 point_rate = on_own + l.a * s_rate + m.a * s_rate_;
        return {point_of(m), point_rate - normal_rate * radius_, m.n, normal_rate};
    }

  private:
    // Changes of what `Lines` has.
    struct Moved {
        Vec3 p, a, q, b, n;
        double ab, det, s, t, length;
    };

    const Lines lines_;
    const double sense_, radius_;
    const Vec3 own_spin_, other_spin_, a_rate_, b_rate_, turning_, apart_;
    Vec3 drift_;  // of r, but for s' and t'
    double one_, two_, s_rate_;

    Vec3 point_of(const Moved& m) const { return m.p + lines_.a * m.s + m.a * lines_.s - m.n * radius_; }

    Moved move(const Spatial& own, const Spatial& other) const {
        const Lines& l = lines_;
        const Vec3 p = at(own, l.p), a = cross(own.angular, l.a), q = at(other, l.q), b = cross(other.angular, l.b);
        const Vec3 gap = l.p - l.q, moved = p - q;
        const double ar = dot(l.a, gap), br = dot(l.b, gap);
        const double by_ar = dot(a, gap) + dot(l.a, moved), by_br = dot(b, gap) + dot(l.b, moved);
        const double ab = dot(a, l.b) + dot(l.a, b), det = -2.0 * l.ab * ab;
        const double s = (ab * br + l.ab * by_br - l.bb * by_ar - l.s * det) / l.det;
        const double t = (l.aa * by_br - ab * ar - l.ab * by_ar - l.t * det) / l.det;
        const Vec3 across = (cross(a, l.b) + cross(l.a, b)) * sense_, &n = spot_.normal;
        const double longer = dot(n, across);
        return {p, a, q, b, (across - n * longer) * (1.0 / l.length), ab, det, s, t, longer};
    }
};

}  // namespace

std::unique_ptr<Follower> follower_of_edges(const Contact& contact, const Spatial& own, const Spatial& other,
                                            const Sweep& sweep) {
    const double sense = sense_of(contact, sweep);
    const Lines lines = lines_of(*contact.edges, *contact.other, sweep);
    return std::make_unique<EdgeFollower>(lines, sense, contact.edges->solid->radius, own, other);
}

}  // namespace native
