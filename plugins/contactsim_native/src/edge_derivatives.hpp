// How the place at which edges touch, and its normal, change with the motion of their bodies.
#pragma once

#include "pair_derivatives.hpp"

namespace native {

std::unique_ptr<Follower> follower_of_edges(const Contact& contact, const Spatial& own, const Spatial& other,
                                            const Sweep& sweep);

}  // namespace native
