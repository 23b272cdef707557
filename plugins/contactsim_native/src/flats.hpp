// Corners, edges and faces of bodies, rims of discs and their ends, against hills: the point of them that is nearest to
// the ground, how it moves, and where others take over. The equations are those of contactsim's
// multibody/geometry/hill_features.py, nearest_on_hills.py and discs_on_hills.py.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "edges.hpp"
#include "hills.hpp"

namespace native {

// Thresholds by name: those of contactsim's modules.
struct FlatRules {
    int rounds;                                                // of Newton's method
    double settled_way, rim, level, straight, beyond;          // of the search
    double held, seen, off, tiny_way;                          // of what is found
    double later, nearly;                                      // of what begins and ends at a bend, or a tilt
    double same, tiny;                                         // of rims
    double loose;                                              // of what is close without a point of its own
    double one_point, one_normal;                              // within which features touch at one point
};

struct Pose {
    Mat3 turn;
    Vec3 place;
};

// A way along a feature: none of a corner, one number of an edge or a rim, two of a face.
using Way = std::array<double, 2>;

// What is no number of the feature itself: of a rim, or of the face inside it.
struct Disc {
    Vec3 axis;                    // outward, of a rim
    double rim = 1.0;             // its radius [m]
    std::optional<double> alone;  // tilt from which on a rim touches whole, and below which its sectors do
    std::optional<double> side;   // sine of the angle between the side of its body and the axis, where that meets hills
    Way off{};                    // of a face: from the centre of its disc
};

// The point nearest to the ground; `core` without the rounding.
struct Lowest {
    Way way;
    Vec3 core;
    double distance;
    Vec3 normal;
    Mat3 hessian;
};

// What is seen of a feature at a place.
struct FlatLook {
    bool known = true;           // false: the ground ends on the way
    double low;                  // as of contactsim's Search
    std::optional<Lowest> own;   // the nearest one of the points within its borders
    bool acts = false;           // whether that is there, and no other feature is nearer
};

class Flat {
  public:
    enum class Kind { plain, arc, face };

    Kind kind = Kind::plain;
    std::shared_ptr<const Hills> hills;
    FlatRules rules{};
    Vec3 centre;
    std::vector<Vec3> along;                    // (d,)
    std::vector<Way> into;                      // of its borders
    std::vector<double> room;                   // of these
    std::vector<Vec3> onward;                   // directions of the features that begin here
    std::vector<Way> samples;
    double spacing = 0.0, radius = 0.0, taper = 0.0;
    double least = 0.0;          // bend of the ground along it, below which it does not act
    std::vector<double> leasts;  // the same towards the features that begin here
    Disc disc;

    // What follows from these: to be called once they are all there.
    void prepare();

    FlatLook look(const Pose& pose) const;

    // The point of a closed contact, within its borders or beyond; false where it is not found, and why: none of both,
    // or the ground ends.
    Hills::Found nearest(const Pose& pose, Lowest& found) const;

    // A lower bound of the distance of the ball around it, and whether that is near the ground; NaN: there is none.
    double clearance(const Pose& pose, bool& near) const;

    // The gap while it is open, where its ball is near; NaN: there is no ground.
    double near_gap(const FlatLook& seen) const;
    bool sunk(double low) const { return low < -rules.off && !(radius > 0.0); }

    // How far the nearest point is from a border (1, 2, ...), or what tells of the feature along a direction that leads
    // on (100, ...), or of the tilt of a rim (50), or of its own bend (51).
    double margin(const Pose& pose, const Lowest& here, int side) const;

    // Where it touches and how that moves, of a body with a velocity (at the origin of the pose's world).
    MovingSpot moving(const Pose& pose, const Lowest& here, const Spatial& velocity) const;

    // Bound of what the second derivative of its gap has besides the accelerations of its body.
    double bend(const std::optional<Lowest>& own, const Pose& pose, double speed, double spin) const;

    // Whether edges begin at it, and the direction of an edge whose point is one with those of its ends: it has hardly
    // begun to act.
    bool ends_edges() const { return dim() == 0 || kind == Kind::arc; }
    std::optional<Vec3> runs_along(const Pose& pose, const Lowest& here) const;

    // The distance of what is rounded.
    double gap(const Lowest& here) const { return here.distance - rounding(here.way); }
    double extent() const { return extent_; }

  private:
    std::vector<Vec3> points_, runs_;  // samples, and the directions (n, d) there, in axes of the body
    std::vector<char> beside_;         // (n, n)
    std::vector<Way> ways_;            // (n, n)
    Vec3 middle_;                      // of the ball, and of a rim e in its middle
    Vec3 first_;
    double widest_ = 0.0, span_ = 0.0, sag_ = 0.0, extent_ = 0.0, bend_most_ = 0.0;

    struct Search {
        double low;
        std::vector<double> gaps;
        std::vector<Way> starts;
        std::vector<Vec3> normals;
    };

    std::size_t dim() const { return along.size(); }
    bool whole() const { return room.empty(); }
    double rounding(const Way& way) const { return radius + taper * (way[0] + way[1]); }
    bool begin(const Pose& pose, Search& found) const;
    bool leads(const Pose& pose, const Search& search, std::size_t k) const;
    double inside(const Way& way) const;
    // From one of the starts; none: no least distance is found.
    Hills::Found from(const Pose& pose, Way way, bool within, Lowest& found) const;
    void turned(const Way& way, Vec3& e, Vec3& t) const;
    // Directions in the world at a way, and the point there from the origin of the body.
    std::array<Vec3, 2> laid(const Pose& pose, const Way& way, Vec3& arm) const;
    std::array<double, 3> bent(const Pose& pose, const Way& way, const std::array<Vec3, 2>& A, const Vec3& normal,
                               const Mat3& hessian) const;
    // Slopes along the feature, less those of what is rounded.
    Way slopes(const std::array<Vec3, 2>& A, const Vec3& normal) const;
    double lowest(const Pose& pose, const Lowest& here) const;
    std::vector<Vec3> onward_at(const Pose& pose, const Way& way) const;
    bool is_free(const Pose& pose, const Lowest& here) const;
    double tilt(const Pose& pose, const Lowest& here) const;
    double clear(const Pose& pose, const Lowest& here, std::size_t k, bool closed) const;
};

}  // namespace native
