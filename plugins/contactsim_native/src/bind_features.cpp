// What Python sees of features that meet by functions of places.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "smooth_pairs.hpp"

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

}  // namespace

void bind_features(nb::module_& m) {
    nb::class_<ClosestRules>(m, "ClosestRules")
        .def(nb::init<double, double, int, int, int, double>(), nb::arg("rough"), nb::arg("settled"), nb::arg("rounds"),
             nb::arg("halvings"), nb::arg("newton_rounds"), nb::arg("exact"));

    nb::class_<SmoothRules>(m, "SmoothRules")
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

    nb::class_<Met>(m, "Met").def(
        "__init__", [](Met* self, std::shared_ptr<const FeaturePair> features, const std::vector<double>& turn) {
            new (self) Met{features, mat3(turn)};
        });
}
