// The Radau IIA method of five stages, for stiff arcs. The choices are those of contactsim's Radau9, in the same order.
#pragma once

#include <complex>
#include <utility>

#include "charts.hpp"
#include "dense.hpp"

namespace native {

// Coefficients of Radau9, and what its steps are chosen by.
struct Radau9 {
    static constexpr int STAGES = 5;
    std::vector<double> nodes, inverse;  // c (5,) and A^-1 (5, 5)
    std::vector<double> estimate;        // (5,): error at the end
    std::vector<double> to_parts;        // (5, 5): from stages to the first parts of a dense output of DOP853
    double rate, between;                // real eigenvalue of A^-1; error within a step
    double safety, growth, shrinkage, enough, fresh, converged, relaxed, least_share;
    int iterations, order;
};

// The derivative of the rate (q', v', z') = (v - ad q / 2, by_state (q, v, held), 0) in a chart, times a share.
struct ChartDerivative {
    int nv = 0, memory = 0, held = 0, held_at = 0;  // held: numbers of the memory, from held_at on, that move the robot
    double share = 1.0;
    std::vector<Bracket> brackets;
    std::vector<double> by_state;

    Rows rows() { return {by_state.data(), padded(2 * nv + held)}; }
    ConstRows rows() const { return {by_state.data(), padded(2 * nv + held)}; }
    int size() const { return 2 * nv + memory; }
    double norm() const;            // Frobenius'
    double least_radius() const;    // which its largest eigenvalue has at least
    void whole(double* out) const;  // (size, size)

    // Bounds of that eigenvalue, as close as its powers have to be looked at to compare it with a rate.
    std::pair<double, double> radius(double rate) const;
};

// What a stiff arc moves by, in the chart at work.
class Field {
  public:
    virtual ~Field() = default;
    virtual void rate(double t, const double* y, double* out) = 0;  // NaN where there is none
    virtual bool derivative(double t, const double* y, ChartDerivative& out) = 0;
};

// The factorised matrix rate I - J, real where the rate is; it is reduced to one for the configuration.
class ChartFactors {
  public:
    bool factorise(std::complex<double> rate, const ChartDerivative& derivative);
    // z = (rate I - J)^-1 r in place, of which a real rate takes the real part; (size,) each.
    void solve(double* real, double* imaginary);

  private:
    bool eliminate(int k);
    void substitute(double* real, double* imaginary) const;
    int n_ = 0;
    bool is_real_ = true;
    std::complex<double> rate_;
    const ChartDerivative* derivative_ = nullptr;
    std::vector<double> real_, imaginary_;  // L and U
    std::vector<int> pivots_;
    std::vector<double> place_;
};

// V diag(rates) V^-1 = diag(shares) A^-1; of each pair of complex modes one.
struct Modes {
    static constexpr int MOST = Radau9::STAGES;
    int count = 0;
    std::complex<double> rates[MOST], into[MOST][MOST], back[MOST][MOST];  // rows of V^-1, columns of V
};
// Of a matrix (5, 5), looked for at those of one near to it, or anywhere.
bool find_modes(const std::vector<double>& matrix, const Modes* near, Modes& found);

// Steps along one arc.
class Radau {
  public:
    explicit Radau(const Radau9& method) : method_(method) {}
    const Radau9& method() const { return method_; }

    // A new method from (t, y); false where there is no derivative.
    bool begin(Field& field, double t, const double* y, int size, double step, double rtol, double atol, double floor);
    // The same from where it has begun, with another first step.
    void begin_again(double step);
    // A step, not past the bound; false where none succeeds.
    bool step(Field& field, double bound, double longest);

    double t() const { return t_; }
    const double* y() const { return y_.data(); }
    const double* rate() const { return f_.data(); }
    const double* parts() const { return parts_.data(); }  // of the dense output (5, size)
    const ChartDerivative& derivative() const { return derivative_; }

    double length = 0.0;   // of the next step
    double growth = 0.0;   // pace at which the scale of the fastest decay grows [1/s]
    double fastest = NAN;  // largest eigenvalue of the derivative, or a bound of it, where one is known
    long evaluations = 0;

  private:
    static constexpr int STAGES = Radau9::STAGES;
    Radau9 method_;
    int n_ = 0;
    double t_ = 0.0, rtol_ = 0.0, atol_ = 0.0, floor_ = 0.0;
    std::vector<double> y_, f_, first_y_, first_f_;
    double first_t_ = 0.0;
    ChartDerivative derivative_, first_, there_;
    bool current_ = true;                              // whether the derivative is that where the step starts
    double length_before_ = 0.0, error_before_ = 0.0;  // of the last step; zero: there is none
    bool has_step_ = false;                            // whether there is a last step
    double t_old_ = 0.0;
    std::vector<double> y_old_, parts_;
    double factored_ = 0.0;  // step of the factors; zero: there are none
    double shares_[STAGES] = {};
    Modes modes_, plain_;
    ChartFactors factors_[Modes::MOST], filter_;
    std::vector<double> stages_, fields_, moved_, left_, right_, point_, scale_;

    bool newton(Field& field, double h, int& iterations, double& rate, bool& lost);
    bool factorise(double h);
    bool iterate(Field& field, double h, int& iterations, double& rate);
    void predict(double h);
    void change(double h);  // of Newton's method, into `moved_`
    double error(Field& field, double h, bool rejected);
    bool relaxes(Field& field, double h);
    double factor(double length, double error) const;
    bool accept(Field& field, double h, double end, double error, double factor, bool renew);
    void field_at(Field& field, double t, const double* y, double* out);
    void solve_filter(double* right);
    double norm(const double* a, int times) const;  // over the tolerance
};

}  // namespace native
