// Bounds of the speed of a robot's points from that of its joints: for a step, no matter where in it.
#pragma once

#include <vector>

namespace native {

// A table of squares, one row for each joint, of which all but a few in a row are zero.
class Squares {
  public:
    Squares() = default;
    Squares(std::vector<double> numbers, int rows);

    double norm(int row, const double* numbers) const;  // sqrt(squares . numbers^2)

  private:
    struct Part {
        int first, end;  // columns between which a row has numbers
    };
    int width_ = 0;
    std::vector<double> numbers_;
    std::vector<Part> parts_;
};

// The segments of a robot, and the joints that move each of them; joint 0 is the world.
struct Reach {
    int joints = 0;
    std::vector<int> parent;
    std::vector<double> length;  // from the origin of the joint before to the place of each joint [m]
    Squares slides, turns;       // of translation and rotation (joints, nv) per velocity
    Squares places;              // of the way (joints, nq) by which coordinates move a joint's origin
};

// A point that a joint carries, at a distance from its origin.
struct Host {
    int joint = -1;  // in the reach; -1: it is a limit
    double arm = 0.0;
};

// Bounds along a step for all joints: of the angular velocity of each body and of the velocity of its origin, then of
// their accelerations. Sums of norms: no direction is looked at, and nothing can exceed them.
struct Sway {
    std::vector<double> spin, speed, twist, push;
    std::vector<double> changes;  // of the spin

    double speed_of(const Host& host) const { return speed[host.joint] + spin[host.joint] * host.arm; }
    double acceleration_of(const Host& host) const {
        const int j = host.joint;
        return push[j] + (twist[j] + spin[j] * spin[j]) * host.arm;
    }

    // From the configuration at the start, and the largest |v| and |v'| on the way.
    void along(const Reach& reach, const double* q, const double* speeds, const double* accelerations, double duration);
};

}  // namespace native
