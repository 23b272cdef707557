// Products and linear systems of dense matrices whose rows lie side by side.
// Every number is summed in one order, however many of them a processor takes at once.
#pragma once

#include <cstring>
#include <new>
#include <vector>

namespace native {

constexpr int LANES = 8;  // rows are padded to multiples of so many numbers

inline int padded(int columns) {
    return (columns + LANES - 1) / LANES * LANES;
}

// Memory that begins where a line of the cache does: registers as wide as that then never reach into two of them.
template <typename T>
struct LineAligned {
    using value_type = T;
    static constexpr std::align_val_t LINE{64};

    LineAligned() = default;
    template <typename U>
    LineAligned(const LineAligned<U>&) {}
    T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), LINE)); }
    void deallocate(T* memory, std::size_t) { ::operator delete(memory, LINE); }
    bool operator==(const LineAligned&) const { return true; }
    bool operator!=(const LineAligned&) const { return false; }
};

using Aligned = std::vector<double, LineAligned<double>>;

// So many zeros, in the room that there is.
template <typename Room>
void set_zeros(Room& a, std::size_t count) {
    a.resize(count);
    if (count) std::memset(a.data(), 0, count * sizeof(double));
}

// A matrix within a larger one; `stride` numbers lead from one row to the next.
struct Rows {
    double* data;
    int stride;
    double* operator[](int row) const { return data + row * stride; }
    Rows from(int row, int column = 0) const { return {data + row * stride + column, stride}; }
};

// A matrix that is only read.
struct ConstRows {
    const double* data;
    int stride;
    ConstRows(const double* data, int stride) : data(data), stride(stride) {}
    ConstRows(const Rows& rows) : data(rows.data), stride(rows.stride) {}
    const double* operator[](int row) const { return data + row * stride; }
    ConstRows from(int row, int column = 0) const { return {data + row * stride + column, stride}; }
};

// A matrix with its numbers.
struct Matrix {
    Aligned data;
    int stride = 0;

    void clear(int rows, int columns) {
        stride = padded(columns);
        set_zeros(data, rows * stride);
    }
    // The same, for a matrix of which every number is set next.
    void shape(int rows, int columns) {
        stride = padded(columns);
        data.resize(rows * stride);
    }
    Rows rows() { return {data.data(), stride}; }
    ConstRows rows() const { return {data.data(), stride}; }
};

// a . b, summed one number after the other.
inline double product(const double* a, const double* b, int count) {
    double sum = 0.0;
    for (int k = 0; k < count; ++k) sum += a[k] * b[k];
    return sum;
}

// The same where one of them has numbers at some places alone.
inline double product(const double* a, const double* b, const std::vector<int>& places) {
    double sum = 0.0;
    for (const int k : places) sum += a[k] * b[k];
    return sum;
}

// to += factor from, for so many numbers.
void add_scaled(double* to, double factor, const double* from, int count);

// to = a - b, for so many numbers.
void set_difference(double* to, const double* a, const double* b, int count);

// to = start + h sum_j weights[j] a[j], of rows (count,) of a matrix (terms, count).
void set_sum(double* to, const double* start, double h, const double* weights, const double* a, int terms, int count);

// C = (w_1 A, w_2 A, ...) side by side, A (rows, columns).
void set_repeated(Rows c, const double* weights, int times, ConstRows a, int rows, int columns);

// The largest absolute value; NaN where there is one. The count is a multiple of LANES.
double largest(const double* a, int count);

// The same of each row; columns are a multiple of LANES.
void largest_of_rows(double* found, ConstRows a, int rows, int columns);

// sum |a_k| weights[k] of each row; columns are a multiple of LANES.
void weigh_rows(double* found, ConstRows a, const double* weights, int rows, int columns);

// C += factor A B, A (rows, inner) and B (inner, columns); columns are a multiple of LANES.
void add_product(Rows c, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns);

// C = start + factor A B; rows of `start` may be one and the same.
void set_product(Rows c, ConstRows start, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns);

// `add_product` of an A in whose rows many numbers are zero, of neighbours in the same columns.
void add_sparse_product(Rows c, double factor, ConstRows a, ConstRows b, int rows, int inner, int columns,
                        std::vector<int>& room);

// Where a matrix along a tree has numbers in its lower triangle: each row at the branch from the root to its own, last.
// They follow each other row by row.
struct Branches {
    std::vector<int> first{0};  // (size + 1,) number of each row with which it begins
    std::vector<int> column;    // of each number

    int size() const { return static_cast<int>(first.size()) - 1; }
    int inwards(int k) const { return first[k + 1] - first[k] - 1; }  // numbers of a row before its diagonal
    int diagonal(int k) const { return first[k + 1] - 1; }            // its place among all
    const int* of(int k) const { return &column[first[k]]; }
    void add(int ancestor);  // a row that grows from that one; -1: from the root
};

// B = L^-T B and B = L^-1 D^-1 B in place, of a matrix L^T D L along a tree: `factors` has D on its diagonal, and
// before it L, whose diagonal is one. Columns are a multiple of LANES.
void solve_inwards(const double* factors, const Branches& branches, Rows b, int columns);
void solve_outwards(const double* factors, const Branches& branches, Rows b, int columns);

// B = A^-1 B in place, A (size, size) and B (size, columns), columns a multiple of LANES, A being lost;
// false where it is singular. Gaussian elimination with partial pivoting, by blocks.
bool solve_dense(Rows a, Rows b, int size, int columns);

}  // namespace native
