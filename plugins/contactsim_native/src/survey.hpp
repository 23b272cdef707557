// What the check of a run asks of its steps, see contactsim's `energy_audit`.
#pragma once

#include "guards.hpp"

namespace native {

// Where steps are looked at: shares of a step, of which the last one is its end, and weights of what is integrated.
struct Places {
    std::vector<double> shares, weights;
};

// Steps of one mode, and what they are looked at with.
struct Surveyed {
    const Robot& robot;
    const ContactMode& mode;
    const Gaps& gaps;
    const Drive& drive;
    std::vector<char> watched;  // which open contacts must not be inside what they may touch
    bool placed;                // whether the places of the joints are asked for
};

// What is seen of them. Integrals are over the time of the steps; works are those of all forces but conservative ones.
struct Survey {
    std::vector<double> forces, rates;  // (places, rows) of the closed contacts
    std::vector<double> by_forces;      // integral (nv,) of the accelerations
    double without_contacts = 0.0;      // that of the largest acceleration there would be without contacts
    double work = 0.0, moved = 0.0;     // that of the power, and of its size
    double force = 0.0, speed = 0.0;    // the largest of all other forces, and of all velocities
    double depth = 0.0;                 // the largest one of an open contact, or distance of a closed one
    std::vector<double> joints;         // (places, joints, 12): axes column by column, and origins
};

// Looks at the steps of a record (steps, width), see `Course`. The directions (closed, 2) of slips go on from place to
// place. False where the motion is not known.
bool survey(const Surveyed& of, const Places& places, const double* record, int steps, int width,
            std::vector<double>& directions, Survey& found);

}  // namespace native
