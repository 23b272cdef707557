#include "expansion.hpp"

#include <algorithm>
#include <cmath>

#include "charts.hpp"
#include "stages.hpp"

namespace native {

namespace {

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
    mode_ = &mode, nv_ = robot.nv, rows_ = mode.rows, free_ = 0;
    slipping_.clear(), held_.clear(), pushed_.clear(), turning_.clear(), moving_.clear(), tips_.clear();
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int first = mode.first[i], stuck = stuck_rows(mode, closed);
        const Tips tips = outermost(robot, closed.contact);
        moving_.resize(first + rows_of(mode, closed), moving(robot, tips));
        tips_.resize(moving_.size(), tips);
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

double Expansion::place(const Origin& origin, const Expanding& rules, double share, const double* change) {
    const double since = share * duration_, grown = rules.middle * duration_;
    const double* v = origin.x + origin.robot.nq;
    std::vector<double> moved(nv_);
    x_.resize(origin.robot.nq + nv_);
    for (int k = 0; k < nv_; ++k) {
        moved[k] = since * v[k] + 0.5 * since * since * acceleration_[k] + grown * change[k];
        x_[origin.robot.nq + k] = v[k] + since * acceleration_[k] + change[k];
    }
    integrate(origin.robot, origin.x, moved.data(), x_.data());
    return origin.t + since;
}

void Expansion::drive(const Origin& origin, double t) {
    applied_.assign(nv_, 0.0);
    origin.drive.at(origin.robot, t, x_.data(), applied_.data(), nullptr, origin.known);
    scratch_.sweep.ground = mode_->terrain.at(t);
}

void Expansion::mobility(const Robot& robot, const Scratch& laid, int row, const Tips& tips, double* out) {
    std::copy_n(&laid.row[row * robot.nv], robot.nv, out);
    laid.sweep.solve_inwards(robot, out, 1, tips);
    laid.sweep.solve_outwards(robot, out);
}

bool Expansion::look(const Origin& origin, const Expanding& rules, double share, const double* change,
                     double* numbers) {
    const Robot& robot = origin.robot;
    drive(origin, place(origin, rules, share, change));
    return lay_rows(robot, *mode_, x_.data(), x_.data() + robot.nq, scratch_) && gather(robot, scratch_, numbers);
}

bool Expansion::look_here(const Origin& origin, const Expanding& rules, double* numbers) {
    const Robot& robot = origin.robot;
    if (!origin.laid) return look(origin, rules, 0.0, std::vector<double>(nv_, 0.0).data(), numbers);
    x_.assign(origin.x, origin.x + robot.nq + nv_);
    drive(origin, origin.t);
    return gather(robot, *origin.laid, numbers);
}

bool Expansion::gather(const Robot& robot, const Scratch& laid, double* numbers) {
    const int forces = 3 * slips_, held = static_cast<int>(held_.size());
    const double *row = laid.row.data(), *bias = laid.bias.data();
    double *unforced = numbers, *pushed = numbers + at_.pushed;
    for (int k = 0; k < nv_; ++k) unforced[k] = laid.sweep.free[k] + applied_[k];
    laid.sweep.solve(robot, unforced);
    for (int j = 0; j < forces; ++j) mobility(robot, laid, pushed_[j], tips_[pushed_[j]], pushed + j * nv_);
    solved_.resize(held * nv_);
    for (int i = 0; i < held; ++i) mobility(robot, laid, held_[i], tips_[held_[i]], &solved_[i * nv_]);
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

bool Expansion::make(const Origin& origin, const References& references, const Expanding& rules, double duration,
                     double accuracy) {
    if (origin.robot.loops.size()) return false;  // their rows have numbers everywhere
    lay_out(origin.robot, origin.mode);
    if (free_ > rules.turns) return false;
    const double* v = origin.x + origin.robot.nq;
    t0_ = origin.t, duration_ = duration, last_ = origin.t + rules.longer * duration, accuracy_ = accuracy;
    v_.assign(v, v + nv_), acceleration_.assign(origin.acceleration, origin.acceleration + nv_);
    parts_.clear(3 + free_, at_.all);
    double *here = parts_.rows()[0], *half = parts_.rows()[1], *end = parts_.rows()[2];
    const std::vector<double> still(nv_, 0.0);
    if (!look_here(origin, rules, here) || !look(origin, rules, 0.5, still.data(), half) ||
        !look(origin, rules, 1.0, still.data(), end)) {
        return false;
    }
    for (int k = 0; k < at_.all; ++k) {
        const double middle = half[k];
        half[k] = 4.0 * middle - 3.0 * here[k] - end[k];
        end[k] = 2.0 * (here[k] + end[k]) - 4.0 * middle;
    }
    std::vector<double> turned, lines, probe(still);
    leaving_.clear();
    for (const int j : turning_) {
        const double* row = here + at_.rows + pushed_[j] * nv_;
        leaving_.insert(leaving_.end(), row, row + nv_);
        const double change = product(row, acceleration_.data(), nv_) + here[at_.drift + pushed_[j]];
        turned.push_back(duration * std::abs(change));
    }
    const double most = *std::max_element(turned.begin(), turned.end());
    if (!(most > 0.0) || !ways(here, lines)) return false;
    for (int j = 0; j < free_; ++j) {
        const double size = std::max(turned[j], rules.least_turn * most);
        double *way = &lines[j * nv_], *line = parts_.rows()[3 + j];
        for (int k = 0; k < nv_; ++k) way[k] *= size, probe[k] += rules.probe_turn * way[k];
        if (!look(origin, rules, 0.0, way, line)) return false;
        for (int k = 0; k < at_.all; ++k) line[k] = (line[k] - here[k]) / size;
    }
    const double t = place(origin, rules, rules.probe_time, probe.data());
    const double* there = x_.data() + origin.robot.nq;
    std::vector<double> truth(nv_);
    Forces told;
    drive(origin, t);
    return native::accelerate(origin.robot, origin.mode, references, x_.data(), there, applied_.data(), scratch_,
                              truth.data(), &told) &&
           !is_off(references, t, there, truth.data(), told.rates);
}

void Expansion::weigh(double t, const double* v) {
    const double since = t - t0_, s = since / duration_;
    weights_ = {1.0, s, s * s};
    for (int j = 0; j < free_; ++j) {
        const double* row = &leaving_[j * nv_];
        double left = 0.0;
        for (int k = 0; k < nv_; ++k) left += row[k] * (v[k] - v_[k] - since * acceleration_[k]);
        weights_.push_back(left);
    }
}

void Expansion::blend(double t, const double* v, int count) {
    weigh(t, v);
    now_.clear(1, count);
    add_product(now_.rows(), 1.0, {weights_.data(), 3 + free_}, parts_.rows(), 1, 3 + free_, now_.stride);
}

bool Expansion::solve(const References& references, const double* v, double* acceleration, double& determinant) {
    const double* numbers = now_.rows()[0];
    const int forces = 3 * slips_;
    slip_.resize(slips_), matrix_.resize(slips_ * slips_), normal_.resize(slips_), force_.resize(forces);
    for (int i = 0; i < slips_; ++i) {
        const double* tangents = numbers + at_.tangents + 2 * i * nv_;
        const double rates[3] = {0.0, product(tangents, v, nv_), product(tangents + nv_, v, nv_)};
        const int contact = slipping_[i];
        slip_[i] = slip_direction(mode_->closed[contact].state, references.direction + 2 * contact, references.straight,
                                  rates);
        normal_[i] = -numbers[at_.bias + i];
    }
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

bool Expansion::accelerate(const References& references, double t, const double* v, double* acceleration) {
    double determinant;
    blend(t, v, at_.motion);
    return solve(references, v, acceleration, determinant);
}

bool Expansion::tell(const References& references, double t, const double* v, double* acceleration, Forces& told,
                     std::vector<double>& change, double& regularity) {
    double rubbing, smooth;
    blend(t, v, at_.all);
    if (!solve(references, v, acceleration, rubbing)) return false;
    const double* numbers = now_.rows()[0];
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

void Expansion::slip_rates(int contact, double t, const double* v, double* rates) {
    weigh(t, v);
    const int first = mode_->first[contact], rows = rows_of(*mode_, mode_->closed[contact]);
    std::vector<double> row(nv_);
    for (int i = 0; i < rows; ++i) {
        std::fill(row.begin(), row.end(), 0.0);
        for (int p = 0; p < 3 + free_; ++p) {
            add_scaled(row.data(), weights_[p], parts_.rows()[p] + at_.rows + (first + i) * nv_, nv_);
        }
        rates[i] = product(row.data(), v, nv_);
    }
}

bool Expansion::is_off(const References& references, double t, const double* v, const double* acceleration,
                       const std::vector<double>& rates) {
    double regularity;
    found_.resize(nv_);
    if (!tell(references, t, v, found_.data(), told_, change_, regularity)) return true;
    const double missed = duration_ * apart(found_.data(), acceleration, nv_);
    return !(missed <= accuracy_ && apart(told_.rates.data(), rates.data(), rows_) <= accuracy_);
}

}  // namespace native
