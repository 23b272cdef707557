// Open contacts that say nothing new, since a closed one of the same bodies touches there: see contactsim's
// multibody/geometry/takeovers.py and shared_corners.py. On what gives way each presses by its own gap: none is hidden.
#pragma once

#include "guards.hpp"

namespace native {

// Guards of corners beside edges and corners that touch, by their numbers: filled in as a guard joins its arc.
void note_shared_corners(const ContactMode& mode, const Contact& contact, int guard, std::vector<SharedCorner>& found);

// Whether the gap of a guard is hidden, where the joints' places are known.
bool is_hidden(const Arc& arc, int guard, double gap, const Sweep& sweep);

// What stands for a gap that is hidden: it cannot fire.
double hidden_gap(const Contact& contact, double gap);

// A guard that is a gap, where the joints' places are known.
double shown_gap(const Arc& arc, int guard, const Sweep& sweep, const double* q);

// The same with its rate, where their velocities are.
Nearing shown_nearing(const Arc& arc, int guard, const Sweep& sweep, const double* q, const double* v);

}  // namespace native
