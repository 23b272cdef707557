// Directions of slip of one contact, as contactsim's contact/solvers/slip_directions.py looks for them.
#pragma once

#include <array>
#include <optional>
#include <vector>

namespace native {

// Places of five values, equally spaced on a circle, that tell a trigonometric polynomial of second degree.
constexpr int CIRCLE_SAMPLES = 5;

double circle_sample(int k);  // angle [rad] of one of them

// The angles (at most four) at which the polynomial through these values is zero: the roots z = exp(i angle) of a
// quartic that miss the unit circle by at most `on_circle`. None where it vanishes, or the roots are not found.
std::optional<std::vector<double>> zeros_on_circle(const std::array<double, CIRCLE_SAMPLES>& values, double on_circle);

}  // namespace native
