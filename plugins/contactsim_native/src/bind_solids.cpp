// What Python sees of solids, and of what touches them.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include "bindings.hpp"

using namespace native;

namespace {

std::vector<Vec3> vectors(const Table& table) {
    demand(table.shape(1) == 3, "vectors (k, 3)");
    std::vector<Vec3> found;
    for (std::size_t k = 0; k < table.shape(0); ++k) found.push_back({table(k, 0), table(k, 1), table(k, 2)});
    return found;
}

void make_polyhedron(Polyhedron* self, Table vertices, Table normals, Row offsets,
                     const std::vector<std::array<int, 2>>& edges, const std::vector<std::array<int, 2>>& sides,
                     Table into) {
    const std::vector<Vec3> ways = vectors(into);
    demand(offsets.shape(0) == normals.shape(0) && ways.size() == 2 * edges.size() &&
               sides.size() == (normals.shape(0) ? edges.size() : 0),
           "planes of the faces, and two vertices, two faces and the ways into these of each edge");
    new (self) Polyhedron{vectors(vertices), vectors(normals), numbers(offsets), edges, sides, {}, {}, {}, {}, {}};
    for (std::size_t e = 0; e < edges.size(); ++e) {
        for (int k = 0; k < 2; ++k) {
            demand(edges[e][k] >= 0 && edges[e][k] < int(self->vertices.size()), "vertices by their numbers");
            demand(sides.empty() || (sides[e][k] >= 0 && sides[e][k] < int(self->normals.size())),
                   "faces by their numbers");
        }
        self->into.push_back({ways[2 * e], ways[2 * e + 1]});
    }
    self->link();
}

void make_solid(Solid* self, int joint, const std::vector<double>& turn, const std::vector<double>& place,
                double radius, const std::optional<std::vector<double>>& half, std::shared_ptr<const Polyhedron> hull,
                const SharpRules& rules) {
    new (self) Solid{joint, mat3(turn), vec3(place), radius, {}, hull, rules};
    if (half) self->half = vec3(*half);
}

void make_edges(EdgeOnEdge* self, std::shared_ptr<const Solid> solid, int own, int other, double lever,
                double deepest, double held, double rim, bool blunt,
                const std::optional<std::vector<double>>& standing) {
    demand(solid->hull && own >= 0 && own < int(solid->hull->edges.size()), "an edge of a solid with edges");
    new (self) EdgeOnEdge{solid, own, other, lever, deepest, held, rim, blunt, {}};
    if (standing) self->standing = vec3(*standing);
}

}  // namespace

void bind_solids(nb::module_& m) {
    nb::class_<SharpRules>(m, "SharpRules")
        .def(nb::init<>())
        .def_rw("rim", &SharpRules::rim)
        .def_rw("beside", &SharpRules::beside)
        .def_rw("sunk", &SharpRules::sunk)
        .def_rw("off", &SharpRules::off)
        .def_rw("round_rim", &SharpRules::round_rim)
        .def_rw("deep", &SharpRules::deep)
        .def_rw("far_side", &SharpRules::far_side)
        .def_rw("near_edge", &SharpRules::near_edge)
        .def_rw("on_solid", &SharpRules::on_solid)
        .def_rw("one_point", &SharpRules::one_point)
        .def_rw("one_normal", &SharpRules::one_normal)
        .def_rw("arc", &SharpRules::arc)
        .def_rw("parallel", &SharpRules::parallel)
        .def_rw("loose", &SharpRules::loose)
        .def_rw("flat", &SharpRules::flat)
        .def_rw("rise", &SharpRules::rise);

    nb::class_<Polyhedron>(m, "Polyhedron").def("__init__", &make_polyhedron);

    nb::class_<Solid>(m, "Solid")
        .def("__init__", &make_solid, nb::arg("joint"), nb::arg("turn"), nb::arg("place"), nb::arg("radius"),
             nb::arg("half").none(), nb::arg("hull").none(), nb::arg("rules"));

    nb::class_<EdgeOnEdge>(m, "EdgeOnEdge")
        .def("__init__", &make_edges, nb::arg("solid"), nb::arg("own"), nb::arg("other"), nb::arg("lever"),
             nb::arg("deepest"), nb::arg("held"), nb::arg("rim"), nb::arg("blunt"), nb::arg("standing").none());

    nb::class_<Sharp>(m, "Sharp")
        .def(
            "__init__",
            [](Sharp* self, const std::optional<std::vector<double>>& inner, std::shared_ptr<const EdgeOnEdge> edges,
               double extent, Table beside, bool meets_corners) {
                new (self) Sharp{{}, edges, extent, vectors(beside), meets_corners};
                if (inner) self->inner = vec3(*inner);
            },
            nb::arg("inner").none(), nb::arg("edges").none(), nb::arg("extent"), nb::arg("beside"),
            nb::arg("meets_corners"));
}
