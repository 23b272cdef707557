// Couples of bodies that may touch, by boxes around what touches of each: contacts of those that are apart are not
// looked at one by one. See contactsim's multibody/geometry/couples.py.
#pragma once

#include <functional>

#include "contact_mode.hpp"

namespace native {

// A box in axes of a joint, or of the world, around what of its bodies touches others.
struct BodyBox {
    int joint = -1;
    Vec3 low, high;
    bool empty = true;

    void hold(const Vec3& point, double radius);
    Vec3 middle() const { return (low + high) * 0.5; }
    Vec3 half() const { return (high - low) * 0.5; }
};

// Two boxes, and the contacts between what is in them.
struct Couple {
    int one, two;
    std::vector<int> contacts;
};

class Couples {
  public:
    Couples() = default;
    explicit Couples(const std::vector<Contact>& contacts);

    // Contacts, in rising order, of bodies that may be no farther apart than that, where joints' places are known, and
    // all that are none between bodies.
    std::vector<int> within(double distance, const Sweep& sweep) const;

    // A lower bound of the distance of bodies with contacts that are asked for, up to a distance; of those that no box
    // holds zero.
    double nearest(double distance, const Sweep& sweep, const std::function<bool(int)>& is_asked) const;

  private:
    std::vector<BodyBox> boxes_;
    std::vector<Couple> couples_;
    std::vector<int> alone_;

    bool are_apart(const BodyBox& one, const BodyBox& two, double distance, const Sweep& sweep) const;
    double separation(const BodyBox& one, const BodyBox& two, const Sweep& sweep) const;  // a bound of their distance
};

// Contacts whose gaps are at most so large, in rising order, those of bodies that are apart left out, where joints'
// places are known. High above hills a gap is any number of its sign.
std::vector<int> low_gaps(const ContactMode& ground, const std::vector<Contact>& contacts, const Couples& couples,
                          double lowest, const Sweep& sweep, const double* q);

// The same, and all whose gaps are no distances, of bodies that may be so near.
std::vector<int> near_ones(const ContactMode& ground, const std::vector<Contact>& contacts, const Couples& couples,
                           double distance, const Sweep& sweep, const double* q);

}  // namespace native
