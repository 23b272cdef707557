#include "pair_derivatives.hpp"

namespace native {

namespace {

// Velocity of the material at a point.
Vec3 at(const Spatial& motion, const Vec3& point) {
    return motion.linear + cross(motion.angular, point);
}

Spatial difference(const Spatial& a, const Spatial& b) {
    return a + b * -1.0;
}

}  // namespace

PairRows::PairRows(const PairFrame& frame, const Meeting& meeting, double radius, const BodyMotion& own,
                   const BodyMotion& other)
    : frame_(frame),
      meeting_(meeting),
      radius_(radius),
      velocity_(difference(own.velocity, other.velocity)),
      acceleration_(difference(own.acceleration, other.acceleration)),
      own_spin_(own.velocity.angular),
      other_spin_(other.velocity.angular) {
    speed_ = at(velocity_, meeting.centre);
    turned_ = meeting.turned(speed_);
    normal_rate_ = cross(other_spin_, meeting.normal) + turned_;
    point_ = meeting.centre - meeting.normal * radius;
    point_rate_ = at(own.velocity, meeting.centre) - normal_rate_ * radius;
    slip_ = at(velocity_, point_);
    slip_rate_ = at(acceleration_, point_) + cross(velocity_.angular, point_rate_);
    axes_ = frame.axes(meeting.normal), axes_rate_ = frame.rates(meeting.normal, normal_rate_);
}

PairRows::Displaced PairRows::displaced(const Spatial& own, const Spatial& other) const {
    Displaced found;
    found.centre = at(own, meeting_.centre);
    found.against = found.centre - at(other, meeting_.centre);
    found.normal = cross(other.angular, meeting_.normal) + meeting_.turned(found.against);
    found.point = found.centre - found.normal * radius_;
    return found;
}

void PairRows::along(const BodyChange& own, const BodyChange& other, std::array<double, 3>& rates,
                     std::array<double, 3>& change) const {
    const Displaced moved = displaced(own.place, other.place);
    const Spatial velocity = difference(own.velocity, other.velocity);
    const Spatial acceleration = difference(own.acceleration, other.acceleration);
    const Vec3 speed = at(velocity, meeting_.centre) + cross(velocity_.angular, moved.centre);
    const Vec3& turn = other.place.angular;
    const Vec3 turned =
        cross(turn, turned_) + meeting_.turned(speed - cross(turn, speed_)) + meeting_.bent(moved.against, speed_);
    const Vec3 normal_rate = cross(other.velocity.angular, meeting_.normal) + cross(other_spin_, moved.normal) + turned;
    const Vec3 point_rate = at(own.velocity, meeting_.centre) + cross(own_spin_, moved.centre) - normal_rate * radius_;
    const Vec3 slip = at(velocity, point_) + cross(velocity_.angular, moved.point);
    const Vec3 slip_rate = at(acceleration, point_) + cross(acceleration_.angular, moved.point) +
                           cross(velocity.angular, point_rate_) + cross(velocity_.angular, point_rate);
    const std::array<Vec3, 3> axes = frame_.rates(meeting_.normal, moved.normal);
    const std::array<Vec3, 3> turning = frame_.rates(meeting_.normal, normal_rate);
    const std::array<Vec3, 3> bending = frame_.bends(meeting_.normal, moved.normal, normal_rate_);
    for (int d = 0; d < frame_.rows; ++d) {
        rates[d] = dot(axes[d], slip_) + dot(axes_[d], slip);
        change[d] = dot(turning[d] + bending[d], slip_) + dot(axes_rate_[d], slip) + dot(axes[d], slip_rate_) +
                    dot(axes_[d], slip_rate);
    }
}

Spatial PairRows::wrench(const double* along) const {
    Vec3 force;
    for (int d = 0; d < frame_.rows; ++d) force += axes_[d] * along[d];
    return {force, cross(point_, force)};
}

Spatial PairRows::wrench_change(const double* along, const Spatial& own, const Spatial& other) const {
    const Displaced moved = displaced(own, other);
    const std::array<Vec3, 3> axes = frame_.rates(meeting_.normal, moved.normal);
    Vec3 force;
    for (int d = 0; d < frame_.rows; ++d) force += axes[d] * along[d];
    return {force, cross(point_, force) + cross(moved.point, wrench(along).linear)};
}

}  // namespace native
