#include "dense.hpp"

#include <algorithm>
#include <cmath>

// One version for each width of registers; the first that the processor has is taken. No product is fused with a sum.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define HAS_WIDTHS 1
#define EVERY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HAS_WIDTHS 0
#define EVERY_WIDTH
#endif
// Within such a version, of its width.
#define WITHIN inline __attribute__((always_inline))

// A function of which there are versions `name_by<numbers of a register>`, where loops alone do not tell the compiler.
#if HAS_WIDTHS
#define OF_EVERY_WIDTH(result, name, parameters, arguments)                                                     \
    __attribute__((target("avx512f"))) static result name##_of_eight parameters { return name##_by<8> arguments; } \
    __attribute__((target("avx2"))) static result name##_of_four parameters { return name##_by<4> arguments; }     \
    result name parameters {                                                                                    \
        if (REGISTER == 8) return name##_of_eight arguments;                                                    \
        if (REGISTER == 4) return name##_of_four arguments;                                                     \
        return name##_by<LANES> arguments;                                                                      \
    }
#else
#define OF_EVERY_WIDTH(result, name, parameters, arguments) \
    result name parameters { return name##_by<LANES> arguments; }
#endif

namespace native {

namespace {

constexpr int TILE = 6;   // rows of a product that are summed together
constexpr int BLOCK = 8;  // columns that are eliminated together
static_assert(BLOCK == LANES);

#if HAS_WIDTHS
const int REGISTER = [] {  // numbers of the processor's widest register, as far as there is a version for it
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? 8 : __builtin_cpu_supports("avx2") ? 4 : 0;
}();
#endif

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

// Numbers that are taken at once, or in parts by processors with narrower registers.
template <int WIDTH>
struct Taken {
    typedef double Together __attribute__((vector_size(WIDTH * sizeof(double)), aligned(8), may_alias));
};
template <int WIDTH>
using Together = typename Taken<WIDTH>::Together;

template <int WIDTH>
WITHIN Together<WIDTH>& together(double* first) {
    return *reinterpret_cast<Together<WIDTH>*>(first);
}
template <int WIDTH>
WITHIN const Together<WIDTH>& together(const double* first) {
    return *reinterpret_cast<const Together<WIDTH>*>(first);
}

template <int WIDTH>
WITHIN double largest_by(const double* __restrict a, int count) {
    Together<WIDTH> found = {}, wrong = {};
    for (int first = 0; first < count; first += WIDTH) {
        const Together<WIDTH> own = together<WIDTH>(a + first), size = own < 0.0 ? -own : own;
        found = size > found ? size : found;
        wrong += size - size;  // NaN where it is not finite
    }
    double largest = 0.0, not_finite = 0.0;
    for (int l = 0; l < WIDTH; ++l) {
        largest = found[l] > largest ? found[l] : largest;
        not_finite += wrong[l];
    }
    return largest + not_finite;
}

template <int WIDTH>
WITHIN void largest_of_rows_by(double* __restrict found, ConstRows a, int rows, int columns) {
    for (int r = 0; r < rows; ++r) found[r] = largest_by<WIDTH>(a[r], columns);
}

// In lanes, so that the sum is one whatever the width.
template <int WIDTH>
WITHIN void weigh_rows_by(double* __restrict found, ConstRows a, const double* weights, int rows, int columns) {
    for (int r = 0; r < rows; ++r) {
        Together<WIDTH> sum[LANES / WIDTH] = {};
        for (int first = 0; first < columns; first += LANES) {
            for (int p = 0; p < LANES / WIDTH; ++p) {
                const int at = first + p * WIDTH;
                const Together<WIDTH> own = together<WIDTH>(a[r] + at), size = own < 0.0 ? -own : own;
                sum[p] += size * together<WIDTH>(weights + at);
            }
        }
        found[r] = 0.0;
        for (int l = 0; l < LANES; ++l) found[r] += sum[l / WIDTH][l % WIDTH];
    }
}

// C = start + factor A B, for one register of columns and so many rows; with places, A has numbers in these columns
// alone.
template <int WIDTH, bool CHOSEN = false>
WITHIN void set_tile(Rows c, ConstRows start, double factor, ConstRows a, ConstRows b, const int rows, const int inner,
                     const int* places = nullptr) {
    Together<WIDTH> sum[TILE] = {};
    for (int i = 0; i < inner; ++i) {
        const int k = CHOSEN ? places[i] : i;
        const Together<WIDTH> row = together<WIDTH>(b[k]);
        for (int r = 0; r < rows; ++r) sum[r] += a[r][k] * row;
    }
    for (int r = 0; r < rows; ++r) together<WIDTH>(c[r]) = together<WIDTH>(start[r]) + factor * sum[r];
}

template <int WIDTH>
WITHIN void set_tiles(Rows c, ConstRows start, double factor, ConstRows a, ConstRows b, int rows, const int inner,
                      int columns) {
    for (int first = 0; first < columns; first += WIDTH) {
        const ConstRows own = b.from(0, first), from = start.from(0, first);
        const Rows to = c.from(0, first);
        int i = 0;
        for (; i + TILE <= rows; i += TILE) {
            set_tile<WIDTH>(to.from(i), from.from(i), factor, a.from(i), own, TILE, inner);
        }
        for (; i + 2 <= rows; i += 2) set_tile<WIDTH>(to.from(i), from.from(i), factor, a.from(i), own, 2, inner);
        if (i < rows) set_tile<WIDTH>(to.from(i), from.from(i), factor, a.from(i), own, 1, inner);
    }
}

// The same for one row, several tiles of which are summed together.
template <int WIDTH>
WITHIN void set_row(double* c, const double* start, double factor, const double* a, ConstRows b, const int inner,
                    int columns) {
    constexpr int TILES = 4, WIDE = TILES * WIDTH;
    int first = 0;
    for (; first + WIDE <= columns; first += WIDE) {
        Together<WIDTH> sum[TILES] = {};
        for (int k = 0; k < inner; ++k) {
            const double* row = b[k] + first;
            for (int w = 0; w < TILES; ++w) sum[w] += a[k] * together<WIDTH>(row + w * WIDTH);
        }
        for (int w = 0; w < TILES; ++w) {
            const int at = first + w * WIDTH;
            together<WIDTH>(c + at) = together<WIDTH>(start + at) + factor * sum[w];
        }
    }
    for (; first < columns; first += WIDTH) {
        Together<WIDTH> sum = {};
        for (int k = 0; k < inner; ++k) sum += a[k] * together<WIDTH>(b[k] + first);
        together<WIDTH>(c + first) = together<WIDTH>(start + first) + factor * sum;
    }
}

template <int WIDTH>
WITHIN void set_product_by(Rows c, ConstRows start, double factor, ConstRows a, ConstRows b, int rows, int inner,
                           int columns) {
    if (rows == 1) {
        set_row<WIDTH>(c[0], start[0], factor, a[0], b, inner, columns);
    } else if (inner == BLOCK) {
        set_tiles<WIDTH>(c, start, factor, a, b, rows, BLOCK, columns);
    } else {
        set_tiles<WIDTH>(c, start, factor, a, b, rows, inner, columns);
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

template <int WIDTH>
WITHIN void add_sparse_product_by(Rows c, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns,
                                  std::vector<int>& room) {
    room.resize(inner + 1);
    for (int i = 0; i < rows; i += TILE) {
        const int count = std::min(TILE, rows - i), filled = filled_columns(a.from(i), count, inner, room.data());
        for (int first = 0; first < columns; first += WIDTH) {
            const Rows own = c.from(i, first);
            const ConstRows across = b.from(0, first);
            if (count == TILE) {
                set_tile<WIDTH, true>(own, own, factor, a.from(i), across, TILE, filled, room.data());
            } else {
                set_tile<WIDTH, true>(own, own, factor, a.from(i), across, count, filled, room.data());
            }
        }
    }
}

// b -= factor a.
template <int WIDTH>
WITHIN void subtract_row(double* b, double factor, const double* a, int columns) {
    for (int first = 0; first < columns; first += WIDTH) {
        together<WIDTH>(b + first) -= factor * together<WIDTH>(a + first);
    }
}

template <int WIDTH>
WITHIN void solve_inwards_by(const double* factors, const Branches& branches, Rows b, int columns) {
    for (int k = branches.size() - 1; k >= 0; --k) {
        const double* row = factors + branches.first[k];
        const int* at = branches.of(k);
        for (int i = branches.inwards(k) - 1; i >= 0; --i) subtract_row<WIDTH>(b[at[i]], row[i], b[k], columns);
    }
}

template <int WIDTH>
WITHIN void solve_outwards_by(const double* factors, const Branches& branches, Rows b, int columns) {
    for (int k = 0; k < branches.size(); ++k) {
        const double *row = factors + branches.first[k], share = 1.0 / factors[branches.diagonal(k)];
        const int* at = branches.of(k);
        for (int first = 0; first < columns; first += WIDTH) together<WIDTH>(b[k] + first) *= share;
        for (int i = branches.inwards(k) - 1; i >= 0; --i) subtract_row<WIDTH>(b[k], row[i], b[at[i]], columns);
    }
}

// L and U of BLOCK columns of A from `first` on, rows of A and B being exchanged; false where a pivot is zero. Columns
// behind the last one are padding, whose numbers mean nothing.
template <int WIDTH>
WITHIN bool eliminate(Rows a, Rows b, int first, int size, int columns) {
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
        double behind[BLOCK];
        for (int j = 0; j < BLOCK; ++j) behind[j] = first + j > k ? a[k][first + j] : 0.0;
        for (int i = k + 1; i < size; ++i) {
            const double share = a[i][k] * reciprocal;
            subtract_row<WIDTH>(a[i] + first, share, behind, BLOCK);
            a[i][k] = share;
        }
    }
    return true;
}

// X = L^-1 X, L with ones on its diagonal; X (count, columns), count at most BLOCK.
template <int WIDTH>
WITHIN void solve_below(Rows l, Rows x, const int count, int columns) {
    for (int first = 0; first < columns; first += WIDTH) {
        Together<WIDTH> row[BLOCK];
        for (int i = 0; i < count; ++i) {
            row[i] = together<WIDTH>(x[i] + first);
            for (int k = 0; k < i; ++k) row[i] -= l[i][k] * row[k];
            together<WIDTH>(x[i] + first) = row[i];
        }
    }
}

// X = U^-1 X, likewise.
template <int WIDTH>
WITHIN void solve_above(Rows u, Rows x, const int count, int columns) {
    double reciprocal[BLOCK];
    for (int i = 0; i < count; ++i) reciprocal[i] = 1.0 / u[i][i];
    for (int first = 0; first < columns; first += WIDTH) {
        Together<WIDTH> row[BLOCK];
        for (int i = count - 1; i >= 0; --i) {
            row[i] = together<WIDTH>(x[i] + first);
            for (int k = count - 1; k > i; --k) row[i] -= u[i][k] * row[k];
            together<WIDTH>(x[i] + first) = row[i] *= reciprocal[i];
        }
    }
}

template <int WIDTH>
WITHIN void solve_lower(Rows l, Rows x, int count, int columns) {
    if (count == BLOCK) {
        solve_below<WIDTH>(l, x, BLOCK, columns);
    } else {
        solve_below<WIDTH>(l, x, count, columns);
    }
}

template <int WIDTH>
WITHIN void solve_upper(Rows u, Rows x, int count, int columns) {
    if (count == BLOCK) {
        solve_above<WIDTH>(u, x, BLOCK, columns);
    } else {
        solve_above<WIDTH>(u, x, count, columns);
    }
}

template <int WIDTH>
WITHIN bool solve_dense_by(Rows a, Rows b, int size, int columns) {
    for (int first = 0; first < size; first += BLOCK) {
        const int end = std::min(first + BLOCK, size), count = end - first, rest = size - end;
        if (!eliminate<WIDTH>(a, b, first, size, columns)) return false;
        const Rows factors = a.from(first, first), below = a.from(end, first);
        solve_lower<WIDTH>(factors, b.from(first), count, columns);
        if (rest > 0) {  // up to the end of the padding
            const Rows beside = a.from(first, end);
            solve_lower<WIDTH>(factors, beside, count, padded(rest));
            const Rows left = a.from(end, end), left_of_b = b.from(end);
            set_product_by<WIDTH>(left, left, -1.0, below, beside, rest, count, padded(rest));
            set_product_by<WIDTH>(left_of_b, left_of_b, -1.0, below, b.from(first), rest, count, columns);
        }
    }
    for (int first = (size - 1) / BLOCK * BLOCK; first >= 0; first -= BLOCK) {
        const int count = std::min(BLOCK, size - first);
        solve_upper<WIDTH>(a.from(first, first), b.from(first), count, columns);
        if (first > 0) set_product_by<WIDTH>(b, b, -1.0, a.from(0, first), b.from(first), first, count, columns);
    }
    return true;
}

}  // namespace

OF_EVERY_WIDTH(double, largest, (const double* a, int count), (a, count))

OF_EVERY_WIDTH(void, largest_of_rows, (double* found, ConstRows a, int rows, int columns), (found, a, rows, columns))

OF_EVERY_WIDTH(void, weigh_rows, (double* found, ConstRows a, const double* weights, int rows, int columns),
               (found, a, weights, rows, columns))

OF_EVERY_WIDTH(void, set_product,
               (Rows c, ConstRows start, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns),
               (c, start, factor, a, b, rows, inner, columns))

void add_product(Rows c, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns) {
    set_product(c, c, factor, a, b, rows, inner, columns);
}

OF_EVERY_WIDTH(void, add_sparse_product,
               (Rows c, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns,
                std::vector<int>& room),
               (c, factor, a, b, rows, inner, columns, room))

OF_EVERY_WIDTH(void, solve_inwards, (const double* factors, const Branches& branches, Rows b, int columns),
               (factors, branches, b, columns))

OF_EVERY_WIDTH(void, solve_outwards, (const double* factors, const Branches& branches, Rows b, int columns),
               (factors, branches, b, columns))

OF_EVERY_WIDTH(bool, solve_dense, (Rows a, Rows b, int size, int columns), (a, b, size, columns))

void Branches::add(int ancestor) {
    for (int i = 0; ancestor >= 0 && i <= inwards(ancestor); ++i) column.push_back(of(ancestor)[i]);
    column.push_back(size());
    first.push_back(static_cast<int>(column.size()));
}

}  // namespace native
