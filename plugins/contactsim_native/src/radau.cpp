#include "radau.hpp"

#include <algorithm>
#include <limits>

namespace native {

using Complex = std::complex<double>;

double ChartDerivative::norm() const {
    double sum = nv;
    for (int r = 0; r < nv; ++r) {
        for (int k = 0; k < 2 * nv + held; ++k) sum += rows()[r][k] * rows()[r][k];
    }
    for (const Bracket& bracket : brackets) {
        for (int k = 0; k < bracket.size * bracket.size; ++k) sum += 0.25 * bracket.matrix[k] * bracket.matrix[k];
    }
    return share * std::sqrt(sum);
}

// Its squared eigenvalues, 2 nv of them beside zeros, add up to the trace of J^2.
double ChartDerivative::least_radius() const {
    double trace = 0.0;
    for (int r = 0; r < nv; ++r) {
        trace += 2.0 * rows()[r][r];
        for (int k = 0; k < nv; ++k) trace += rows()[r][nv + k] * rows()[k][nv + r];
    }
    for (const Bracket& bracket : brackets) {
        for (int r = 0; r < bracket.size; ++r) {
            for (int c = 0; c < bracket.size; ++c) {
                trace += 0.25 * bracket.matrix[r * bracket.size + c] * bracket.matrix[c * bracket.size + r];
            }
        }
    }
    return share * std::sqrt(std::abs(trace) / (2 * nv));
}

// By |tr J^m| / n <= rho^m <= |J^m|, J being squared again and again.
std::pair<double, double> ChartDerivative::radius(double rate) const {
    constexpr int SQUARINGS = 5;
    const int n = size();
    std::vector<double> packed(n * n);
    whole(packed.data());
    Matrix power, square;
    power.clear(n, n);
    for (int i = 0; i < n; ++i) std::copy_n(&packed[i * n], n, power.rows()[i]);
    double scale = 0.0;  // logarithm of what the power was divided by
    double least = 0.0, most = std::numeric_limits<double>::infinity();
    for (int k = 0, order = 1; k <= SQUARINGS; ++k, order *= 2) {
        double trace = 0.0, squares = 0.0;
        for (int i = 0; i < n; ++i) trace += power.rows()[i][i];
        for (const double number : power.data) squares += number * number;
        const double size = largest(power.data.data(), static_cast<int>(power.data.size()));
        if (!(size > 0.0 && std::isfinite(size))) break;
        least = std::max(least, std::exp((std::log(std::abs(trace) / n) + scale) / order));
        most = std::min(most, std::exp((0.5 * std::log(squares) + scale) / order));
        if (least > rate || most <= rate || k == SQUARINGS) break;
        square.clear(n, n);
        add_product(square.rows(), 1.0 / (size * size), power.rows(), power.rows(), n, n, square.stride);
        scale = 2.0 * (scale + std::log(size));
        std::swap(power, square);
    }
    return {least, most};
}

void ChartDerivative::whole(double* out) const {
    const int n = size();
    std::fill(out, out + n * n, 0.0);
    for (int r = 0; r < nv; ++r) {
        out[r * n + nv + r] = share;
        for (int k = 0; k < 2 * nv; ++k) out[(nv + r) * n + k] = share * rows()[r][k];
        for (int k = 0; k < held; ++k) out[(nv + r) * n + held_at + k] = share * rows()[r][2 * nv + k];
    }
    for (const Bracket& bracket : brackets) {
        for (int r = 0; r < bracket.size; ++r) {
            for (int c = 0; c < bracket.size; ++c) {
                out[(bracket.first + r) * n + bracket.first + c] = -0.5 * share * bracket.matrix[r * bracket.size + c];
            }
        }
    }
}

// --- one linear system -----------------------------------------------------------------------------------------

// With J = s [N 1 0; A B G; 0 0 0] and N = -ad / 2, (r - J) z = (a, b, c) is, z'' = c / r,
// (r^2 / s - r (N + B) + s (B N - A)) z = b + s G z'' + (r / s - B) a and z' = (r z - a) / s - N z.
bool ChartFactors::factorise(Complex rate, const ChartDerivative& derivative) {
    derivative_ = &derivative, rate_ = rate, is_real_ = rate.imag() == 0.0;
    const int n = n_ = derivative.nv, stride = padded(n);
    const double share = derivative.share;
    const Complex square = rate * rate / share;
    real_.assign(n * stride, 0.0), imaginary_.assign(is_real_ ? 0 : n * stride, 0.0);
    const ConstRows by_state = derivative.rows();
    const auto add = [&](int r, int c, double linear, double constant) {
        real_[r * stride + c] += constant - rate.real() * linear;
        if (!is_real_) imaginary_[r * stride + c] -= rate.imag() * linear;
    };
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < n; ++c) add(r, c, by_state[r][n + c], -share * by_state[r][c]);
        real_[r * stride + r] += square.real();
        if (!is_real_) imaginary_[r * stride + r] += square.imag();
    }
    for (const Bracket& bracket : derivative.brackets) {
        const int size = bracket.size, first = bracket.first;
        for (int c = 0; c < size; ++c) {
            for (int r = 0; r < n; ++r) {
                double product = 0.0;
                for (int k = 0; k < size; ++k) {
                    product -= 0.5 * by_state[r][n + first + k] * bracket.matrix[k * size + c];
                }
                add(r, first + c, 0.0, share * product);
            }
            for (int r = 0; r < size; ++r) add(first + r, first + c, -0.5 * bracket.matrix[r * size + c], 0.0);
        }
    }
    pivots_.resize(n);
    for (int k = 0; k < n; ++k) {
        if (!eliminate(k)) return false;
    }
    return true;
}

bool ChartFactors::eliminate(int k) {
    const int n = n_, stride = padded(n), rest = n - k - 1;
    const auto number = [&](int i) {
        return Complex(real_[i * stride + k], is_real_ ? 0.0 : imaginary_[i * stride + k]);
    };
    const auto size = [&](int i) { return std::abs(number(i).real()) + std::abs(number(i).imag()); };
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
        if (size(i) > size(pivot)) pivot = i;
    }
    pivots_[k] = pivot;
    if (!(size(pivot) > 0.0)) return false;
    double *re_k = &real_[k * stride], *im_k = is_real_ ? nullptr : &imaginary_[k * stride];
    if (pivot != k) {
        std::swap_ranges(re_k, re_k + n, &real_[pivot * stride]);
        if (!is_real_) std::swap_ranges(im_k, im_k + n, &imaginary_[pivot * stride]);
    }
    const Complex reciprocal = std::conj(number(k)) / std::norm(number(k));
    for (int i = k + 1; i < n; ++i) {
        const Complex share = number(i) * reciprocal;
        double* re = &real_[i * stride];
        add_scaled(re + k + 1, -share.real(), re_k + k + 1, rest);
        re[k] = share.real();
        if (is_real_) continue;
        double* im = &imaginary_[i * stride];
        add_scaled(re + k + 1, share.imag(), im_k + k + 1, rest);
        add_scaled(im + k + 1, -share.real(), im_k + k + 1, rest);
        add_scaled(im + k + 1, -share.imag(), re_k + k + 1, rest);
        im[k] = share.imag();
    }
    return true;
}

void ChartFactors::substitute(double* re, double* im) const {
    const int n = n_, stride = padded(n);
    const auto subtract = [&](int i, int first, int last) {
        const double* row = &real_[i * stride];
        const double* other = is_real_ ? nullptr : &imaginary_[i * stride];
        for (int j = first; j < last; ++j) {
            re[i] -= row[j] * re[j];
            if (!is_real_) re[i] += other[j] * im[j], im[i] -= row[j] * im[j] + other[j] * re[j];
        }
    };
    for (int k = 0; k < n; ++k) {
        std::swap(re[k], re[pivots_[k]]);
        if (!is_real_) std::swap(im[k], im[pivots_[k]]);
    }
    for (int i = 0; i < n; ++i) subtract(i, 0, i);
    for (int i = n - 1; i >= 0; --i) {
        subtract(i, i + 1, n);
        if (is_real_) {
            re[i] /= real_[i * stride + i];
        } else {
            const double x = real_[i * stride + i], y = imaginary_[i * stride + i], square = x * x + y * y;
            const double part = (re[i] * x + im[i] * y) / square;
            im[i] = (im[i] * x - re[i] * y) / square, re[i] = part;
        }
    }
}

void ChartFactors::solve(double* re, double* im) {
    const ChartDerivative& derivative = *derivative_;
    const int n = n_, memory = derivative.memory;
    const double share = derivative.share;
    const ConstRows by_state = derivative.rows();
    const Complex ahead = rate_ / share, reciprocal = 1.0 / rate_;
    const auto times = [](Complex a, double& x, double& y) {
        const Complex product = a * Complex(x, y);
        x = product.real(), y = product.imag();
    };
    if (is_real_) std::fill(im, im + derivative.size(), 0.0);
    for (int k = 2 * n; k < 2 * n + memory; ++k) times(reciprocal, re[k], im[k]);
    place_.resize(2 * n);
    double *place = place_.data(), *aside = place + n;
    for (int r = 0; r < n; ++r) {
        place[r] = re[r], aside[r] = im[r];
        times(ahead, place[r], aside[r]);
        place[r] += re[n + r], aside[r] += im[n + r];
        for (int k = 0; k < n; ++k) {
            place[r] -= by_state[r][n + k] * re[k], aside[r] -= by_state[r][n + k] * im[k];
        }
        for (int k = 0; k < derivative.held; ++k) {
            const double by_held = share * by_state[r][2 * n + k];
            place[r] += by_held * re[derivative.held_at + k], aside[r] += by_held * im[derivative.held_at + k];
        }
    }
    substitute(place, aside);
    for (int r = 0; r < n; ++r) {
        const Complex speed = (rate_ * Complex(place[r], aside[r]) - Complex(re[r], im[r])) / share;
        re[n + r] = speed.real(), im[n + r] = speed.imag();
        re[r] = place[r], im[r] = aside[r];
    }
    for (const Bracket& bracket : derivative.brackets) {
        for (int r = 0; r < bracket.size; ++r) {
            for (int c = 0; c < bracket.size; ++c) {
                const double half = 0.5 * bracket.matrix[r * bracket.size + c];
                re[n + bracket.first + r] += half * place[bracket.first + c];
                im[n + bracket.first + r] += half * aside[bracket.first + c];
            }
        }
    }
}

// --- the modes of the method -----------------------------------------------------------------------------------

namespace {

constexpr int S = Radau9::STAGES;
constexpr double REAL = 1e-9;  // share of an eigenvalue below which an imaginary part of it is rounding
constexpr int ROUNDS = 200;    // of the roots of a polynomial; some 20 are the rule

// Coefficients of det(x - A) behind the first, which is one. Faddeev and Leverrier.
void characteristic(const std::vector<double>& a, double* coefficients) {
    std::vector<double> m(S * S, 0.0), product(S * S);
    for (int i = 0; i < S; ++i) m[i * S + i] = 1.0;
    for (int k = 1; k <= S; ++k) {
        double trace = 0.0;
        for (int i = 0; i < S; ++i) {
            for (int j = 0; j < S; ++j) {
                product[i * S + j] = 0.0;
                for (int l = 0; l < S; ++l) product[i * S + j] += a[i * S + l] * m[l * S + j];
            }
            trace += product[i * S + i];
        }
        coefficients[k - 1] = -trace / k;
        m = product;
        for (int i = 0; i < S; ++i) m[i * S + i] += coefficients[k - 1];
    }
}

// Where the roots of a polynomial are looked for: at those of a matrix near to it, or on a circle.
void begin_roots(const double radius, const Modes* near, Complex* found) {
    for (int i = 0; i < S; ++i) found[i] = radius * std::pow(Complex(0.4, 0.9), i);
    for (int k = 0, i = 0; near && k < near->count; ++k) {
        found[i++] = near->rates[k];
        if (near->rates[k].imag() != 0.0) found[i++] = std::conj(near->rates[k]);
    }
}

// a / b, where no number is so large or small that it matters in which way.
Complex quotient(Complex a, Complex b) {
    return a * std::conj(b) / std::norm(b);
}

// All roots at once. Source: Durand 1960, Kerner 1966.
bool roots(const double* coefficients, const Modes* near, Complex* found) {
    double radius = 0.0;
    for (int k = 0; k < S; ++k) radius = std::max(radius, std::pow(std::abs(coefficients[k]), 1.0 / (k + 1)));
    begin_roots(radius, near, found);
    for (int round = 0; round < ROUNDS; ++round) {
        double moved = 0.0;
        for (int i = 0; i < S; ++i) {
            Complex value = 1.0, apart = 1.0;
            for (int k = 0; k < S; ++k) value = value * found[i] + coefficients[k];
            for (int j = 0; j < S; ++j) {
                if (j != i) apart *= found[i] - found[j];
            }
            const Complex step = quotient(value, apart);
            found[i] -= step;
            moved = std::max(moved, std::norm(step));
        }
        if (moved <= 1e-26 * radius * radius) return true;
        if (!std::isfinite(moved)) return false;
    }
    return true;
}

// The vector that A - rate takes to next to nothing, or A^T does: two inverse iterations.
void eigenvector(const std::vector<double>& a, Complex rate, bool transposed, Complex* x) {
    std::fill(x, x + S, Complex(1.0));
    for (int round = 0; round < 2; ++round) {
        Complex m[S][S];
        double size = 0.0;
        for (int i = 0; i < S; ++i) {
            for (int j = 0; j < S; ++j) {
                m[i][j] = a[transposed ? j * S + i : i * S + j] - (i == j ? rate : Complex(0.0));
                size = std::max(size, std::norm(m[i][j]));
            }
        }
        const double least = std::numeric_limits<double>::epsilon() * std::sqrt(size);
        for (int k = 0; k < S; ++k) {
            int pivot = k;
            for (int i = k + 1; i < S; ++i) {
                if (std::norm(m[i][k]) > std::norm(m[pivot][k])) pivot = i;
            }
            std::swap(m[k], m[pivot]), std::swap(x[k], x[pivot]);
            if (std::norm(m[k][k]) < least * least) m[k][k] = least;
            for (int i = k + 1; i < S; ++i) {
                const Complex share = quotient(m[i][k], m[k][k]);
                for (int j = k; j < S; ++j) m[i][j] -= share * m[k][j];
                x[i] -= share * x[k];
            }
        }
        double length = 0.0;
        for (int i = S - 1; i >= 0; --i) {
            for (int j = i + 1; j < S; ++j) x[i] -= m[i][j] * x[j];
            x[i] = quotient(x[i], m[i][i]);
            length = std::max(length, std::norm(x[i]));
        }
        for (int i = 0; i < S; ++i) x[i] /= std::sqrt(length);
    }
}

}  // namespace

bool find_modes(const std::vector<double>& matrix, const Modes* near, Modes& found) {
    double coefficients[S];
    Complex rates[S];
    characteristic(matrix, coefficients);
    if (!roots(coefficients, near, rates)) return false;
    found.count = 0;
    for (const bool real : {true, false}) {
        for (Complex rate : rates) {
            const bool is_real = std::abs(rate.imag()) <= REAL * std::abs(rate);
            if (is_real != real || (!real && rate.imag() < 0.0)) continue;
            const int k = found.count++;
            Complex right[S], left[S];
            for (int round = 0; round < 2; ++round) {  // the second with the rate that the first one's vectors give
                if (real) rate = rate.real();
                eigenvector(matrix, rate, false, right), eigenvector(matrix, rate, true, left);
                Complex product = 0.0, size = 0.0;
                for (int i = 0; i < S; ++i) {
                    for (int j = 0; j < S; ++j) product += left[i] * matrix[i * S + j] * right[j];
                    size += left[i] * right[i];
                }
                rate = product / size;
                for (int i = 0; i < S; ++i) {
                    found.into[k][i] = left[i] / size, found.back[k][i] = real ? right[i] : 2.0 * right[i];
                }
            }
            found.rates[k] = real ? rate.real() : rate;
        }
    }
    return true;
}

// --- steps -----------------------------------------------------------------------------------------------------

bool Radau::begin(Field& field, double t, const double* y, int size, double step, double rtol, double atol,
                  double floor) {
    n_ = size, t_ = t, rtol_ = rtol, atol_ = atol, floor_ = floor;
    y_.assign(y, y + n_), f_.resize(n_);
    stages_.assign(STAGES * n_, 0.0), fields_.resize(STAGES * n_), moved_.resize(STAGES * n_);
    left_.resize(n_), right_.resize(n_), point_.resize(n_), scale_.resize(n_), parts_.resize(STAGES * n_);
    if (!plain_.count && !find_modes(method_.inverse, nullptr, plain_)) return false;
    field_at(field, t_, y_.data(), f_.data());
    if (!field.derivative(t_, y_.data(), derivative_)) return false;
    first_ = derivative_, first_t_ = t_, first_y_ = y_, first_f_ = f_;
    has_step_ = false;
    begin_again(step);
    return true;
}

void Radau::begin_again(double step) {
    if (has_step_) t_ = first_t_, y_ = first_y_, f_ = first_f_;
    derivative_ = first_;
    has_step_ = false, current_ = true, fastest = NAN;
    length = step, growth = length_before_ = error_before_ = factored_ = 0.0;
}

bool Radau::step(Field& field, double bound, double longest) {
    const double smallest = 10.0 * std::abs(std::nextafter(t_, std::numeric_limits<double>::infinity()) - t_);
    double tried = std::max(length, smallest);
    if (tried > longest) tried = longest, length_before_ = error_before_ = 0.0;
    bool rejected = false, lost = false;
    while (tried >= smallest) {
        double end = t_ + tried;
        if (end > bound) end = bound, factored_ = 0.0;
        const double h = tried = end - t_;
        int iterations = 0;
        double rate = 0.0;
        if (!newton(field, h, iterations, rate, lost)) {
            if (lost) return false;
            tried *= 0.5, factored_ = 0.0;
            continue;
        }
        const double missed = error(field, h, rejected);
        const double safety = method_.safety * (2 * method_.iterations + 1) / (2 * method_.iterations + iterations);
        const double longer = safety * factor(h, missed);
        if (missed > 1.0) {
            tried *= std::max(method_.shrinkage, longer);
            rejected = true, factored_ = 0.0;
            continue;
        }
        return accept(field, h, end, missed, std::min(method_.growth, longer), iterations > 2 && rate > method_.fresh);
    }
    return false;
}

bool Radau::newton(Field& field, double h, int& iterations, double& rate, bool& lost) {
    while (true) {
        if (factored_ != h && !factorise(h)) return false;
        if (iterate(field, h, iterations, rate)) return true;
        if (current_) return false;
        if (!field.derivative(t_, y_.data(), derivative_)) {
            lost = true;
            return false;
        }
        current_ = true, factored_ = 0.0, fastest = NAN;
    }
}

bool Radau::factorise(double h) {
    const bool plain = growth == 0.0;
    modes_ = plain_;
    for (int i = 0; i < STAGES; ++i) {
        shares_[i] = std::max(1.0 + growth * h * method_.nodes[i], method_.least_share);
    }
    if (!plain) {
        std::vector<double> matrix = method_.inverse;
        for (int i = 0; i < STAGES * STAGES; ++i) matrix[i] *= shares_[i / STAGES];
        if (!find_modes(matrix, &plain_, modes_)) return false;
    }
    for (int k = 0; k < modes_.count; ++k) {
        if (!factors_[k].factorise(modes_.rates[k] / h, derivative_)) return false;
    }
    if (!plain && !filter_.factorise(method_.rate / h, derivative_)) return false;
    factored_ = h;
    return true;
}

void Radau::predict(double h) {
    if (!has_step_) {
        std::fill(stages_.begin(), stages_.end(), 0.0);
        return;
    }
    for (int i = 0; i < STAGES; ++i) {
        const double s = (t_ + h * method_.nodes[i] - t_old_) / (t_ - t_old_), r = 1.0 - s, b = s * r, c = b * s;
        const double shares[STAGES] = {s, b, c, b * b, b * c};
        double* stage = &stages_[i * n_];
        for (int k = 0; k < n_; ++k) stage[k] = y_old_[k] - y_[k];
        for (int p = 0; p < STAGES; ++p) add_scaled(stage, shares[p], &parts_[p * n_], n_);
    }
}

bool Radau::iterate(Field& field, double h, int& iterations, double& rate) {
    predict(h);
    for (int k = 0; k < n_; ++k) scale_[k] = atol_ + std::abs(y_[k]) * rtol_;
    const int most = method_.iterations;
    double before = 0.0;
    rate = 0.0;
    for (iterations = 1; iterations <= most; ++iterations) {
        for (int i = 0; i < STAGES; ++i) {
            for (int k = 0; k < n_; ++k) point_[k] = y_[k] + stages_[i * n_ + k];
            field_at(field, t_ + h * method_.nodes[i], point_.data(), &fields_[i * n_]);
        }
        for (const double number : fields_) {
            if (!std::isfinite(number)) return false;
        }
        change(h);
        const double size = norm(moved_.data(), STAGES);
        double largest = 0.0;
        for (const double number : moved_) largest = std::max(largest, std::abs(number));
        const auto move = [&] {
            for (int k = 0; k < STAGES * n_; ++k) stages_[k] += moved_[k];
        };
        if (0.0 < largest && largest <= floor_) return move(), true;
        const bool compared = before != 0.0;
        rate = compared ? size / before : 0.0;
        if (compared && (rate >= 1.0 || std::pow(rate, most - iterations) / (1.0 - rate) * size > method_.converged)) {
            return false;
        }
        move();
        before = size;
        if (size == 0.0 || (compared && rate / (1.0 - rate) * size < method_.converged)) return true;
    }
    return false;
}

void Radau::change(double h) {
    // p_i (f_i - sum b_ij Z_j / h), b = A^-1, mode by mode.
    for (int i = 0; i < STAGES; ++i) {
        double* missed = &fields_[i * n_];
        for (int j = 0; j < STAGES; ++j) {
            add_scaled(missed, -method_.inverse[i * STAGES + j] / h, &stages_[j * n_], n_);
        }
        for (int k = 0; k < n_; ++k) missed[k] *= shares_[i];
    }
    std::fill(moved_.begin(), moved_.end(), 0.0);
    for (int m = 0; m < modes_.count; ++m) {
        std::fill(left_.begin(), left_.end(), 0.0), std::fill(right_.begin(), right_.end(), 0.0);
        for (int i = 0; i < STAGES; ++i) {
            add_scaled(left_.data(), modes_.into[m][i].real(), &fields_[i * n_], n_);
            add_scaled(right_.data(), modes_.into[m][i].imag(), &fields_[i * n_], n_);
        }
        factors_[m].solve(left_.data(), right_.data());
        for (int i = 0; i < STAGES; ++i) {
            add_scaled(&moved_[i * n_], modes_.back[m][i].real(), left_.data(), n_);
            add_scaled(&moved_[i * n_], -modes_.back[m][i].imag(), right_.data(), n_);
        }
    }
}

double Radau::norm(const double* a, int times) const {
    double sum = 0.0;
    for (int k = 0; k < times * n_; ++k) sum += (a[k] / scale_[k % n_]) * (a[k] / scale_[k % n_]);
    return std::sqrt(sum / (times * n_));
}

void Radau::solve_filter(double* right) {
    (growth == 0.0 ? factors_[0] : filter_).solve(right, right_.data());
}

double Radau::error(Field& field, double h, bool rejected) {
    const double* last = &stages_[(STAGES - 1) * n_];
    std::vector<double> rest(n_, 0.0), missed(n_);
    for (int i = 0; i < STAGES; ++i) {
        add_scaled(rest.data(), method_.rate / h * method_.estimate[i], &stages_[i * n_], n_);
    }
    for (int k = 0; k < n_; ++k) {
        missed[k] = f_[k] + rest[k];
        scale_[k] = atol_ + std::max(std::abs(y_[k]), std::abs(y_[k] + last[k])) * rtol_;
    }
    solve_filter(missed.data());
    double found = norm(missed.data(), 1);
    if (found > 1.0 && (rejected || !has_step_)) {
        for (int k = 0; k < n_; ++k) point_[k] = y_[k] + missed[k];
        field_at(field, t_, point_.data(), missed.data());
        for (int k = 0; k < n_; ++k) missed[k] += rest[k];
        solve_filter(missed.data());
        found = norm(missed.data(), 1);
    }
    if (!has_step_ && found <= 1.0 && relaxes(field, h)) return std::numeric_limits<double>::infinity();
    if (has_step_) {
        const double before = t_ - t_old_;
        for (int k = 0; k < n_; ++k) {
            double slope = 0.0;  // of the polynomial of this step where it starts
            for (int p = 0; p < 2; ++p) {
                for (int i = 0; i < STAGES; ++i) slope += method_.to_parts[p * STAGES + i] * stages_[i * n_ + k];
            }
            const double rate = (parts_[k] - parts_[n_ + k] - parts_[2 * n_ + k]) / before;
            missed[k] = method_.between * (h * rate - slope);
        }
        found = std::max(found, norm(missed.data(), 1));
    }
    return std::isfinite(found) ? found : std::numeric_limits<double>::infinity();
}

bool Radau::relaxes(Field& field, double h) {
    const double here = derivative_.norm();
    for (int k = 0; k < n_; ++k) point_[k] = y_[k] + stages_[(STAGES - 1) * n_ + k];
    ++evaluations;  // as many as where the derivative is asked for with the rate
    if (!(h * here > 1.0)) return false;
    return field.derivative(t_ + h, point_.data(), there_) && here > method_.relaxed * there_.norm();
}

double Radau::factor(double tried, double error) const {
    if (error == 0.0) return method_.growth;
    const double power = 1.0 / method_.order;
    double trend = 1.0;
    if (error_before_ != 0.0 && length_before_ != 0.0) {
        trend = std::min(1.0, tried / length_before_ * std::pow(error_before_ / error, power));
    }
    return trend * std::pow(error, -power);
}

bool Radau::accept(Field& field, double h, double end, double error, double factor, bool renew) {
    t_old_ = t_, y_old_ = y_;
    length_before_ = h, error_before_ = error;
    t_ = end, has_step_ = true;
    for (int k = 0; k < n_; ++k) y_[k] += stages_[(STAGES - 1) * n_ + k];
    field_at(field, t_, y_.data(), f_.data());
    std::fill(parts_.begin(), parts_.end(), 0.0);
    for (int p = 0; p < STAGES; ++p) {
        for (int i = 0; i < STAGES; ++i) {
            add_scaled(&parts_[p * n_], method_.to_parts[p * STAGES + i], &stages_[i * n_], n_);
        }
    }
    if (1.0 <= factor && factor < method_.enough && !renew) factor = 1.0;
    length = h * factor;
    current_ = false;
    if (renew) {
        if (!field.derivative(t_, y_.data(), derivative_)) return false;
        current_ = true, fastest = NAN;
    } else if (growth != 0.0) {
        derivative_.share /= shares_[STAGES - 1], fastest /= shares_[STAGES - 1];
    }
    if (renew || factor != 1.0 || growth != 0.0) factored_ = 0.0;
    return true;
}

void Radau::field_at(Field& field, double t, const double* y, double* out) {
    ++evaluations;
    field.rate(t, y, out);
}

}  // namespace native
