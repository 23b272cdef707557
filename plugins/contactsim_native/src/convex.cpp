#include "convex.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace native {

namespace {

constexpr int ROUNDS = 200;          // of points that are added
constexpr double GAINED = 1e-14;     // m: a gain that is rounding
constexpr double DEGENERATE = 1e-9;  // of triangles and bodies, relative to their size, that have no normal

Vec3 unit(const Vec3& a) {
    const double size = length(a);
    return size > 0.0 ? a * (1.0 / size) : Vec3{1.0, 0.0, 0.0};
}

// All differences of points of both bodies: the origin is as deep inside of it as the bodies are in each other.
struct Differences {
    const ConvexBody &a, &b;
    const Poses& poses;

    Vec3 farthest(const Vec3& n) const {
        const Vec3 one = poses[0].o + poses[0].R * a.farthest(poses[0].R.transposed() * n);
        const Vec3 two = poses[1].o + poses[1].R * b.farthest(poses[1].R.transposed() * -n);
        return one - two;
    }
};

// A polytope inside of a convex body, which grows towards it.
class Growing {
  public:
    explicit Growing(const Differences& body) : body_(body) {}

    // Four of its points that are apart; false where it is flat.
    bool begin() {
        const Vec3 first = body_.farthest({1.0, 0.0, 0.0}), second = body_.farthest({-1.0, 0.0, 0.0});
        const double size = length(first - second);
        const Vec3 along = unit(first - second);
        const Vec3 aside = unit(cross(along, std::abs(along.x) < 0.6 ? Vec3{1.0, 0.0, 0.0} : Vec3{0.0, 1.0, 0.0}));
        const Vec3 third = farther(aside, first);
        const Vec3 across = cross(first - second, third - second);
        if (!(length(across) > DEGENERATE * size * size)) return false;
        const Vec3 fourth = farther(unit(across), first);
        points_ = {first, second, third, fourth};
        const Vec3 middle = (first + second + third + fourth) * 0.25;
        const int faces[4][3] = {{0, 1, 2}, {0, 3, 1}, {0, 2, 3}, {1, 3, 2}};
        for (const auto& face : faces) {
            if (!add(face[0], face[1], face[2], middle)) return false;
        }
        return true;
    }

    // Whether the origin is no deeper than that inside of the body.
    bool is_shallow(double depth) {
        for (int round = 0; round < ROUNDS; ++round) {
            const auto nearest = std::min_element(faces_.begin(), faces_.end(),
                                                  [](const Face& a, const Face& b) { return a.height < b.height; });
            if (nearest == faces_.end() || nearest->height >= depth) return false;
            const Vec3 n = nearest->normal, point = body_.farthest(n);
            const double reach = dot(n, point);
            if (reach < depth) return true;
            if (reach - nearest->height <= GAINED) return false;
            grow(point);
        }
        return false;
    }

  private:
    struct Face {
        std::array<int, 3> corners;
        Vec3 normal;
        double height;  // of its plane above the origin
    };

    const Differences& body_;
    std::vector<Vec3> points_;
    std::vector<Face> faces_;

    // The point that is farther from a given one along a way, on either side of it.
    Vec3 farther(const Vec3& way, const Vec3& from) const {
        const Vec3 one = body_.farthest(way), two = body_.farthest(-way);
        return dot(way, one - from) >= dot(way, from - two) ? one : two;
    }

    bool add(int i, int j, int k, const Vec3& inside) {
        const Vec3 across = cross(points_[j] - points_[i], points_[k] - points_[i]);
        const double size = length(across);
        if (!(size > 0.0)) return false;
        Face face{{i, j, k}, across * (1.0 / size), 0.0};
        if (dot(face.normal, points_[i] - inside) < 0.0) {
            face.normal = -face.normal, std::swap(face.corners[1], face.corners[2]);
        }
        face.height = dot(face.normal, points_[i]);
        faces_.push_back(face);
        return true;
    }

    // Faces that a point is above make way for those between the edge around them and the point.
    void grow(const Vec3& point) {
        std::map<std::pair<int, int>, int> edges;
        std::vector<Face> kept;
        Vec3 inside{};
        for (const Vec3& corner : points_) inside += corner * (1.0 / static_cast<double>(points_.size()));
        for (const Face& face : faces_) {
            if (dot(face.normal, point) - face.height <= GAINED) {
                kept.push_back(face);
                continue;
            }
            for (int k = 0; k < 3; ++k) ++edges[{face.corners[k], face.corners[(k + 1) % 3]}];
        }
        faces_ = kept;
        points_.push_back(point);
        const int last = static_cast<int>(points_.size()) - 1;
        for (const auto& [edge, count] : edges) {
            if (!edges.count({edge.second, edge.first})) add(edge.first, edge.second, last, inside);
        }
    }
};

}  // namespace

Vec3 ConvexBody::farthest(const Vec3& m) const {
    if (kind == Kind::polyhedron) {
        const Vec3* found = nullptr;
        double most = -std::numeric_limits<double>::infinity();
        for (const Vec3& vertex : hull->vertices) {
            const double reach = dot(m, vertex);
            if (reach > most) most = reach, found = &vertex;
        }
        return *found;
    }
    const Vec3 end{0.0, 0.0, m.z >= 0.0 ? half : -half};
    if (kind == Kind::capsule) return end + m * (radius / std::max(length(m), 1e-300));
    const double rho = std::hypot(m.x, m.y);
    const Vec3 rim = rho > 0.0 ? Vec3{m.x * radius / rho, m.y * radius / rho, 0.0} : Vec3{};
    if (kind == Kind::cylinder) return end + rim;
    const Vec3 tip{0.0, 0.0, half}, base = rim - tip;
    return dot(m, tip) > dot(m, base) ? tip : base;
}

Vec3 ConvexBody::middle() const {
    Vec3 found{};
    if (kind != Kind::polyhedron) return found;
    for (const Vec3& vertex : hull->vertices) found += vertex * (1.0 / static_cast<double>(hull->vertices.size()));
    return found;
}

bool are_parted(const ConvexBody& a, const ConvexBody& b, const Poses& poses, double depth) {
    const Differences body{a, b, poses};
    // Mostly they are apart across the line between their middles.
    const Vec3 way = poses[0].o + poses[0].R * a.middle() - poses[1].o - poses[1].R * b.middle(), n = unit(-way);
    if (dot(n, body.farthest(n)) < depth) return true;
    Growing inside(body);
    return !inside.begin() || inside.is_shallow(depth);
}

}  // namespace native
