// Steps of the stiff method, as contactsim's Stepper takes them.
#include <algorithm>

#include "voyage.hpp"

namespace native {

void Voyage::Chart::rate(double t, const double* y, double* out) {
    static constexpr double A[1] = {0.0}, C[1] = {0.0};
    const Voyage& v = voyage_;
    x_.resize(v.n_);
    run_stages(v.robot_, v.arc_.mode, v.references(), v.arc_.drive, {A, C, 1}, v.base_.data(), t, 0.0, y, out,
               x_.data(), 0, 1, voyage_.room_.known);
}

bool Voyage::Chart::derivative(double t, const double* y, ChartDerivative& out) {
    const Voyage& v = voyage_;
    const Robot& robot = v.robot_;
    const Drive& drive = v.arc_.drive;
    const int nv = robot.nv;
    out.nv = nv, out.memory = drive.memory, out.held = static_cast<int>(drive.held_on.size());
    out.held_at = out.held ? 2 * nv + drive.held_at - robot.nq - nv : 0;
    out.share = 1.0;
    x_.resize(v.size_), force_.assign(nv, 0.0), memory_.resize(drive.memory);
    v.chart_point(y, x_.data());
    drive.at(robot, t, x_.data(), force_.data(), memory_.data(), voyage_.room_.known);
    room_.scratch.sweep.ground = v.arc_.mode.terrain.at(t);
    out.brackets = brackets(robot, x_.data() + robot.nq);
    out.by_state.assign(nv * out.rows().stride, 0.0);
    drive.by_state(robot, out.rows());
    return differentiate(robot, v.arc_.mode, v.references(), x_.data(), x_.data() + robot.nq, force_.data(), out.rows(),
                         2 * nv + out.held, room_, nullptr);
}

bool Voyage::step_stiffly(double approach, double longest) {
    Radau& method = *course_.stiff;
    const bool in_haste = course_.in_haste;
    const long before = method.evaluations;
    if (course_.fresh) {
        std::copy(course_.x, course_.x + size_, base_.begin());
        std::fill(course_.y, course_.y + n_, 0.0);
        course_.fastest = NAN;
        const bool begun = begin_stiffly(method, std::min(course_.proposed, course_.bound - step_.t0));
        course_.evaluations += method.evaluations - before;
        if (!begun) return false;
        course_.fresh = false;
    }
    std::copy(course_.y, course_.y + n_, step_.y.begin());
    method.fastest = course_.fastest;
    if (asks_to_leave(approach)) {
        course_.asks = course_.steps == 0;
        return false;
    }
    const double until = std::min(longest, led_to_next(longest));
    method.growth = free_ ? slowing_ : 0.0;
    if (approach < course_.approach) {
        method.length = course_.approach < INFINITE ? method.length * approach / course_.approach
                                                    : std::min(method.length, rules_.first_share * approach);
    }
    const double tried = std::min(method.length, until);
    const long asked = method.evaluations;
    before_ = method;
    const bool found = method.step(chart_, course_.bound, until);
    course_.evaluations += method.evaluations - asked;
    course_.step = method.length, course_.fastest = method.fastest;
    if (!found || !end_stiffly(method)) {
        course_.in_haste = in_haste;
        return false;
    }
    course_.asked = false;
    course_.approach = approach;
    course_.hemmed = course_.hemmed || course_.bound - step_.t0 <= rules_.within_reach * tried;
    if (step_.t1 < course_.bound) {
        course_.proposed = course_.step;
        if (longest >= std::max(course_.natural, 0.0) && !course_.in_haste) course_.natural = course_.step;
    }
    return true;
}

bool Voyage::begin_stiffly(Radau& method, double first) {
    double largest = 1.0;
    for (const double coordinate : step_.start) largest = std::max(largest, std::abs(coordinate));
    const std::vector<double> origin(n_, 0.0);
    return method.begin(chart_, step_.t0, origin.data(), n_, first, course_.rtol, course_.atol,
                        rules_.rounded * spacing(largest));
}

bool Voyage::asks_to_leave(double ahead) {
    Radau& method = *course_.stiff;
    if (!course_.automatic || ahead <= rules_.few * method.length) return false;
    if (!course_.asked) ++course_.tried, course_.asked = true;
    if (course_.tried <= rules_.growing) return false;
    if (method.derivative().least_radius() * method.length > rules_.easy) return false;
    if (std::isnan(method.fastest)) {
        const double rate = rules_.easy / method.length;
        const auto [least, most] = method.derivative().radius(rate);
        if (least > rate) return false;
        if (most <= rate) method.fastest = course_.fastest = most;
    }
    return !(method.fastest * method.length > rules_.easy);
}

bool Voyage::end_stiffly(const Radau& method) {
    std::fill(step_.parts.begin(), step_.parts.end(), 0.0);
    std::copy_n(method.parts(), Radau9::STAGES * n_, step_.parts.begin());
    return end_step(method.y(), method.rate(), method.t(), rules_.spent_stiffly);
}

bool Voyage::land_stiffly(double t) {
    if (!lander_) {
        Radau again = *before_;
        if (ends_at(again, t) && end_landing(again)) return true;
    }
    base_ = step_.start;
    std::fill(step_.y.begin(), step_.y.end(), 0.0);
    if (lander_) {
        lander_->begin_again(t - step_.t0);
    } else {
        lander_.emplace(course_.stiff->method());
        if (!begin_stiffly(*lander_, t - step_.t0)) return false;
    }
    return ends_at(*lander_, t) && end_landing(*lander_);
}

bool Voyage::ends_at(Radau& method, double t) {
    const long before = method.evaluations;
    const bool found = method.step(chart_, t, INFINITE) && method.t() >= t;
    course_.evaluations += method.evaluations - before;
    return found;
}

bool Voyage::end_landing(const Radau& method) {
    const std::vector<double> y(course_.y, course_.y + n_), f(course_.f, course_.f + n_);
    const double length = course_.step;
    course_.step = method.length;
    const bool ended = end_stiffly(method);
    course_.step = length;
    std::copy(y.begin(), y.end(), course_.y), std::copy(f.begin(), f.end(), course_.f);
    return ended;
}

}  // namespace native
