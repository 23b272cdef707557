// Contact modes whose forces may be many: which of them act, island by island. As contactsim's GivenModes, held.
#pragma once

#include "contact_mode.hpp"
#include "dense.hpp"

namespace native {

// The smallest forces along the held rows that keep to their cones where contacts slip, from `matrix` and the rates
// that they have to stop in `unknown`, in place; false where it is not clear which they are.
bool solve_redundant(const Robot& robot, const ContactMode& mode, Scratch& scratch);

// The same of the islands that are stale, where directions have turned since the others were solved.
bool solve_stale_islands(const Robot& robot, const ContactMode& mode, Scratch& scratch);

// The contact of each held row.
std::vector<int> owners(const ContactMode& mode);

// The smallest forces of rows that may depend on each other, in place of what they have to stop, from `matrix`; false
// where it is not clear whether they do. `owner`: contact of each row.
bool smallest_forces(const Ranks& ranks, const std::vector<int>& owner, Scratch& scratch);

// Whether a held row is one of an island in which others act than the smallest forces, since motions differ by them.
bool is_chosen(const Scratch& scratch, int row);

// The forces of a redundant mode right after its acceleration: where the motion leaves them a choice, those farthest
// inside their cones; and their least margin, or the largest that others have where it is as good as none. False where
// that is not told.
bool tell_redundant(const Robot& robot, const ContactMode& mode, Scratch& scratch, Forces& told);

// How the forces along the held rows change of a redundant mode, right after its acceleration, in place of what they
// have to stop (rows, columns): the smallest such changes. All others push alike. False where they do not, where that
// is not clear, and where contacts slip under other forces than the smallest ones, of which those beside are not.
bool solve_changes(const Robot& robot, const ContactMode& mode, const Scratch& scratch, Rows unknown, int columns);

}  // namespace native
