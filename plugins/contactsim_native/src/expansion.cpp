#include "expansion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "charts.hpp"
#include "stages.hpp"

namespace native {

namespace {

constexpr double TINY = 1e-300;  // keeps quotients of two zeros finite

double product(const double* a, const double* b, int n) {
    double sum = 0.0;
    for (int k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

// The same where `a` has numbers at some places alone.
double product(const double* a, const double* b, const std::vector<int>& places) {
    double sum = 0.0;
    for (const int k : places) sum += a[k] * b[k];
    return sum;
}

double apart(const double* a, const double* b, int n) {
    double most = 0.0;
    for (int k = 0; k < n; ++k) {
        const double off = std::abs(a[k] - b[k]);
        if (std::isnan(off)) return off;
        most = std::max(most, off);
    }
    return most;
}

}  // namespace

void Expansion::lay_out(const Robot& robot, const ContactMode& mode) {
    robot_ = &robot, mode_ = &mode, nv_ = robot.nv, rows_ = mode.rows, free_ = 0;
    slipping_.clear(), held_.clear(), pushed_.clear(), turning_.clear(), moving_.clear();
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int first = mode.first[i], stuck = stuck_rows(mode, closed);
        moving_.resize(first + rows_of(mode, closed), moving(robot, outermost(robot, closed.contact)));
        if (!slides(closed)) {
            for (int row = first; row < first + stuck; ++row) held_.push_back(row);
            continue;
        }
        slipping_.push_back(static_cast<int>(i));
        for (int d = 0; d < 3; ++d) {
            if (d && closed.state == State::slip_free) turning_.push_back(static_cast<int>(pushed_.size()));
            pushed_.push_back(first + d);
        }
    }
    slips_ = static_cast<int>(slipping_.size()), free_ = static_cast<int>(turning_.size());
    const int forces = 3 * slips_, held = static_cast<int>(held_.size());
    at_.pushed = nv_;
    at_.tangents = at_.pushed + forces * nv_;
    at_.along = at_.tangents + 2 * slips_ * nv_;
    at_.bias = at_.along + slips_ * forces;
    at_.motion = padded(at_.bias + slips_);
    at_.held = at_.motion;
    at_.rows = at_.held + (1 + forces) * held;
    at_.drift = at_.rows + rows_ * nv_;
    at_.all = at_.drift + rows_;
}

void Expansion::place(double since, const double* change, const double* shift, std::vector<double>& x) {
    const int nq = robot_->nq;
    x.resize(nq + nv_), way_.resize(nv_);
    for (int k = 0; k < nv_; ++k) {
        const double v = start_[nq + k];
        way_[k] = since * (v + 0.5 * since * (acceleration_[k] + since / 3.0 * jerk_[k])) + shift[k];
        x[nq + k] = v + since * (acceleration_[k] + 0.5 * since * jerk_[k]) + change[k];
    }
    integrate(*robot_, start_.data(), way_.data(), x.data());
}

void Expansion::drive(const Origin& origin, double t) {
    applied_.assign(nv_, 0.0);
    origin.drive.at(origin.robot, t, x_.data(), applied_.data(), nullptr, origin.known);
    scratch_.sweep.ground = mode_->terrain.at(t);
}

bool Expansion::look(const Origin& origin, double share, const double* change, const double* shift, double* numbers) {
    const Robot& robot = origin.robot;
    const int forces = 3 * slips_, held = static_cast<int>(held_.size());
    place(share * duration_, change, shift, x_);
    drive(origin, t0_ + share * duration_);
    if (!lay_rows(robot, *mode_, x_.data(), x_.data() + robot.nq, scratch_)) return false;
    const double *row = scratch_.row.data(), *bias = scratch_.bias.data();
    double *unforced = numbers, *pushed = numbers + at_.pushed;
    for (int k = 0; k < nv_; ++k) unforced[k] = scratch_.sweep.free[k] + applied_[k];
    scratch_.sweep.solve(robot, unforced);
    for (int j = 0; j < forces; ++j) {
        std::copy_n(row + pushed_[j] * nv_, nv_, pushed + j * nv_);
        scratch_.sweep.solve(robot, pushed + j * nv_);
    }
    solved_.resize(held * nv_);
    for (int i = 0; i < held; ++i) {
        std::copy_n(row + held_[i] * nv_, nv_, &solved_[i * nv_]);
        scratch_.sweep.solve(robot, &solved_[i * nv_]);
    }
    // Forces that hold what is held against all of these, column by column.
    system_.clear(held, held), answers_.clear(held, 1 + forces);
    for (int i = 0; i < held; ++i) {
        const double* own = row + held_[i] * nv_;
        const std::vector<int>& places = moving_[held_[i]];
        for (int k = 0; k < held; ++k) system_.rows()[i][k] = product(own, &solved_[k * nv_], places);
        answers_.rows()[i][0] = -product(own, unforced, places) - bias[held_[i]];
        for (int j = 0; j < forces; ++j) answers_.rows()[i][1 + j] = -product(own, pushed + j * nv_, places);
    }
    if (held && !solve_dense(system_.rows(), answers_.rows(), held, answers_.stride)) return false;
    for (int j = 0; j <= forces; ++j) {
        for (int i = 0; i < held; ++i) {
            const double force = answers_.rows()[i][j];
            numbers[at_.held + j * held + i] = force;
            add_scaled(numbers + j * nv_, force, &solved_[i * nv_], nv_);
        }
    }
    for (int i = 0; i < slips_; ++i) {
        const int first = pushed_[3 * i];
        const double* normal = row + first * nv_;
        const std::vector<int>& places = moving_[first];
        for (int j = 0; j < forces; ++j)
            numbers[at_.along + i * forces + j] = product(normal, pushed + j * nv_, places);
        numbers[at_.bias + i] = product(normal, unforced, places) + bias[first];
        std::copy_n(normal + nv_, 2 * nv_, numbers + at_.tangents + 2 * i * nv_);
    }
    std::copy_n(row, rows_ * nv_, numbers + at_.rows);
    std::copy_n(bias, rows_, numbers + at_.drift);
    return true;
}

bool Expansion::ways(const double* numbers, std::vector<double>& found) {
    std::vector<int> chosen(turning_);  // forces that move the slips: their tangents, and the normals that stay held
    for (int i = 0; i < slips_; ++i) chosen.push_back(3 * i);
    const int size = static_cast<int>(chosen.size());
    system_.clear(size, size), answers_.clear(size, free_);
    for (int i = 0; i < size; ++i) {
        const double* own = numbers + at_.rows + pushed_[chosen[i]] * nv_;
        for (int j = 0; j < size; ++j) {
            const double* moved = numbers + at_.pushed + chosen[j] * nv_;
            system_.rows()[i][j] = product(own, moved, moving_[pushed_[chosen[i]]]);
        }
        if (i < free_) answers_.rows()[i][i] = 1.0;
    }
    if (!solve_dense(system_.rows(), answers_.rows(), size, answers_.stride)) return false;
    found.assign(free_ * nv_, 0.0);
    for (int way = 0; way < free_; ++way) {
        for (int j = 0; j < size; ++j) {
            add_scaled(&found[way * nv_], answers_.rows()[j][way], numbers + at_.pushed + chosen[j] * nv_, nv_);
        }
    }
    return true;
}

bool Expansion::bend(const Origin& origin, const References& references, const Expanding& rules, double& foreseen) {
    const std::vector<double> still(nv_, 0.0);
    double *here = parts_.rows()[0], *ahead = parts_.rows()[2], determinant;
    jerk_.assign(nv_, 0.0);
    if (!look(origin, 0.0, still.data(), still.data(), here) || !look(origin, 1.0, still.data(), still.data(), ahead)) {
        return false;
    }
    found_.resize(nv_);
    direct(references, here, start_.data() + robot_->nq);
    if (!solve(ahead, found_.data(), determinant)) return false;
    double change = 0.0, size = TINY;
    for (int k = 0; k < nv_; ++k) {
        change = std::max(change, std::abs(found_[k] - acceleration_[k]));
        size = std::max(size, std::abs(acceleration_[k]));
        jerk_[k] = (found_[k] - acceleration_[k]) / duration_;
    }
    foreseen = rules.foreseen * duration_ * change * change / size;
    return foreseen <= accuracy_;
}

bool Expansion::lines(const Origin& origin, const Expanding& rules) {
    const std::vector<double> still(nv_, 0.0);
    std::vector<double> turned, way;
    const double* here = parts_.rows()[0];
    leaving_.clear();
    for (const int j : turning_) {
        const double* row = here + at_.rows + pushed_[j] * nv_;
        leaving_.insert(leaving_.end(), row, row + nv_);
        const double change = product(row, acceleration_.data(), nv_) + here[at_.drift + pushed_[j]];
        turned.push_back(duration_ * std::abs(change));
    }
    const double most = *std::max_element(turned.begin(), turned.end());
    if (!(most > 0.0) || !ways(here, way)) return false;
    for (int line = 0; line < 2 * free_; ++line) {
        const int j = line % free_;
        const bool moved = line >= free_;
        const double size = std::max(turned[j], rules.least_turn * most) * (moved ? rules.middle * duration_ : 1.0);
        double *own = parts_.rows()[3 + line], *along = &way[j * nv_];
        std::vector<double> off(along, along + nv_);
        for (double& part : off) part *= size;
        const double *change = moved ? still.data() : off.data(), *shift = moved ? off.data() : still.data();
        if (!look(origin, 0.0, change, shift, own)) return false;
        for (int k = 0; k < at_.all; ++k) own[k] = (own[k] - here[k]) / size;
    }
    return true;
}

bool Expansion::follow(const References& references, const Expanding& rules) {
    std::vector<double> change(nv_, 0.0), shift(nv_, 0.0), turn(nv_), moved(nv_), bent(nv_);
    const double step = rules.probe / rules.steps * duration_;
    // By what the acceleration differs from that of the path.
    const auto off_path = [&](double since, const std::vector<double>& by, const std::vector<double>& aside) {
        place(since, by.data(), aside.data(), x_);
        if (!accelerate(references, t0_ + since, x_.data(), bent.data())) return false;
        for (int k = 0; k < nv_; ++k) bent[k] -= acceleration_[k] + since * jerk_[k];
        return true;
    };
    for (int n = 0; n < rules.steps; ++n) {
        if (!off_path(n * step, change, shift)) return false;
        for (int k = 0; k < nv_; ++k) {
            turn[k] = change[k] + 0.5 * step * bent[k], moved[k] = shift[k] + 0.5 * step * change[k];
        }
        if (!off_path((n + 0.5) * step, turn, moved)) return false;
        for (int k = 0; k < nv_; ++k) shift[k] += step * turn[k], change[k] += step * bent[k];
    }
    place(rules.probe * duration_, change.data(), shift.data(), x_);
    return true;
}

bool Expansion::make(const Origin& origin, const References& references, const Expanding& rules, double duration,
                     double accuracy, double& shorter) {
    lay_out(origin.robot, origin.mode);
    t0_ = origin.t, duration_ = duration, last_ = origin.t + rules.longer * duration, accuracy_ = accuracy;
    middle_ = rules.middle;
    start_.assign(origin.x, origin.x + origin.robot.nq + nv_);
    acceleration_.assign(origin.acceleration, origin.acceleration + nv_);
    parts_.clear(3 + 2 * free_, at_.all);
    double misses = std::numeric_limits<double>::infinity();
    const bool made = [&] {
        if (!bend(origin, references, rules, misses)) return false;
        const std::vector<double> still(nv_, 0.0);
        double *here = parts_.rows()[0], *half = parts_.rows()[1], *end = parts_.rows()[2];
        if (!look(origin, 0.5, still.data(), still.data(), half) ||
            !look(origin, 1.0, still.data(), still.data(), end)) {
            return false;
        }
        for (int k = 0; k < at_.all; ++k) {
            const double middle = half[k];
            half[k] = 4.0 * middle - 3.0 * here[k] - end[k];
            end[k] = 2.0 * (here[k] + end[k]) - 4.0 * middle;
        }
        if (!lines(origin, rules) || !follow(references, rules)) return false;
        const double t = t0_ + rules.probe * duration_;
        const std::vector<double> there = x_;
        std::vector<double> truth(nv_);
        Forces told;
        drive(origin, t);
        if (!native::accelerate(origin.robot, origin.mode, references, there.data(), there.data() + origin.robot.nq,
                                applied_.data(), scratch_, truth.data(), &told)) {
            return false;
        }
        misses = missed(references, t, there.data(), truth.data(), told.rates) / (rules.probe * rules.probe);
        return misses <= accuracy;
    }();
    const double share = std::pow(accuracy / std::max(misses, TINY), 1.0 / rules.order);
    shorter = duration * std::min(std::max(share, rules.least), rules.shorter);
    return made;
}

void Expansion::blend(double t, const double* x, int count) {
    const int nq = robot_->nq;
    const double since = t - t0_, s = since / duration_;
    const std::vector<double> still(nv_, 0.0);
    place(since, still.data(), still.data(), on_);
    close_difference(*robot_, on_.data(), x, way_.data());
    weights_.assign({1.0, s, s * s});
    weights_.resize(3 + 2 * free_);
    for (int j = 0; j < free_; ++j) {
        const double* row = &leaving_[j * nv_];
        double left = 0.0;
        for (int k = 0; k < nv_; ++k) left += row[k] * (x[nq + k] - on_[nq + k]);
        weights_[3 + j] = left, weights_[3 + free_ + j] = product(row, way_.data(), nv_);
    }
    now_.clear(1, count);
    add_product(now_.rows(), 1.0, {weights_.data(), 3 + 2 * free_}, parts_.rows(), 1, 3 + 2 * free_, now_.stride);
}

void Expansion::direct(const References& references, const double* numbers, const double* v) {
    slip_.resize(slips_);
    for (int i = 0; i < slips_; ++i) {
        const double* tangents = numbers + at_.tangents + 2 * i * nv_;
        const double rates[3] = {0.0, product(tangents, v, nv_), product(tangents + nv_, v, nv_)};
        const int contact = slipping_[i];
        slip_[i] = slip_direction(mode_->closed[contact].state, references.direction + 2 * contact, references.straight,
                                  rates);
    }
}

bool Expansion::solve(const double* numbers, double* acceleration, double& determinant) {
    const int forces = 3 * slips_;
    matrix_.resize(slips_ * slips_), normal_.resize(slips_), force_.resize(forces);
    for (int i = 0; i < slips_; ++i) normal_[i] = -numbers[at_.bias + i];
    for (int j = 0; j < slips_; ++j) {
        const double friction = mode_->closed[slipping_[j]].friction;
        for (int i = 0; i < slips_; ++i) {
            const double* along = numbers + at_.along + i * forces + 3 * j;
            matrix_[i * slips_ + j] = along[0] - friction * (slip_[j][0] * along[1] + slip_[j][1] * along[2]);
        }
    }
    if (!solve_dense(matrix_, normal_, slips_, &determinant)) return false;
    std::copy_n(numbers, nv_, acceleration);
    for (int j = 0; j < slips_; ++j) {
        const double pressed = mode_->closed[slipping_[j]].friction * normal_[j];
        force_[3 * j] = normal_[j], force_[3 * j + 1] = -pressed * slip_[j][0],
                   force_[3 * j + 2] = -pressed * slip_[j][1];
    }
    for (int j = 0; j < forces; ++j) {
        const double* pushed = numbers + at_.pushed + j * nv_;
        for (int k = 0; k < nv_; ++k) acceleration[k] += force_[j] * pushed[k];
    }
    return true;
}

bool Expansion::accelerate(const References& references, double t, const double* x, double* acceleration) {
    double determinant;
    blend(t, x, at_.motion);
    direct(references, now_.rows()[0], x + robot_->nq);
    return solve(now_.rows()[0], acceleration, determinant);
}

bool Expansion::tell(const References& references, double t, const double* x, double* acceleration, Forces& told,
                     std::vector<double>& change, double& regularity) {
    double rubbing, smooth;
    blend(t, x, at_.all);
    const double *numbers = now_.rows()[0], *v = x + robot_->nq;
    direct(references, numbers, v);
    if (!solve(numbers, acceleration, rubbing)) return false;
    const int forces = 3 * slips_, held = static_cast<int>(held_.size());
    told.rates.resize(rows_), told.forces.assign(rows_, 0.0), change.resize(rows_);
    for (int i = 0; i < rows_; ++i) {
        const double* row = numbers + at_.rows + i * nv_;
        told.rates[i] = product(row, v, nv_);
        change[i] = product(row, acceleration, nv_) + numbers[at_.drift + i];
    }
    for (int i = 0; i < held; ++i) {
        double force = numbers[at_.held + i];
        for (int j = 0; j < forces; ++j) force += force_[j] * numbers[at_.held + (1 + j) * held + i];
        told.forces[held_[i]] = force;
    }
    for (int j = 0; j < forces; ++j) told.forces[pushed_[j]] = force_[j];
    for (int i = 0; i < slips_; ++i) {
        for (int j = 0; j < slips_; ++j) matrix_[i * slips_ + j] = numbers[at_.along + i * forces + 3 * j];
    }
    solve_dense(matrix_, normal_, slips_, &smooth);
    regularity = smooth > 0.0 ? rubbing / smooth : 1.0;
    return true;
}

double Expansion::missed(const References& references, double t, const double* x, const double* acceleration,
                         const std::vector<double>& rates) {
    double regularity;
    found_.resize(nv_);
    if (!tell(references, t, x, found_.data(), told_, change_, regularity)) {
        return std::numeric_limits<double>::infinity();
    }
    // What accelerations miss grows with the square of the time: a third of it acted, and it is there until the end.
    const double since = t - t0_, acts = middle_ * since + std::abs(duration_ - since);
    const double by_force = acts * apart(found_.data(), acceleration, nv_);
    const double by_slips = apart(told_.rates.data(), rates.data(), rows_);
    return by_force > by_slips || std::isnan(by_force) ? by_force : by_slips;
}

bool Expansion::is_off(const References& references, double t, const double* x, const double* acceleration,
                       const std::vector<double>& rates) {
    return !(missed(references, t, x, acceleration, rates) <= accuracy_);
}

}  // namespace native
