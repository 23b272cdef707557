#include "surfaces.hpp"

#include <limits>

namespace native {

namespace {

const Vec3 UP{0.0, 0.0, 1.0};

}  // namespace

SmoothSurface::SmoothSurface(const SmoothPiece& only) : pieces_{{Region{}, only}} {}

SmoothSurface::SmoothSurface(std::shared_ptr<const Polyhedron> hull, double rounding, const SharpRules& rules)
    : hull_(hull), rounding_(rounding), rules_(rules) {
    for (std::size_t k = 0; k < hull->normals.size(); ++k) {
        const Vec3& n = hull->normals[k];
        const Region region{FACE, static_cast<int>(k), 0};
        pieces_.emplace(region, SmoothPiece::plane(n * hull->offsets[k], n, rounding));
    }
    for (std::size_t k = 0; k < hull->edges.size(); ++k) {
        const Region region{EDGE, static_cast<int>(k), 0};
        const Vec3& start = hull->vertices[hull->edges[k][0]];
        pieces_.emplace(region, SmoothPiece::line(start, hull->directions[k], rounding));
    }
    for (std::size_t k = 0; k < hull->vertices.size(); ++k) {
        const Region region{VERTEX, static_cast<int>(k), 0};
        pieces_.emplace(region, SmoothPiece::point(hull->vertices[k], rounding));
    }
}

SmoothSurface::SmoothSurface(const RoundShape& shape) : shape_(shape) {
    for (const int end : {-1, 1}) {
        if (shape.cone && end > 0) continue;
        const Vec3 middle = UP * (end * shape.half);
        pieces_.emplace(Region{RoundShape::CAP, end, 0}, SmoothPiece::plane(middle, UP * double(end), 0.0));
        pieces_.emplace(Region{RoundShape::RIM, end, 0}, SmoothPiece::ring(middle, UP, shape.radius));
    }
    const Region side{RoundShape::SIDE, 0, 0};
    if (!shape.cone) {
        pieces_.emplace(side, SmoothPiece::line({}, UP, shape.radius));
        return;
    }
    pieces_.emplace(side, SmoothPiece::slant(UP * shape.half, UP, shape.sine()));
    pieces_.emplace(Region{RoundShape::TIP, 1, 0}, SmoothPiece::point(UP * shape.half, 0.0));
}

const SmoothPiece& SmoothSurface::piece(const Region& region) const {
    return pieces_.at(region);
}

Region SmoothSurface::start(const Vec3& p) const {
    if (hull_) return region_of(*hull_, rules_, p, nullptr);
    return shape_ ? shape_->region(p, 0.0) : Region{};
}

double SmoothSurface::distance(const Vec3& p) const {
    if (shape_) return shape_->distance(p, shape_->region(p, 0.0));
    if (!hull_) return -std::numeric_limits<double>::infinity();
    const Region region = start(p);
    if (region[0] == FACE) return dot(hull_->normals[region[1]], p) - hull_->offsets[region[1]] - rounding_;
    return length(offset_of(*hull_, region, p)) - rounding_;
}

std::vector<int> SmoothSurface::sides(const Region& region) const {
    if (shape_) return sides_of_round(region);
    if (!hull_) return {};
    if (region[0] == EDGE) return hull_->is_segment() ? std::vector<int>{3, 4} : std::vector<int>{1, 2, 3, 4};
    const auto& own = region[0] == FACE ? hull_->of_faces[region[1]] : hull_->of_vertices[region[1]];
    std::vector<int> found;
    for (std::size_t k = 1; k <= own.size(); ++k) found.push_back(static_cast<int>(k));
    return found;
}

Region SmoothSurface::beyond(const Region& region, int side) const {
    if (shape_) return shape_->beyond(region, side);
    const int k = region[1];
    if (region[0] == FACE) return {EDGE, hull_->of_faces[k][side - 1].edge, 0};
    if (region[0] == VERTEX) return {EDGE, hull_->of_vertices[k][side - 1].edge, 0};
    if (side <= 2) return {FACE, hull_->sides[k][side - 1], 0};
    return {VERTEX, hull_->edges[k][side - 3], 0};
}

double SmoothSurface::margin(const Region& region, int side, const Vec3& x, const Vec3& n, double scale) const {
    if (shape_) return round_margin(region, side, x, n, scale);
    const int k = region[1];
    if (region[0] == FACE || (region[0] == EDGE && side > 2)) return margin_of(*hull_, region, side, x);
    if (region[0] == EDGE) return -scale * dot(n, hull_->into[k][side - 1]);
    const Beside& beside = hull_->of_vertices[k][side - 1];
    return -scale * beside.at * dot(n, hull_->directions[beside.edge]);
}

// Across the axis on an end, along the side, and by the normal of a rim or tip.
double SmoothSurface::round_margin(const Region& region, int side, const Vec3& x, const Vec3& n, double scale) const {
    const double sine = shape_->sine();
    if (region[0] == RoundShape::CAP) return shape_->radius - std::hypot(x.x, x.y);
    if (region[0] == RoundShape::TIP) return scale * (n.z - sine);
    if (region[0] == RoundShape::RIM) {
        if (side == 3) return scale * (region[1] * n.z + sine);
        return scale * (n.x * x.x + n.y * x.y) / shape_->radius;
    }
    return (shape_->half - (side > 0 ? 1.0 : -1.0) * x.z) / std::sqrt(1.0 - sine * sine);
}

}  // namespace native
