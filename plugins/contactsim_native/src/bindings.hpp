// What the bindings share: arrays of Python, and demands on them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "contact_mode.hpp"

namespace nb = nanobind;

using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

inline void demand(bool fits, const char* what) {
    if (!fits) throw nb::value_error(what);
}

inline std::vector<double> numbers(const Row& a) { return {a.data(), a.data() + a.size()}; }
inline std::vector<double> numbers(const Table& a) { return {a.data(), a.data() + a.size()}; }

inline native::References references(const native::ContactMode& mode, const Table& directions, double straight) {
    demand(directions.shape(0) == mode.closed.size() && directions.shape(1) == 2, "a direction (2,) of each contact");
    return {directions.data(), straight};
}

void bind_variations(nb::module_& m);
