// What Python sees of rounded bodies on planes.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"

using namespace native;

void bind_rounds(nb::module_& m) {
    nb::class_<RoundRules>(m, "RoundRules")
        .def(nb::init<double, double, double, double, double, double, double>(), nb::arg("rim_begins"),
             nb::arg("points_begin"), nb::arg("rim_ends"), nb::arg("points_end"), nb::arg("rise"), nb::arg("off"),
             nb::arg("steep"));

    nb::class_<Rounded>(m, "Rounded")
        .def(
            "__init__",
            [](Rounded* self, const std::vector<double>& root, double bend, const RoundRules& rules) {
                new (self) Rounded{mat3(root), bend, {}, rules};
            },
            nb::arg("root"), nb::arg("bend"), nb::arg("rules"))
        .def("on_disc", [](Rounded& self, int number, const std::vector<double>& axis, bool lying, double flat) {
            self.disc = OfDisc{number, vec3(axis), lying, flat};
        });
}
