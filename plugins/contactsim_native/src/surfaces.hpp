// What ellipsoids meet: bodies by their smooth pieces, of which a region says which one is nearest. See contactsim's
// multibody/geometry/surfaces.py.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "closest_points.hpp"
#include "round_shapes.hpp"

namespace native {

// One smooth piece, a polyhedron, rounded or not, or a cylinder or cone.
class SmoothSurface {
  public:
    explicit SmoothSurface(const SmoothPiece& only);
    SmoothSurface(std::shared_ptr<const Polyhedron> hull, double rounding, const SharpRules& rules);
    explicit SmoothSurface(const RoundShape& shape);

    const SmoothPiece& piece(const Region& region) const;
    bool is_whole() const { return !hull_ && !shape_; }  // one piece, without regions
    double rounding() const { return rounding_; }        // how far its surface lies outside of its pieces [m]

    Region start(const Vec3& p) const;     // a region that a point is near to
    double distance(const Vec3& p) const;  // of a point outside [m]; of a single piece nothing is said
    std::vector<int> sides(const Region& region) const;
    Region beyond(const Region& region, int side) const;

    // How far a point of the piece with the outward normal n is from a side; of normals, as a way [m].
    double margin(const Region& region, int side, const Vec3& x, const Vec3& n, double scale) const;

  private:
    std::map<Region, SmoothPiece> pieces_;
    std::shared_ptr<const Polyhedron> hull_;
    std::optional<RoundShape> shape_;
    double rounding_ = 0.0;
    SharpRules rules_;

    double round_margin(const Region& region, int side, const Vec3& x, const Vec3& n, double scale) const;
};

}  // namespace native
