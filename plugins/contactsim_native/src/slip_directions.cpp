#include "slip_directions.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

namespace native {

namespace {

using Complex = std::complex<double>;
constexpr int DEGREE = CIRCLE_SAMPLES - 1, ROUNDS = 200;
constexpr double PI = 3.141592653589793, ROUNDING = 4e-16;

// Coefficients of the quartic, from that of z^0 on.
std::array<Complex, CIRCLE_SAMPLES> quartic(const std::array<double, CIRCLE_SAMPLES>& values) {
    std::array<Complex, CIRCLE_SAMPLES> found{};
    for (int power = 0; power <= DEGREE; ++power) {
        for (int k = 0; k < CIRCLE_SAMPLES; ++k) {
            found[power] += values[k] * std::polar(1.0 / CIRCLE_SAMPLES, -(power - 2) * circle_sample(k));
        }
    }
    return found;
}

// All roots at once. Source: Durand 1960; Kerner, Numerische Mathematik 8, 1966.
std::optional<std::array<Complex, DEGREE>> roots_of(const std::array<Complex, CIRCLE_SAMPLES>& polynomial) {
    std::array<Complex, DEGREE> roots;
    for (int j = 0; j < DEGREE; ++j) roots[j] = std::polar(1.0, 0.4 + 2.0 * PI * j / DEGREE);
    for (int round = 0; round < ROUNDS; ++round) {
        double moved = 0.0;
        for (int j = 0; j < DEGREE; ++j) {
            Complex value = polynomial[DEGREE], apart = polynomial[DEGREE];
            for (int power = DEGREE - 1; power >= 0; --power) value = value * roots[j] + polynomial[power];
            for (int other = 0; other < DEGREE; ++other) apart *= other == j ? 1.0 : roots[j] - roots[other];
            const Complex step = value / apart;
            if (!std::isfinite(step.real()) || !std::isfinite(step.imag())) return std::nullopt;
            roots[j] -= step;
            moved = std::max(moved, std::abs(step) / std::max(std::abs(roots[j]), 1.0));
        }
        if (moved <= ROUNDING) return roots;
    }
    return std::nullopt;
}

}  // namespace

double circle_sample(int k) {
    return 2.0 * PI * k / CIRCLE_SAMPLES;
}

std::optional<std::vector<double>> zeros_on_circle(const std::array<double, CIRCLE_SAMPLES>& values, double on_circle) {
    const auto roots = roots_of(quartic(values));
    if (!roots) return std::nullopt;
    std::vector<double> angles;
    for (const Complex& root : *roots) {
        if (std::abs(std::abs(root) - 1.0) <= on_circle) angles.push_back(std::arg(root));
    }
    return angles;
}

}  // namespace native
