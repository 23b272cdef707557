// Ground that is the graph of a height, z = h(x, y): the point of it that is nearest to another one, and the distance
// from there with its derivatives. The equations are those of contactsim's multibody/terrain/hills.py.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "spatial.hpp"

namespace native {

// A height at one place, and its derivatives by that.
struct Bends {
    double h, x, y, xx, xy, yy;
};

struct Thirds {
    double xxx, xxy, xyy, yyy;
};

class Heights {
  public:
    virtual ~Heights() = default;
    virtual bool bends(double x, double y, Bends& found) const = 0;  // false: there is no ground
    virtual bool thirds(double x, double y, Thirds& found) const = 0;
};

// a1 sin(a2 x) cos(a3 y).
class Sinusoid final : public Heights {
  public:
    Sinusoid(double a1, double a2, double a3) : a1_(a1), a2_(a2), a3_(a3) {}
    bool bends(double x, double y, Bends& found) const override;
    bool thirds(double x, double y, Thirds& found) const override;

  private:
    double a1_, a2_, a3_;
};

// Cells between lines x (nx,) and y (ny,), in each of which the height is a polynomial of the way from its lower
// corner: coefficients (nx - 1, ny - 1, 4, 4), the power along x first.
class Spline final : public Heights {
  public:
    Spline(std::vector<double> x, std::vector<double> y, std::vector<double> cells)
        : x_(std::move(x)), y_(std::move(y)), cells_(std::move(cells)) {}
    bool bends(double x, double y, Bends& found) const override;
    bool thirds(double x, double y, Thirds& found) const override;

  private:
    std::vector<double> x_, y_, cells_;

    // The cell of a place, and the place in it; false outside.
    bool cell(double& x, double& y, const double*& coefficients) const;
};

// contactsim's thresholds: heights above ground up to which gaps are distances, and longest steps of Newton's method,
// in radii of curvature; steps that are rounding, in these and relative to the place; how many steps there are at most;
// and the part of a normal out of a plane of motion that is none.
struct HillRules {
    double reach, longest, found, relative;
    int iterations;
    double aside;
};

// The ground near a point.
struct Surface {
    std::array<double, 2> foot;  // x and y of the nearest point
    Vec3 along, across;          // their derivatives by the point
    double distance;
    Vec3 normal;    // its derivative
    Mat3 hessian;   // and the derivative of that
    Vec3 velocity;  // of the ground's material at the nearest point
    Vec3 rise;      // derivative of its upward part by the point
};

// Derivatives by the point of what changes as it moves at u: of hessian u, and of rise . u.
struct Bending {
    Mat3 turn;
    Vec3 rise;
};

// A gap, with its gradient where it is the distance; higher up it is a lower bound of that.
struct Approach {
    double gap;
    std::optional<Vec3> gradient;
};

class Hills {
  public:
    // Args: heights; a bound of their second derivatives; the velocity of the material; the unit normal of the plane in
    // which a robot moves, if it does.
    Hills(std::shared_ptr<const Heights> heights, double curvature, std::array<double, 2> drift,
          std::optional<Vec3> across, const HillRules& rules)
        : heights_(std::move(heights)), curvature_(curvature), drift_(drift), across_(across), rules_(rules) {}

    // The ground near the centre of a sphere that touches it, or nearly so; false where there is no such point.
    bool near(const Vec3& centre, double radius, Surface& found) const {
        return look(centre, radius, found) == Found::yes;
    }

    // The same, and why there is none: no point is the nearest one, or the ground ends on the way to it.
    enum class Found { yes, none, outside };
    Found look(const Vec3& centre, double radius, Surface& found) const;

    // The normal of the ground where a sphere would touch it that is let down vertically; false where there is none.
    bool normal_below(const Vec3& centre, double radius, Vec3& normal) const;

    double curvature() const { return curvature_; }

    bool bending(const Surface& ground, const Vec3& u, Bending& found) const;

    // Distance of a sphere, near the ground; high above it any smooth measure of the same sign. NaN: there is no
    // ground.
    double gap(const Vec3& centre, double radius) const;
    Approach approach(const Vec3& centre, double radius) const;

    // A lower bound of the distance of a sphere, from its gap, and one of the second derivatives of the distance.
    double at_least(double gap, double radius) const;
    double bend(double radius) const;

    // Normal and tangents for a unit normal, as many as the robot has; false where it leaves the plane of motion.
    bool frame(const Vec3& normal, std::array<Vec3, 3>& axes) const;

    // How the tangents change with the normal: along one change of it, and the second derivative along two.
    std::array<Vec3, 2> turned(const Vec3& normal, const Vec3& change) const;
    std::array<Vec3, 2> turned_twice(const Vec3& normal, const Vec3& one, const Vec3& other) const;

  private:
    std::shared_ptr<const Heights> heights_;
    double curvature_;
    std::array<double, 2> drift_;
    std::optional<Vec3> across_;
    HillRules rules_;

    double reach(double radius) const;

    // The place below a sphere that is let down vertically, in place of that of its centre, and its clearance times
    // n_z.
    struct Standing {
        std::array<double, 2> place;
        double clearance, upward;
    };
    bool standing(const Vec3& centre, double radius, Standing& found) const;

    // The place of the nearest point, from a guess of it.
    Found nearest(const Vec3& centre, std::array<double, 2>& place) const;

    template <typename Equation>
    Found newton(const Equation& equation, std::array<double, 2>& place) const;
};

}  // namespace native
