// What Python sees of the features of bodies that touch hills.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "flats.hpp"

using namespace native;

namespace {

std::vector<Vec3> vectors(const Table& table) {
    demand(table.shape(0) == 0 || table.shape(1) == 3, "vectors (k, 3)");
    std::vector<Vec3> found;
    for (std::size_t k = 0; k < table.shape(0); ++k) found.push_back({table(k, 0), table(k, 1), table(k, 2)});
    return found;
}

std::vector<Way> ways(const Table& table, std::size_t dim) {
    demand(table.shape(0) == 0 || table.shape(1) == dim, "ways (k, d) of a feature");
    std::vector<Way> found(table.shape(0), Way{});
    for (std::size_t k = 0; k < table.shape(0); ++k) std::copy_n(&table(k, 0), dim, found[k].data());
    return found;
}

void make_flat(Flat* self, int kind, std::shared_ptr<const Hills> hills, const FlatRules& rules,
               const std::vector<double>& centre, Table along, Table into, const std::vector<double>& room,
               Table onward, Table samples, double spacing, double radius, double taper, double least,
               const std::vector<double>& leasts) {
    demand(0 <= kind && kind < 3 && along.shape(0) <= 2 && (kind != 1 || along.shape(0) == 1) && samples.shape(0) > 0,
           "a corner, an edge, a face, a rim or the face inside it, with samples");
    new (self) Flat;
    self->kind = static_cast<Flat::Kind>(kind), self->hills = hills, self->rules = rules;
    self->centre = vec3(centre), self->along = vectors(along), self->onward = vectors(onward);
    self->into = ways(into, self->along.size()), self->samples = ways(samples, self->along.size());
    demand(room.size() == self->into.size(), "a number of each border");
    demand(leasts.size() == self->onward.size(), "the least bend of each feature that begins at one");
    self->room = room, self->spacing = spacing, self->radius = radius, self->taper = taper;
    self->least = least, self->leasts = leasts;
    if (kind != 1) self->prepare();
}

void make_arc(Flat& self, const std::vector<double>& axis, double rim, std::optional<double> alone,
              std::optional<double> side, const std::vector<double>& off) {
    self.disc = {vec3(axis), rim, alone, side, {off.at(0), off.at(1)}};
    if (self.kind == Flat::Kind::arc) self.prepare();
}

// Poses (n, 12): axes row by row, then origins.
Pose pose_of(const double* numbers) {
    const double* r = numbers;
    return {{{r[0], r[3], r[6]}, {r[1], r[4], r[7]}, {r[2], r[5], r[8]}}, {r[9], r[10], r[11]}};
}

Pose pose_at(const Table& poses, std::size_t k) {
    demand(poses.shape(1) == 12 && k < poses.shape(0), "axes and origins (n, 12)");
    return pose_of(&poses(k, 0));
}

nb::object told(const Lowest& here, std::size_t dim) {
    const auto numbers = [](const Vec3& a) { return std::vector<double>{a.x, a.y, a.z}; };
    const Mat3& H = here.hessian;
    const std::vector<double> way(here.way.begin(), here.way.begin() + dim);
    const std::vector<double> hessian{H.c0.x, H.c1.x, H.c2.x, H.c0.y, H.c1.y, H.c2.y, H.c0.z, H.c1.z, H.c2.z};
    return nb::make_tuple(way, numbers(here.core), here.distance, numbers(here.normal), hessian);
}

nb::object look(const Flat& self, Table poses) {
    const FlatLook seen = self.look(pose_at(poses, 0));
    if (!seen.known) return nb::none();
    return nb::make_tuple(seen.low, seen.acts, seen.own ? told(*seen.own, self.along.size()) : nb::none());
}

nb::object nearest(const Flat& self, Table poses) {
    Lowest found;
    if (self.nearest(pose_at(poses, 0), found) != Hills::Found::yes) return nb::none();
    return told(found, self.along.size());
}

// Of each feature at its pose: distance of its ball, whether that is near, and of those the gap, and whether it acts.
// False where the ground ends.
bool looks(const std::vector<const Flat*>& flats, Table poses, nb::ndarray<double, nb::ndim<2>, nb::c_contig> found) {
    demand(poses.shape(0) == flats.size() && found.shape(0) == flats.size() && found.shape(1) == 4,
           "a pose of each feature, and four numbers");
    for (std::size_t k = 0; k < flats.size(); ++k) {
        const Pose pose = pose_at(poses, k);
        bool near;
        const double distance = flats[k]->clearance(pose, near);
        if (std::isnan(distance)) return false;
        double* row = &found(k, 0);
        row[0] = row[2] = distance, row[1] = near, row[3] = 0.0;
        if (!near) continue;
        const FlatLook seen = flats[k]->look(pose);
        if (!seen.known) return false;
        row[2] = flats[k]->near_gap(seen), row[3] = seen.acts;
    }
    return true;
}

}  // namespace

void bind_flats(nb::module_& m) {
    nb::class_<FlatRules>(m, "FlatRules")
        .def(nb::init<>())
        .def_rw("rounds", &FlatRules::rounds)
        .def_rw("settled_way", &FlatRules::settled_way)
        .def_rw("rim", &FlatRules::rim)
        .def_rw("level", &FlatRules::level)
        .def_rw("straight", &FlatRules::straight)
        .def_rw("beyond", &FlatRules::beyond)
        .def_rw("held", &FlatRules::held)
        .def_rw("seen", &FlatRules::seen)
        .def_rw("off", &FlatRules::off)
        .def_rw("tiny_way", &FlatRules::tiny_way)
        .def_rw("nearly", &FlatRules::nearly)
        .def_rw("same", &FlatRules::same)
        .def_rw("tiny", &FlatRules::tiny)
        .def_rw("later", &FlatRules::later)
        .def_rw("loose", &FlatRules::loose)
        .def_rw("one_point", &FlatRules::one_point)
        .def_rw("one_normal", &FlatRules::one_normal);

    nb::class_<Flat>(m, "Flat")
        .def("__init__", &make_flat, nb::arg("kind"), nb::arg("hills"), nb::arg("rules"), nb::arg("centre"),
             nb::arg("along"), nb::arg("into"), nb::arg("room"), nb::arg("onward"), nb::arg("samples"),
             nb::arg("spacing"), nb::arg("radius"), nb::arg("taper"), nb::arg("least"), nb::arg("leasts"))
        .def("on_disc", &make_arc, nb::arg("axis"), nb::arg("rim"), nb::arg("alone").none(),
             nb::arg("side").none(), nb::arg("off"))
        .def("look", &look)
        .def("nearest", &nearest);
    m.def("look_at_flats", &looks);

    nb::class_<HillFeature>(m, "HillFeature")
        .def(
            "__init__",
            [](HillFeature* self, std::shared_ptr<const Flat> flat, const std::vector<double>& turn,
               const std::vector<double>& place, bool corner) {
                new (self) HillFeature{flat, mat3(turn), vec3(place), corner};
            },
            nb::arg("flat"), nb::arg("turn"), nb::arg("place"), nb::arg("corner"));
}
