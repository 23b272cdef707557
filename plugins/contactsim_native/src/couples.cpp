#include "couples.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace native {

namespace {

Vec3 least(const Vec3& a, const Vec3& b) {
    return {std::min(a.x, b.x), std::min(a.y, b.y), std::min(a.z, b.z)};
}

Vec3 most(const Vec3& a, const Vec3& b) {
    return {std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)};
}

double largest(const Vec3& a) {
    return std::max({a.x, a.y, a.z});
}

Vec3 sizes(const Vec3& a) {
    return {std::abs(a.x), std::abs(a.y), std::abs(a.z)};
}

void hold_solid(const Solid& solid, BodyBox& box) {
    if (solid.is_round()) return box.hold(solid.place, solid.radius);
    if (solid.hull) {
        for (const Vec3& vertex : solid.hull->vertices) {
            box.hold(solid.place + solid.turn * vertex, solid.radius);
        }
        return;
    }
    const Vec3& h = *solid.half;
    for (int k = 0; k < 8; ++k) {
        const Vec3 corner{k & 1 ? h.x : -h.x, k & 2 ? h.y : -h.y, k & 4 ? h.z : -h.z};
        box.hold(solid.place + solid.turn * corner, 0.0);
    }
}

// Axes of a joint, and the place of a point in them.
Mat3 turn_of(int joint, const Sweep& sweep) {
    return joint < 0 ? Mat3{} : sweep.turn[joint];
}

Vec3 placed(int joint, const Vec3& point, const Sweep& sweep) {
    return joint < 0 ? point - sweep.origin : sweep.place[joint] + sweep.turn[joint] * point;
}

// Half the width of a box along the axes of a frame.
Vec3 widths(const Mat3& turn, const Vec3& half, const Mat3& frame) {
    const Mat3 own = frame.transposed() * turn;
    return sizes(own.c0) * half.x + sizes(own.c1) * half.y + sizes(own.c2) * half.z;
}

}  // namespace

void BodyBox::hold(const Vec3& point, double radius) {
    const Vec3 around{radius, radius, radius};
    low = empty ? point - around : least(low, point - around);
    high = empty ? point + around : most(high, point + around);
    empty = false;
}

// A body has one box, each solid and each point of the world has its own.
Couples::Couples(const std::vector<Contact>& contacts) {
    std::map<std::pair<int, const Solid*>, int> numbers;
    std::map<std::pair<int, int>, int> known;
    const auto box_of = [&](int joint, const Solid* solid) {
        const bool own = joint < 0 && !solid;
        const std::pair<int, const Solid*> key{joint, joint < 0 ? solid : nullptr};
        const auto found = own ? numbers.end() : numbers.find(key);
        if (found != numbers.end()) return found->second;
        const int number = static_cast<int>(boxes_.size());
        if (!own) numbers[key] = number;
        boxes_.push_back({joint, {}, {}, true});
        return number;
    };
    for (std::size_t i = 0; i < contacts.size(); ++i) {
        const Contact& contact = contacts[i];
        if (!contact.other || (contact.features && std::isinf(contact.features->other_extent))) {
            alone_.push_back(static_cast<int>(i));
            continue;
        }
        const Solid* own = contact.edges ? contact.edges->solid.get() : nullptr;
        const int one = box_of(contact.joint, own), two = box_of(contact.other->joint, contact.other.get());
        if (own) {
            hold_solid(*own, boxes_[one]);
        } else if (contact.features) {
            boxes_[one].hold(contact.centre, contact.features->extent + contact.features->radius);
        } else {
            boxes_[one].hold(contact.centre, contact.radius);
        }
        if (contact.features) {
            boxes_[two].hold(contact.other->place, contact.features->other_extent);
        } else {
            hold_solid(*contact.other, boxes_[two]);
        }
        const auto [place, added] = known.emplace(std::minmax(one, two), static_cast<int>(couples_.size()));
        if (added) couples_.push_back({one, two, {}});
        couples_[place->second].contacts.push_back(static_cast<int>(i));
    }
}

bool Couples::are_apart(const BodyBox& one, const BodyBox& two, double distance, const Sweep& sweep) const {
    const Vec3 half = one.half(), other = two.half();
    const Vec3 way = placed(two.joint, two.middle(), sweep) - placed(one.joint, one.middle(), sweep);
    const double radii = std::sqrt(dot(half, half)) + std::sqrt(dot(other, other));
    if (dot(way, way) > (radii + distance) * (radii + distance)) return true;
    const Mat3 turn = turn_of(one.joint, sweep), turned = turn_of(two.joint, sweep);
    const Vec3 of_one = sizes(turn.transposed() * way) - half - widths(turned, other, turn);
    const Vec3 of_two = sizes(turned.transposed() * way) - other - widths(turn, half, turned);
    return std::max(largest(of_one), largest(of_two)) > distance;
}

double Couples::separation(const BodyBox& one, const BodyBox& two, const Sweep& sweep) const {
    const Vec3 half = one.half(), other = two.half();
    const Vec3 way = placed(two.joint, two.middle(), sweep) - placed(one.joint, one.middle(), sweep);
    const double balls = std::sqrt(dot(way, way)) - std::sqrt(dot(half, half)) - std::sqrt(dot(other, other));
    const Mat3 turn = turn_of(one.joint, sweep), turned = turn_of(two.joint, sweep);
    const Vec3 of_one = sizes(turn.transposed() * way) - half - widths(turned, other, turn);
    const Vec3 of_two = sizes(turned.transposed() * way) - other - widths(turn, half, turned);
    return std::max({balls, largest(of_one), largest(of_two), 0.0});
}

double Couples::nearest(double distance, const Sweep& sweep, const std::function<bool(int)>& is_asked) const {
    double least = distance;
    for (const Couple& couple : couples_) {
        const BodyBox &one = boxes_[couple.one], &two = boxes_[couple.two];
        if (are_apart(one, two, distance, sweep)) continue;
        if (std::none_of(couple.contacts.begin(), couple.contacts.end(), is_asked)) continue;
        least = std::min(least, separation(one, two, sweep));
    }
    return std::any_of(alone_.begin(), alone_.end(), is_asked) ? 0.0 : least;
}

std::vector<int> Couples::within(double distance, const Sweep& sweep) const {
    std::vector<int> found = alone_;
    for (const Couple& couple : couples_) {
        if (are_apart(boxes_[couple.one], boxes_[couple.two], distance, sweep)) continue;
        found.insert(found.end(), couple.contacts.begin(), couple.contacts.end());
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<int> low_gaps(const ContactMode& ground, const std::vector<Contact>& contacts, const Couples& couples,
                          double lowest, const Sweep& sweep, const double* q) {
    std::vector<int> found = couples.within(lowest, sweep);
    const auto is_high = [&](int i) { return gap_of(ground, contacts[i], sweep, q) > lowest; };
    found.erase(std::remove_if(found.begin(), found.end(), is_high), found.end());
    return found;
}

std::vector<int> near_ones(const ContactMode& ground, const std::vector<Contact>& contacts, const Couples& couples,
                           double distance, const Sweep& sweep, const double* q) {
    std::vector<int> found = couples.within(distance, sweep);
    const auto is_far = [&](int i) {
        return contacts[i].is_measured() && gap_of(ground, contacts[i], sweep, q) > distance;
    };
    found.erase(std::remove_if(found.begin(), found.end(), is_far), found.end());
    return found;
}

}  // namespace native
