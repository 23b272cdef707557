#include "dense.hpp"

#include <algorithm>
#include <cmath>

// One version for each width of registers; the first that the processor has is taken. No product is fused with a sum.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define EVERY_WIDTH __attribute__((target_clones("avx2", "default")))
#else
#define EVERY_WIDTH
#endif

namespace native {

namespace {

constexpr int TILE = 4;   // rows of a product that are summed together
constexpr int BLOCK = 8;  // columns that are eliminated together

}  // namespace

EVERY_WIDTH void add_scaled(double* __restrict to, double factor, const double* __restrict from, int count) {
    for (int k = 0; k < count; ++k) to[k] += factor * from[k];
}

EVERY_WIDTH void add_difference(double* __restrict to, double factor, const double* __restrict a,
                                const double* __restrict b, int count) {
    for (int k = 0; k < count; ++k) to[k] += factor * (a[k] - b[k]);
}

EVERY_WIDTH double largest(const double* a, int count) {
    double found[LANES] = {}, wrong[LANES] = {};
    for (int first = 0; first < count; first += LANES) {
        for (int l = 0; l < LANES; ++l) {
            const double size = std::abs(a[first + l]);
            found[l] = size > found[l] ? size : found[l];
            wrong[l] += size - size;  // NaN where it is not finite
        }
    }
    double largest = 0.0;
    for (int l = 0; l < LANES; ++l) largest = std::max(largest, found[l] + wrong[l]);
    for (int l = 0; l < LANES; ++l) {
        if (std::isnan(wrong[l])) largest = wrong[l];
    }
    return largest;
}

namespace {

// Four numbers that are taken at once, or in parts by processors with narrower registers.
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

}  // namespace

EVERY_WIDTH void add_product(Rows c, double factor, Rows a, Rows b, int rows, int inner, int columns) {
    for (int first = 0; first < columns; first += LANES) {
        int i = 0;
        for (; i + TILE <= rows; i += TILE) {
            Four low[TILE] = {}, high[TILE] = {};
            for (int k = 0; k < inner; ++k) {
                const Four* row = reinterpret_cast<const Four*>(b[k] + first);
                for (int r = 0; r < TILE; ++r) low[r] += a[i + r][k] * row[0], high[r] += a[i + r][k] * row[1];
            }
            for (int r = 0; r < TILE; ++r) {
                Four* row = reinterpret_cast<Four*>(c[i + r] + first);
                row[0] += factor * low[r], row[1] += factor * high[r];
            }
        }
        for (; i < rows; ++i) {
            Four low{}, high{};
            for (int k = 0; k < inner; ++k) {
                const Four* row = reinterpret_cast<const Four*>(b[k] + first);
                low += a[i][k] * row[0], high += a[i][k] * row[1];
            }
            Four* row = reinterpret_cast<Four*>(c[i] + first);
            row[0] += factor * low, row[1] += factor * high;
        }
    }
}

namespace {

// L and U of the columns [first, end), rows of A and B being exchanged; false where a pivot is zero.
bool eliminate(Rows a, Rows b, int first, int end, int size, int width, int columns) {
    for (int k = first; k < end; ++k) {
        int pivot = k;
        for (int i = k + 1; i < size; ++i) {
            if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
        }
        if (!(std::abs(a[pivot][k]) > 0.0)) return false;
        if (pivot != k) {
            std::swap_ranges(a[k], a[k] + width, a[pivot]);
            std::swap_ranges(b[k], b[k] + columns, b[pivot]);
        }
        const double* row = a[k];
        for (int i = k + 1; i < size; ++i) {
            const double share = a[i][k] /= row[k];
            for (int j = k + 1; j < end; ++j) a[i][j] -= share * row[j];
        }
    }
    return true;
}

}  // namespace

bool solve_dense(Rows a, Rows b, int size, int columns) {
    for (int first = 0; first < size; first += BLOCK) {
        const int end = std::min(first + BLOCK, size), count = end - first;
        if (!eliminate(a, b, first, end, size, size, columns)) return false;
        for (int k = first; k < end; ++k) {
            for (int i = k + 1; i < end; ++i) {
                add_scaled(a[i] + end, -a[i][k], a[k] + end, size - end);
                add_scaled(b[i], -a[i][k], b[k], columns);
            }
        }
        // The rest of A is updated up to the end of its padding, whose numbers mean nothing.
        const int rest = size - end;
        if (rest > 0) {
            add_product(a.from(end, end), -1.0, a.from(end, first), a.from(first, end), rest, count, padded(rest));
            add_product(b.from(end), -1.0, a.from(end, first), b.from(first), rest, count, columns);
        }
    }
    for (int end = size; end > 0;) {
        const int first = (end - 1) / BLOCK * BLOCK;
        for (int k = end - 1; k >= first; --k) {
            const double share = 1.0 / a[k][k];
            for (int j = 0; j < columns; ++j) b[k][j] *= share;
            for (int i = first; i < k; ++i) add_scaled(b[i], -a[i][k], b[k], columns);
        }
        if (first > 0) add_product(b, -1.0, a.from(0, first), b.from(first), first, end - first, columns);
        end = first;
    }
    return true;
}

}  // namespace native
