#include "survey.hpp"

#include <algorithm>
#include <cmath>

#include "cruise.hpp"

namespace native {

namespace {

// A step of a record.
struct Recorded {
    const double *times, *base, *end, *y, *parts;

    Recorded(const double* row, int size, int n)
        : times(row), base(row + 4), end(base + 2 * size), y(end + size), parts(y + n) {}

    double time(double share) const { return times[0] + share * (times[1] - times[0]); }
};

class Surveyor {
  public:
    Surveyor(const Surveyed& of, std::vector<double>& directions, Survey& found)
        : of_(of),
          robot_(of.robot),
          nv_(of.robot.nv),
          memory_(of.drive.memory),
          n_(2 * nv_ + memory_),
          size_(robot_.nq + nv_ + memory_),
          directions_(directions),
          found_(found),
          x_(size_),
          along_(n_),
          applied_(nv_),
          rates_(memory_),
          acceleration_(nv_),
          pushed_(nv_) {}

    bool look_at(const Recorded& step, const Places& places) {
        const double length = step.times[1] - step.times[0];
        const std::size_t last = places.shares.size() - 1;
        for (std::size_t k = 0; k <= last; ++k) {
            if (k < last) {
                state_at(step, step.time(places.shares[k]));
            } else {
                std::copy(step.end, step.end + size_, x_.begin());
            }
            const double t = k < last ? step.time(places.shares[k]) : step.times[1];
            if (!look(t, length * places.weights[k])) return false;
        }
        return true;
    }

  private:
    const Surveyed& of_;
    const Robot& robot_;
    const int nv_, memory_, n_, size_;
    std::vector<double>& directions_;
    Survey& found_;
    std::vector<double> x_, along_, applied_, rates_, acceleration_, pushed_;
    Scratch scratch_;
    Forces told_;
    Known known_;

    void state_at(const Recorded& step, double t) {
        const double s = (t - step.times[0]) / (step.times[3] - step.times[0]);
        const auto powers = Dop853::powers(s);
        std::copy(step.y, step.y + n_, along_.begin());
        for (int p = 0; p < Dop853::PARTS; ++p) add_scaled(along_.data(), powers[p], step.parts + p * n_, n_);
        integrate_state(robot_, size_, step.base, along_.data(), x_.data());
    }

    bool look(double t, double weight) {
        const double *q = x_.data(), *v = q + robot_.nq;
        std::fill(applied_.begin(), applied_.end(), 0.0);
        of_.drive.at(robot_, t, q, applied_.data(), rates_.data(), known_);
        scratch_.sweep.ground = of_.mode.terrain.at(t);
        const References references{directions_.data(), 0.0};
        if (!accelerate(robot_, of_.mode, references, q, v, applied_.data(), scratch_, acceleration_.data(), &told_)) {
            return false;
        }
        go_on();
        found_.forces.insert(found_.forces.end(), told_.forces.begin(), told_.forces.end());
        found_.rates.insert(found_.rates.end(), told_.rates.begin(), told_.rates.end());
        integrate_over(weight, v);
        found_.depth = std::max(found_.depth, depth(q));
        if (of_.placed) place();
        return true;
    }

    // Past a zero a slip goes on along the direction that it had.
    void go_on() {
        for (std::size_t i = 0; i < of_.mode.closed.size(); ++i) {
            if (!slips_freely(of_.mode.closed[i])) continue;
            const double* z = &told_.rates[of_.mode.first[i] + 1];
            const double speed = std::hypot(z[0], z[1]);
            if (speed > 0.0) directions_[2 * i] = z[0] / speed, directions_[2 * i + 1] = z[1] / speed;
        }
    }

    void integrate_over(double weight, const double* v) {
        const Sweep& sweep = scratch_.sweep;
        double power = 0.0, fastest = 0.0;
        for (int k = 0; k < nv_; ++k) {
            found_.force = std::max(found_.force, std::abs(sweep.free[k]));
            found_.speed = std::max(found_.speed, std::abs(v[k]));
            power += (applied_[k] - robot_.damping[k] * v[k]) * v[k];
            acceleration_[k] = sweep.free[k] + applied_[k];
        }
        sweep.solve(robot_, acceleration_.data());
        for (const double a : acceleration_) fastest = std::max(fastest, std::abs(a));
        std::fill(pushed_.begin(), pushed_.end(), 0.0);
        for (int r = 0; r < of_.mode.rows; ++r) {
            add_scaled(pushed_.data(), told_.forces[r], &scratch_.row[r * nv_], nv_);
        }
        power += product(pushed_.data(), v, nv_);
        sweep.solve(robot_, pushed_.data());
        found_.by_forces.resize(nv_);
        for (int k = 0; k < nv_; ++k) found_.by_forces[k] += weight * (acceleration_[k] + pushed_[k]);
        found_.without_contacts += weight * fastest;
        found_.work += weight * power, found_.moved += weight * std::abs(power);
    }

    double depth(const double* q) const {
        double deepest = 0.0;
        const Sweep& sweep = scratch_.sweep;
        for (const Closed& closed : of_.mode.closed) {
            deepest = std::max(deepest, std::abs(gap_of(of_.mode, closed.contact, sweep, q)));
        }
        for (const int i : low_gaps(of_.mode, of_.gaps.contacts, of_.gaps.couples, 0.0, sweep, q)) {
            if (of_.watched[i]) deepest = std::max(deepest, -gap_of(of_.mode, of_.gaps.contacts[i], sweep, q));
        }
        return deepest;
    }

    void place() {
        const Sweep& sweep = scratch_.sweep;
        const auto put = [&](const Vec3& a) {
            for (const double number : {a.x, a.y, a.z}) found_.joints.push_back(number);
        };
        for (std::size_t j = 0; j < robot_.joints.size(); ++j) {
            const Mat3& turn = sweep.turn[j];
            put(turn.c0), put(turn.c1), put(turn.c2);
            put(sweep.origin + sweep.place[j]);
        }
    }
};

}  // namespace

bool survey(const Surveyed& of, const Places& places, const double* record, int steps, int width,
            std::vector<double>& directions, Survey& found) {
    const int size = of.robot.nq + of.robot.nv + of.drive.memory, n = 2 * of.robot.nv + of.drive.memory;
    Surveyor surveyor(of, directions, found);
    for (int k = 0; k < steps; ++k) {
        if (!surveyor.look_at(Recorded(record + k * width, size, n), places)) return false;
    }
    return true;
}

}  // namespace native
