#include "dense.hpp"

#include <algorithm>
#include <cmath>

// One version for each width of registers; the first that the processor has is taken. No product is fused with a sum.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define EVERY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EVERY_WIDTH
#endif
// Within such a version, of its width.
#define WITHIN inline __attribute__((always_inline))

namespace native {

namespace {

constexpr int TILE = 6;   // rows of a product that are summed together
constexpr int BLOCK = 8;  // columns that are eliminated together

}  // namespace

EVERY_WIDTH void add_scaled(double* __restrict to, double factor, const double* __restrict from, int count) {
    for (int k = 0; k < count; ++k) to[k] += factor * from[k];
}

EVERY_WIDTH void set_difference(double* __restrict to, const double* __restrict a, const double* __restrict b,
                                int count) {
    for (int k = 0; k < count; ++k) to[k] = a[k] - b[k];
}

EVERY_WIDTH void set_sum(double* __restrict to, const double* __restrict start, double h,
                         const double* __restrict weights, const double* __restrict a, int terms, int count) {
    for (int k = 0; k < count; ++k) to[k] = 0.0;
    for (int j = 0; j < terms; ++j) {
        const double weight = weights[j];
        if (weight == 0.0) continue;
        for (int k = 0; k < count; ++k) to[k] += weight * a[j * count + k];
    }
    for (int k = 0; k < count; ++k) to[k] = start[k] + h * to[k];
}

EVERY_WIDTH void set_repeated(Rows c, const double* weights, int times, ConstRows a, int rows, int columns) {
    for (int r = 0; r < rows; ++r) {
        const double* __restrict from = a[r];
        for (int l = 0; l < times; ++l) {
            double* __restrict to = c[r] + l * columns;
            for (int k = 0; k < columns; ++k) to[k] = weights[l] * from[k];
        }
    }
}

namespace {

// Eight numbers that are taken at once, or in parts by processors with narrower registers.
typedef double Eight __attribute__((vector_size(64), aligned(8), may_alias));
static_assert(sizeof(Eight) == LANES * sizeof(double) && BLOCK == LANES);

WITHIN Eight& eight(double* first) {
    return *reinterpret_cast<Eight*>(first);
}
WITHIN const Eight& eight(const double* first) {
    return *reinterpret_cast<const Eight*>(first);
}

// `largest`, in a version of its width.
WITHIN double largest_of(const double* __restrict a, int count) {
    Eight found = {}, wrong = {};
    for (int first = 0; first < count; first += LANES) {
        const Eight own = eight(a + first), size = own < 0.0 ? -own : own;
        found = size > found ? size : found;
        wrong += size - size;  // NaN where it is not finite
    }
    double largest = 0.0, not_finite = 0.0;
    for (int l = 0; l < LANES; ++l) {
        largest = found[l] > largest ? found[l] : largest;
        not_finite += wrong[l];
    }
    return largest + not_finite;
}

}  // namespace

EVERY_WIDTH void largest_of_rows(double* __restrict found, ConstRows a, int rows, int columns) {
    for (int r = 0; r < rows; ++r) found[r] = largest_of(a[r], columns);
}

EVERY_WIDTH void weigh_rows(double* __restrict found, ConstRows a, const double* weights, int rows, int columns) {
    for (int r = 0; r < rows; ++r) {
        Eight sum = {};
        for (int first = 0; first < columns; first += LANES) {
            const Eight own = eight(a[r] + first), size = own < 0.0 ? -own : own;
            sum += size * eight(weights + first);
        }
        found[r] = 0.0;
        for (int l = 0; l < LANES; ++l) found[r] += sum[l];
    }
}

EVERY_WIDTH double largest(const double* a, int count) {
    return largest_of(a, count);
}

namespace {

// C = start + factor A B, for LANES columns and so many rows; with places, A has numbers in these columns alone.
template <bool CHOSEN>
WITHIN void set_tile(Rows c, ConstRows start, double factor, ConstRows a, ConstRows b, const int rows, const int inner,
                     const int* places) {
    Eight sum[TILE] = {};
    for (int i = 0; i < inner; ++i) {
        const int k = CHOSEN ? places[i] : i;
        const Eight row = eight(b[k]);
        for (int r = 0; r < rows; ++r) sum[r] += a[r][k] * row;
    }
    for (int r = 0; r < rows; ++r) eight(c[r]) = eight(start[r]) + factor * sum[r];
}

WITHIN void set_tiles(Rows c, ConstRows start, double factor, ConstRows a, ConstRows b, int rows, const int inner,
                      int columns) {
    for (int first = 0; first < columns; first += LANES) {
        const ConstRows own = b.from(0, first), from = start.from(0, first);
        const Rows to = c.from(0, first);
        int i = 0;
        for (; i + TILE <= rows; i += TILE) {
            set_tile<false>(to.from(i), from.from(i), factor, a.from(i), own, TILE, inner, nullptr);
        }
        for (; i + 2 <= rows; i += 2) {
            set_tile<false>(to.from(i), from.from(i), factor, a.from(i), own, 2, inner, nullptr);
        }
        if (i < rows) set_tile<false>(to.from(i), from.from(i), factor, a.from(i), own, 1, inner, nullptr);
    }
}

}  // namespace

namespace {

// The same for one row, several tiles of which are summed together.
WITHIN void set_row(double* c, const double* start, double factor, const double* a, ConstRows b, const int inner,
                    int columns) {
    constexpr int WIDE = 4;
    int first = 0;
    for (; first + WIDE * LANES <= columns; first += WIDE * LANES) {
        Eight sum[WIDE] = {};
        for (int k = 0; k < inner; ++k) {
            const double* row = b[k] + first;
            for (int w = 0; w < WIDE; ++w) sum[w] += a[k] * eight(row + w * LANES);
        }
        for (int w = 0; w < WIDE; ++w) {
            const int at = first + w * LANES;
            eight(c + at) = eight(start + at) + factor * sum[w];
        }
    }
    for (; first < columns; first += LANES) {
        Eight sum = {};
        for (int k = 0; k < inner; ++k) sum += a[k] * eight(b[k] + first);
        eight(c + first) = eight(start + first) + factor * sum;
    }
}

// The columns in which some rows of a matrix have numbers that are not zero; how many.
WITHIN int filled_columns(ConstRows a, int rows, int columns, int* found) {
    int count = 0;
    for (int k = 0; k < columns; ++k) {
        bool any = false;
        for (int r = 0; r < rows; ++r) any = any || a[r][k] != 0.0;
        found[count] = k, count += any;
    }
    return count;
}

}  // namespace

EVERY_WIDTH void set_product(Rows c, ConstRows start, double factor, ConstRows a, ConstRows b, int rows, int inner,
                             int columns) {
    if (rows == 1) {
        set_row(c[0], start[0], factor, a[0], b, inner, columns);
    } else if (inner == BLOCK) {
        set_tiles(c, start, factor, a, b, rows, BLOCK, columns);
    } else {
        set_tiles(c, start, factor, a, b, rows, inner, columns);
    }
}

void add_product(Rows c, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns) {
    set_product(c, c, factor, a, b, rows, inner, columns);
}

EVERY_WIDTH void add_sparse_product(Rows c, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns,
                                    std::vector<int>& room) {
    room.resize(inner + 1);
    for (int i = 0; i < rows; i += TILE) {
        const int count = std::min(TILE, rows - i), filled = filled_columns(a.from(i), count, inner, room.data());
        for (int first = 0; first < columns; first += LANES) {
            const Rows own = c.from(i, first);
            if (count == TILE) {
                set_tile<true>(own, own, factor, a.from(i), b.from(0, first), TILE, filled, room.data());
            } else {
                set_tile<true>(own, own, factor, a.from(i), b.from(0, first), count, filled, room.data());
            }
        }
    }
}

namespace {

// b -= factor a, for LANES numbers at a time.
WITHIN void subtract_row(double* b, double factor, const double* a, int columns) {
    for (int first = 0; first < columns; first += LANES) eight(b + first) -= factor * eight(a + first);
}

}  // namespace

void Branches::add(int ancestor) {
    for (int i = 0; ancestor >= 0 && i <= inwards(ancestor); ++i) column.push_back(of(ancestor)[i]);
    column.push_back(size());
    first.push_back(static_cast<int>(column.size()));
}

EVERY_WIDTH void solve_inwards(const double* factors, const Branches& branches, Rows b, int columns) {
    for (int k = branches.size() - 1; k >= 0; --k) {
        const double* row = factors + branches.first[k];
        const int* at = branches.of(k);
        for (int i = branches.inwards(k) - 1; i >= 0; --i) subtract_row(b[at[i]], row[i], b[k], columns);
    }
}

EVERY_WIDTH void solve_outwards(const double* factors, const Branches& branches, Rows b, int columns) {
    for (int k = 0; k < branches.size(); ++k) {
        const double *row = factors + branches.first[k], share = 1.0 / factors[branches.diagonal(k)];
        const int* at = branches.of(k);
        for (int first = 0; first < columns; first += LANES) eight(b[k] + first) *= share;
        for (int i = branches.inwards(k) - 1; i >= 0; --i) subtract_row(b[k], row[i], b[at[i]], columns);
    }
}

namespace {

// L and U of BLOCK columns of A from `first` on, rows of A and B being exchanged; false where a pivot is zero. Columns
// behind the last one are padding, whose numbers mean nothing.
EVERY_WIDTH bool eliminate(Rows a, Rows b, int first, int size, int columns) {
    for (int k = first; k < std::min(first + BLOCK, size); ++k) {
        int pivot = k;
        for (int i = k + 1; i < size; ++i) {
            if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
        }
        if (!(std::abs(a[pivot][k]) > 0.0)) return false;
        if (pivot != k) {
            std::swap_ranges(a[k], a[k] + size, a[pivot]);
            std::swap_ranges(b[k], b[k] + columns, b[pivot]);
        }
        const double reciprocal = 1.0 / a[k][k];
        Eight behind = eight(a[k] + first);
        for (int j = first; j <= k; ++j) behind[j - first] = 0.0;
        for (int i = k + 1; i < size; ++i) {
            const double share = a[i][k] * reciprocal;
            eight(a[i] + first) -= share * behind;
            a[i][k] = share;
        }
    }
    return true;
}

// X = L^-1 X, L with ones on its diagonal; X (count, columns), count at most BLOCK.
WITHIN void solve_below(Rows l, Rows x, const int count, int columns) {
    for (int first = 0; first < columns; first += LANES) {
        Eight row[BLOCK];
        for (int i = 0; i < count; ++i) {
            row[i] = eight(x[i] + first);
            for (int k = 0; k < i; ++k) row[i] -= l[i][k] * row[k];
            eight(x[i] + first) = row[i];
        }
    }
}

// X = U^-1 X, likewise.
WITHIN void solve_above(Rows u, Rows x, const int count, int columns) {
    double reciprocal[BLOCK];
    for (int i = 0; i < count; ++i) reciprocal[i] = 1.0 / u[i][i];
    for (int first = 0; first < columns; first += LANES) {
        Eight row[BLOCK];
        for (int i = count - 1; i >= 0; --i) {
            row[i] = eight(x[i] + first);
            for (int k = count - 1; k > i; --k) row[i] -= u[i][k] * row[k];
            eight(x[i] + first) = row[i] *= reciprocal[i];
        }
    }
}

EVERY_WIDTH void solve_lower(Rows l, Rows x, int count, int columns) {
    if (count == BLOCK) {
        solve_below(l, x, BLOCK, columns);
    } else {
        solve_below(l, x, count, columns);
    }
}

EVERY_WIDTH void solve_upper(Rows u, Rows x, int count, int columns) {
    if (count == BLOCK) {
        solve_above(u, x, BLOCK, columns);
    } else {
        solve_above(u, x, count, columns);
    }
}

}  // namespace

bool solve_dense(Rows a, Rows b, int size, int columns) {
    for (int first = 0; first < size; first += BLOCK) {
        const int end = std::min(first + BLOCK, size), count = end - first, rest = size - end;
        if (!eliminate(a, b, first, size, columns)) return false;
        const Rows factors = a.from(first, first);
        solve_lower(factors, b.from(first), count, columns);
        if (rest > 0) {  // up to the end of the padding
            solve_lower(factors, a.from(first, end), count, padded(rest));
            add_product(a.from(end, end), -1.0, a.from(end, first), a.from(first, end), rest, count, padded(rest));
            add_product(b.from(end), -1.0, a.from(end, first), b.from(first), rest, count, columns);
        }
    }
    for (int first = (size - 1) / BLOCK * BLOCK; first >= 0; first -= BLOCK) {
        const int count = std::min(BLOCK, size - first);
        solve_upper(a.from(first, first), b.from(first), count, columns);
        if (first > 0) add_product(b, -1.0, a.from(0, first), b.from(first), first, count, columns);
    }
    return true;
}

}  // namespace native
