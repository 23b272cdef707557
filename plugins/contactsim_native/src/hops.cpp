#include "hops.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "minima.hpp"

namespace native {

namespace {

// Contacts that hop at a frozen configuration.
class Hops {
  public:
    Hops(Landing& contacts, const EventRules& rules, const std::vector<double>& v,
         const std::vector<ContactState>& states, bool unique, const Contacts& hopping)
        : contacts_(contacts),
          rules_(rules),
          v_(v),
          states_(states),
          unique_(unique),
          off_(hopping),
          gaps_(hopping.size(), 0.0) {
        known = contacts_.gap_motion(v_, states_, unique_, off_, motion_);
    }

    bool known;  // whether it can be told

    // The largest speed at which a contact leaves the ground or comes back to it.
    double speed() const {
        double largest = 0.0;
        for (std::size_t i = 0; i < off_.size(); ++i) {
            if (!off_[i]) continue;
            const double rate = motion_.rates[i];
            largest = std::max(largest, std::sqrt(std::max(rate * rate - 2.0 * motion_.bends[i] * gaps_[i], 0.0)));
        }
        return largest;
    }

    // Go on to behind the next impact: the time it takes; infinite where no contact comes back.
    double next() {
        const double slowest = rules_.lesser * speed();
        std::vector<double> times(off_.size(), INFINITY);
        for (std::size_t i = 0; i < off_.size(); ++i) {
            if (off_[i]) times[i] = time_to_fall(gaps_[i], motion_.rates[i], motion_.bends[i]);
        }
        const double duration = *std::min_element(times.begin(), times.end());
        if (!std::isfinite(duration)) return duration;
        Contacts landing(off_.size(), false), before(off_.size(), false);
        for (std::size_t i = 0; i < off_.size(); ++i) {
            before[i] = states_[i].closed();
            if (!off_[i]) continue;
            landing[i] = times[i] - duration <= rules_.together * duration;
            gaps_[i] = landing[i] ? 0.0 : gaps_[i] + (motion_.rates[i] + 0.5 * motion_.bends[i] * duration) * duration;
        }
        known = contacts_.stand_still(v_, states_, off_, motion_.acceleration);
        if (!known) return duration;
        for (std::size_t k = 0; k < v_.size(); ++k) v_[k] += duration * motion_.acceleration[k];
        known = contacts_.land(v_, states_, unique_, landing, slowest);
        if (!known) return duration;
        for (std::size_t i = 0; i < off_.size(); ++i) {
            const bool closed = states_[i].closed();
            if (before[i] && !closed) gaps_[i] = 0.0;
            off_[i] = !closed && (off_[i] || before[i]);
        }
        known = contacts_.gap_motion(v_, states_, unique_, off_, motion_);
        return duration;
    }

  private:
    Landing& contacts_;
    const EventRules& rules_;
    std::vector<double> v_;
    std::vector<ContactState> states_;
    bool unique_;
    Contacts off_;  // which are off the ground, and how far
    std::vector<double> gaps_;
    GapMotion motion_;
};

// What is left of a geometric series of hops [s], where they repeat in one ratio below one, each or in a short cycle;
// negative: they do not yet.
double left_of_series(const EventRules& rules, const std::vector<double>& durations,
                      const std::vector<double>& speeds) {
    const int count = static_cast<int>(durations.size());
    for (int cycle = 1; cycle <= std::min(rules.longest_cycle, count / 3); ++cycle) {
        const double* last = durations.data() + count - cycle;
        bool moves = true;
        double low = speeds.back() / speeds[speeds.size() - 1 - cycle], high = low, sum = 0.0;
        for (int k = -2 * cycle; k < 0; ++k) {
            moves = moves && last[k] != 0.0;
            if (!moves) break;
            const double ratio = last[k + cycle] / last[k];
            low = std::min(low, ratio), high = std::max(high, ratio);
        }
        if (!moves) continue;
        if (high >= 1.0 || high - low > rules.alike * (1.0 - high) * (1.0 - high)) continue;
        for (int k = 0; k < cycle; ++k) sum += last[k];
        return sum * high / (1.0 - high);
    }
    return -1.0;
}

// What is left of hops too slow to be followed [s], each shorter in the ratio of the last two speeds: so it does not
// matter whether rounding lets one more of them be followed.
double left_of_slow(const std::vector<double>& durations, const std::vector<double>& speeds) {
    if (durations.empty()) return 0.0;
    const double ratio = speeds.back() / speeds[speeds.size() - 2];
    return 0.0 < ratio && ratio < 1.0 ? durations.back() * ratio / (1.0 - ratio) : 0.0;
}

}  // namespace

Resting time_to_rest(Landing& contacts, const EventRules& rules, std::vector<double> v,
                     std::vector<ContactState> states, bool unique, const Contacts& hopping) {
    Hops follow(contacts, rules, v, states, unique, hopping);
    const Resting unknown, endless{true, false, 0.0};
    if (!follow.known) return unknown;
    std::vector<double> durations, speeds = {follow.speed()};
    const auto sum = [&](int first, int end) {
        return std::accumulate(durations.begin() + first, durations.begin() + end, 0.0);
    };
    while (static_cast<int>(durations.size()) < rules.hops) {
        const int count = static_cast<int>(durations.size());
        if (speeds.back() <= rules.slow * rules.speed)
            return {true, true, sum(0, count) + left_of_slow(durations, speeds)};
        const double duration = follow.next();
        if (!follow.known) return unknown;
        if (!std::isfinite(duration)) return endless;
        durations.push_back(duration), speeds.push_back(follow.speed());
        const double left = left_of_series(rules, durations, speeds);
        if (left >= 0.0) return {true, true, sum(0, count + 1) + left};
        if (count + 1 < rules.stalled) continue;
        const bool stands =
            std::all_of(durations.end() - rules.stalled, durations.end(), [](double d) { return d == 0.0; });
        if (stands) return speeds.back() < speeds.front() ? Resting{true, true, sum(0, count + 1)} : endless;
    }
    const double before = sum(0, rules.hops / 2), after = sum(rules.hops / 2, rules.hops);
    if (speeds.back() >= speeds.front() || after >= before) return endless;
    const double ratio = after / before;
    return {true, true, before + after + after * ratio / (1.0 - ratio)};
}

}  // namespace native
