#include "pair_derivatives.hpp"

#include "edge_derivatives.hpp"

namespace native {

namespace {

// Velocity of the material at a point.
Vec3 at(const Spatial& motion, const Vec3& point) {
    return motion.linear + cross(motion.angular, point);
}

Spatial difference(const Spatial& a, const Spatial& b) {
    return a + b * -1.0;
}

// A sphere or point: x = c - r n for its centre c.
class BallFollower final : public Follower {
  public:
    BallFollower(const Meeting& meeting, double radius, const Spatial& own, const Spatial& other)
        : meeting_(meeting),
          radius_(radius),
          velocity_(difference(own, other)),
          own_spin_(own.angular),
          other_spin_(other.angular),
          speed_(at(velocity_, meeting.centre)),
          turned_(meeting.turned(speed_)) {
        spot_.normal = meeting.normal, spot_.normal_rate = cross(other_spin_, meeting.normal) + turned_;
        spot_.point = meeting.centre - meeting.normal * radius;
        spot_.point_rate = at(own, meeting.centre) - spot_.normal_rate * radius;
    }

    Spot displaced(const Spatial& own, const Spatial& other) const override {
        const Vec3 centre = at(own, meeting_.centre);
        const Vec3 normal = cross(other.angular, meeting_.normal) + meeting_.turned(against(own, other));
        return {centre - normal * radius_, normal};
    }

    MovingSpot changed(const BodyChange& own, const BodyChange& other) const override {
        const Spot moved = displaced(own.place, other.place);
        const Spatial velocity = difference(own.velocity, other.velocity);
        const Vec3 centre = at(own.place, meeting_.centre), &turn = other.place.angular;
        const Vec3 speed = at(velocity, meeting_.centre) + cross(velocity_.angular, centre);
        const Vec3 turned = cross(turn, turned_) + meeting_.turned(speed - cross(turn, speed_)) +
                            meeting_.bent(against(own.place, other.place), speed_);
        const Vec3 normal_rate =
            cross(other.velocity.angular, meeting_.normal) + cross(other_spin_, moved.normal) + turned;
        const Vec3 centre_rate = at(own.velocity, meeting_.centre) + cross(own_spin_, centre);
        return {moved.point, centre_rate - normal_rate * radius_, moved.normal, normal_rate};
    }

  private:
    const Meeting meeting_;
    const double radius_;
    const Spatial velocity_;  // relative
    const Vec3 own_spin_, other_spin_, speed_, turned_;

    // By how much the centre is displaced in the solid.
    Vec3 against(const Spatial& own, const Spatial& other) const {
        return at(own, meeting_.centre) - at(other, meeting_.centre);
    }
};

// Features that meet by functions of places, differentiated in duals.
class FeatureFollower final : public Follower {
  public:
    FeatureFollower(const Contact& contact, const Spatial& own, const Spatial& other, const Sweep& sweep)
        : features_(*contact.features),
          at_{places_of(contact, sweep), own, other},
          held_(held_region(contact, at_.places)) {
        const MeetOf<double> found = features_.meet(at_, held_);
        spot_ = {found.x, found.x_rate, found.n, found.n_rate};
    }

    Spot displaced(const Spatial& own, const Spatial& other) const override {
        const MovingSpot moved = changed({own, {}, {}}, {other, {}, {}});
        return {moved.point, moved.normal};
    }

    MovingSpot changed(const BodyChange& own, const BodyChange& other) const override {
        const PairPlaces& here = at_.places;
        const MotionsOf<Dual> moved{
            {moved_pose(here.a, own.place), moved_pose(here.b, other.place)},
            {changing(at_.V_a.linear, own.velocity.linear), changing(at_.V_a.angular, own.velocity.angular)},
            {changing(at_.V_b.linear, other.velocity.linear), changing(at_.V_b.angular, other.velocity.angular)}};
        const MeetOf<Dual> found = features_.meet(moved, held_);
        return {slope(found.x), slope(found.x_rate), slope(found.n), slope(found.n_rate)};
    }

  private:
    const FeaturePair& features_;
    const MotionsOf<double> at_;
    const Region held_;

    static PoseOf<Dual> moved_pose(const PoseOf<double>& pose, const Spatial& by) {
        const auto turned = [&](const Vec3& axis) { return changing(axis, cross(by.angular, axis)); };
        return {{turned(pose.R.c0), turned(pose.R.c1), turned(pose.R.c2)}, changing(pose.o, at(by, pose.o))};
    }
};

}  // namespace

std::unique_ptr<Follower> follower_of(const Contact& contact, const Spatial& own, const Spatial& other,
                                      const Sweep& sweep) {
    if (contact.edges) return follower_of_edges(contact, own, other, sweep);
    if (contact.features) return std::make_unique<FeatureFollower>(contact, own, other, sweep);
    return std::make_unique<BallFollower>(met(contact, sweep), contact.radius, own, other);
}

PairRows::PairRows(const PairFrame& frame, const Contact& contact, const BodyMotion& own, const BodyMotion& other,
                   const Sweep& sweep)
    : frame_(frame),
      follower_(follower_of(contact, own.velocity, other.velocity, sweep)),
      velocity_(difference(own.velocity, other.velocity)),
      acceleration_(difference(own.acceleration, other.acceleration)) {
    const MovingSpot& spot = follower_->spot();
    slip_ = at(velocity_, spot.point);
    slip_rate_ = at(acceleration_, spot.point) + cross(velocity_.angular, spot.point_rate);
    axes_ = frame.axes(spot.normal), axes_rate_ = frame.rates(spot.normal, spot.normal_rate);
}

void PairRows::along(const BodyChange& own, const BodyChange& other, std::array<double, 3>& rates,
                     std::array<double, 3>& change) const {
    const MovingSpot& spot = follower_->spot();
    const MovingSpot moved = follower_->changed(own, other);
    const Spatial velocity = difference(own.velocity, other.velocity);
    const Spatial acceleration = difference(own.acceleration, other.acceleration);
    const Vec3 slip = at(velocity, spot.point) + cross(velocity_.angular, moved.point);
    const Vec3 slip_rate = at(acceleration, spot.point) + cross(acceleration_.angular, moved.point) +
                           cross(velocity.angular, spot.point_rate) + cross(velocity_.angular, moved.point_rate);
    const std::array<Vec3, 3> axes = frame_.rates(spot.normal, moved.normal);
    const std::array<Vec3, 3> turning = frame_.rates(spot.normal, moved.normal_rate);
    const std::array<Vec3, 3> bending = frame_.bends(spot.normal, moved.normal, spot.normal_rate);
    for (int d = 0; d < frame_.rows; ++d) {
        rates[d] = dot(axes[d], slip_) + dot(axes_[d], slip);
        change[d] = dot(turning[d] + bending[d], slip_) + dot(axes_rate_[d], slip) + dot(axes[d], slip_rate_) +
                    dot(axes_[d], slip_rate);
    }
}

Spatial PairRows::wrench(const double* along) const {
    Vec3 force;
    for (int d = 0; d < frame_.rows; ++d) force += axes_[d] * along[d];
    return {force, cross(follower_->spot().point, force)};
}

Spatial PairRows::wrench_change(const double* along, const Spatial& own, const Spatial& other) const {
    const MovingSpot& spot = follower_->spot();
    const Spot moved = follower_->displaced(own, other);
    const std::array<Vec3, 3> axes = frame_.rates(spot.normal, moved.normal);
    Vec3 force;
    for (int d = 0; d < frame_.rows; ++d) force += axes[d] * along[d];
    return {force, cross(spot.point, force) + cross(moved.point, wrench(along).linear)};
}

}  // namespace native
