// What Python sees of features that meet by functions of places.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "cone_sides.hpp"
#include "points_on_shapes.hpp"
#include "rims.hpp"
#include "smooth_pairs.hpp"
#include "yielding_rims.hpp"
#include "yielding_rounds.hpp"

using namespace native;

namespace {

SmoothSurface whole(const SmoothPiece& only) {
    return SmoothSurface(only);
}

SmoothSurface around(const RoundShape& shape) {
    return SmoothSurface(shape);
}

SmoothSurface faceted(std::shared_ptr<const Polyhedron> hull, double rounding, const SharpRules& rules) {
    return {hull, rounding, rules};
}

ConvexBody hull_body(std::shared_ptr<const Polyhedron> hull) {
    return {ConvexBody::Kind::polyhedron, hull, 0.0, 0.0};
}

ConvexBody round_body(int kind, double radius, double half) {
    return {static_cast<ConvexBody::Kind>(kind), nullptr, radius, half};
}

using Numbers = std::vector<double>;

void make_part(RimPart* self, int kind, const Numbers& centre, const Numbers& axis, const Numbers& sizes,
               const Numbers& middle, Table rows, Table limits, const RimOfBody* other, const ConvexBody* body) {
    demand(sizes.size() == 8 && rows.shape(1) == 7 && limits.shape(1) == 2 && rows.shape(0) == limits.shape(0),
           "eight sizes, and margins (m, 7) with limits (m, 2)");
    new (self) RimPart();
    self->kind = static_cast<RimPart::Kind>(kind), self->centre = vec3(centre), self->axis = vec3(axis);
    self->sine = sizes[0], self->radius = sizes[1], self->half = sizes[2], self->around = sizes[3];
    self->body_radius = sizes[4], self->body_half = sizes[5], self->extent = sizes[6], self->least = sizes[7];
    self->middle = vec3(middle);
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
        std::array<double, 7> row;
        for (int i = 0; i < 7; ++i) row[i] = rows(k, i);
        self->rows.push_back(row), self->limits.push_back({limits(k, 0), limits(k, 1)});
    }
    if (other) self->other = *other;
    if (body) self->body = *body;
}

std::shared_ptr<FeaturePair> rim_on(const RimOfBody& rim, const RimPart& part, const RimRules& rules) {
    if (part.is_lined()) return std::make_shared<RimOnLines>(rim, part, rules);
    if (part.kind == RimPart::Kind::rim) return std::make_shared<RimOnRim>(rim, part, rules);
    return std::make_shared<RimOnPlane>(rim, part, rules);
}

void bind_rims_on_bodies(nb::module_& m) {
    nb::class_<ConvexBody>(m, "ConvexBody").def_static("hull", &hull_body).def_static("round", &round_body);

    nb::class_<RimRules>(m, "RimRules")
        .def(nb::init<>())
        .def_rw("closest", &RimRules::closest)
        .def_rw("begins", &RimRules::begins)
        .def_rw("ends", &RimRules::ends)
        .def_rw("lies", &RimRules::lies)
        .def_rw("rise", &RimRules::rise)
        .def_rw("smoothly_begin", &RimRules::smoothly_begin)
        .def_rw("smoothly_end", &RimRules::smoothly_end)
        .def_rw("rim", &RimRules::rim)
        .def_rw("off", &RimRules::off)
        .def_rw("deep", &RimRules::deep)
        .def_rw("far_side", &RimRules::far_side)
        .def_rw("far_bodies", &RimRules::far_bodies)
        .def_rw("parallel", &RimRules::parallel)
        .def_rw("parallel_edges", &RimRules::parallel_edges)
        .def_rw("nearly_flat", &RimRules::nearly_flat)
        .def_rw("sideways", &RimRules::sideways)
        .def_rw("turned", &RimRules::turned);

    nb::class_<RimOfBody>(m, "RimOfBody")
        .def("__init__", [](RimOfBody* self, double radius, double half, double end, double lean, double flat) {
            new (self) RimOfBody{radius, half, end, lean, flat};
        });

    nb::class_<RimPart>(m, "RimPart")
        .def("__init__", &make_part, nb::arg("kind"), nb::arg("centre"), nb::arg("axis"), nb::arg("sizes"),
             nb::arg("middle"), nb::arg("rows"), nb::arg("limits"), nb::arg("other").none(), nb::arg("body").none());

    m.def("rim_on", &rim_on);
}

// Frames (3, 3) with spans, one a row (1, 10), of straight parts alone.
void make_yielding_part(YieldingPart* self, const RimPart& part, const std::optional<Numbers>& normals,
                        const std::vector<int>& beside) {
    demand(!normals || normals->size() == 10, "a frame (3, 3) and a span");
    new (self) YieldingPart{part, {}, beside};
    if (!normals) return;
    const Numbers& all = *normals;
    const auto row = [&](int k) { return Vec3{all[3 * k], all[3 * k + 1], all[3 * k + 2]}; };
    self->normals = NormalsAround{{row(0), row(1), row(2)}, all[9]};
}

void bind_yielding_rims(nb::module_& m) {
    nb::class_<YieldingPart>(m, "YieldingPart")
        .def("__init__", &make_yielding_part, nb::arg("part"), nb::arg("normals").none(), nb::arg("beside"));

    nb::class_<YieldingRules>(m, "YieldingRules")
        .def("__init__", [](YieldingRules* self, const RimRules& rim, double bulge, int rounds, double turned) {
            new (self) YieldingRules{rim, bulge, rounds, turned};
        });

    nb::class_<YieldingRim, FeaturePair>(m, "YieldingRim")
        .def(nb::init<const RimOfBody&, std::vector<YieldingPart>, std::optional<double>, const YieldingRules&>(),
             nb::arg("rim"), nb::arg("parts"), nb::arg("reach").none(), nb::arg("rules"));
}

void bind_yielding_rounds(nb::module_& m) {
    nb::class_<RoundPairRules>(m, "RoundPairRules")
        .def("__init__", [](RoundPairRules* self, const YieldingRules& rims, double beside, double beyond, double round_rim,
                            double tied, int polishes) {
            new (self) RoundPairRules{rims, beside, beyond, round_rim, tied, polishes};
        });

    nb::class_<RoundBody>(m, "RoundBody")
        .def("__init__", [](RoundBody* self, int kind, double radius, double half, double bulge) {
            new (self) RoundBody{static_cast<RoundBody::Kind>(kind), radius, half, bulge};
        });

    nb::class_<RoundOnRound, FeaturePair>(m, "RoundOnRound")
        .def(nb::init<const RoundBody&, const RoundBody&, const RoundPairRules&>());
}

void make_point(PointKind* self, int of, double radius, Table edges, const Numbers& axis, double sine) {
    new (self) PointKind{static_cast<PointKind::Of>(of), radius, {}, vec3(axis), sine};
    demand(edges.shape(1) == 3, "directions (k, 3)");
    for (std::size_t k = 0; k < edges.shape(0); ++k) self->edges.push_back({edges(k, 0), edges(k, 1), edges(k, 2)});
}

void make_faced(FacedBody* self, const std::optional<Numbers>& half, std::shared_ptr<const Polyhedron> hull,
                const RoundShape* shape) {
    new (self) FacedBody{{}, hull, {}};
    if (half) self->half = vec3(*half);
    if (shape) self->shape = *shape;
}

void bind_points_on_shapes(nb::module_& m) {
    nb::class_<PointKind>(m, "PointKind").def("__init__", &make_point);

    nb::class_<PointOnRound, FeaturePair>(m, "PointOnRound")
        .def(nb::init<const RoundShape&, const PointKind&, const SharpRules&>());

    nb::class_<FacedBody>(m, "FacedBody")
        .def("__init__", &make_faced, nb::arg("half").none(), nb::arg("hull").none(), nb::arg("shape").none());

    nb::class_<StandingRules>(m, "StandingRules").def(nb::init<const SharpRules&, double, double>());

    nb::class_<StandingPoint, FeaturePair>(m, "StandingPoint")
        .def("__init__",
             [](StandingPoint* self, const FacedBody& body, const Numbers& inner, const Numbers& axis, double flat,
                const StandingRules& rules) { new (self) StandingPoint(body, vec3(inner), vec3(axis), flat, rules); });
}

void make_edge(EdgeOfBody* self, std::shared_ptr<const Polyhedron> hull, int number, double around, double extent,
               double least) {
    demand(number >= 0 && number < int(hull->edges.size()), "an edge of a polyhedron");
    new (self) EdgeOfBody{hull, number, around, extent, least};
}

void bind_cone_sides(nb::module_& m) {
    nb::class_<ConeRules>(m, "ConeRules")
        .def(nb::init<>())
        .def_rw("smoothly_begin", &ConeRules::smoothly_begin)
        .def_rw("smoothly_end", &ConeRules::smoothly_end)
        .def_rw("rim", &ConeRules::rim)
        .def_rw("round_rim", &ConeRules::round_rim)
        .def_rw("off", &ConeRules::off)
        .def_rw("deep", &ConeRules::deep)
        .def_rw("far_side", &ConeRules::far_side)
        .def_rw("far_bodies", &ConeRules::far_bodies)
        .def_rw("parallel", &ConeRules::parallel)
        .def_rw("arc", &ConeRules::arc);

    nb::class_<Cone>(m, "Cone").def("__init__",
                                    [](Cone* self, double radius, double half) { new (self) Cone{radius, half}; });

    nb::class_<EdgeOfBody>(m, "EdgeOfBody").def("__init__", &make_edge);

    nb::class_<ConeSideOnLine, FeaturePair>(m, "ConeSideOnLine")
        .def(nb::init<const Cone&, const EdgeOfBody&, const ConeRules&>());

    nb::class_<ConeSideOnCone, FeaturePair>(m, "ConeSideOnCone")
        .def(nb::init<const Cone&, const Cone&, const ConeRules&>());

    nb::class_<TipOnCapsule, FeaturePair>(m, "TipOnCapsule")
        .def("__init__", [](TipOnCapsule* self, std::shared_ptr<const Polyhedron> hull, double around,
                            const Numbers& axis, double sine, const SharpRules& rules) {
            new (self) TipOnCapsule(hull, around, vec3(axis), sine, rules);
        });
}

}  // namespace

void bind_features(nb::module_& m) {
    nb::class_<ClosestRules>(m, "ClosestRules")
        .def(nb::init<double, double, double, int, int, int, double>(), nb::arg("rough"), nb::arg("settled"),
             nb::arg("flat"), nb::arg("rounds"), nb::arg("halvings"), nb::arg("newton_rounds"), nb::arg("exact"));

    nb::class_<SmoothRules>(m, "SmoothRules")
        .def_ro("closest", &SmoothRules::closest)
        .def(nb::init<ClosestRules, double, double, int>(), nb::arg("closest"), nb::arg("tied"), nb::arg("far_bodies"),
             nb::arg("steps"));

    nb::class_<SmoothPiece>(m, "SmoothPiece")
        .def_static("ball", [](double radius) { return SmoothPiece::point({}, radius); })
        .def_static("half_space", [] { return SmoothPiece::plane({}, {0.0, 0.0, 1.0}, 0.0); })
        .def_static("ellipsoid", [](const std::vector<double>& radii) { return SmoothPiece::ellipsoid(vec3(radii)); });

    nb::class_<RoundShape>(m, "RoundShape")
        .def("__init__", [](RoundShape* self, bool cone, double radius, double half) {
            new (self) RoundShape{cone, radius, half};
        });

    nb::class_<SmoothSurface>(m, "SmoothSurface")
        .def_static("whole", &whole)
        .def_static("round", &around)
        .def_static("hull", &faceted);

    nb::class_<FeaturePair>(m, "FeaturePair");

    nb::class_<SmoothOnSolid, FeaturePair>(m, "SmoothOnSolid")
        .def(nb::init<const SmoothPiece&, const SmoothSurface&, std::optional<double>, const SmoothRules&>(),
             nb::arg("own"), nb::arg("other"), nb::arg("reach").none(), nb::arg("rules"));

    bind_rims_on_bodies(m), bind_yielding_rims(m), bind_yielding_rounds(m), bind_points_on_shapes(m), bind_cone_sides(m);

    nb::class_<Met>(m, "Met").def(
        "__init__", [](Met* self, std::shared_ptr<const FeaturePair> features, const Numbers& turn, int disc) {
            new (self) Met{features, mat3(turn), disc};
        });
}
