#include "kernels/l1_tracking.hpp"

#include "kernels/median_modulus.hpp"
#include "kernels/robust_fit.hpp"
#include "kernels/rotation.hpp"
#include "support/interrupt.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

// The variable of the adaptive step: its first value in a level, and where it leaves the level.
constexpr double first_variable = 6.0, least_variable = 1.0, most_variable = 15.0;
// The sigmoid by which it moves: limits and width.
constexpr double sigmoid_low = -1.0, sigmoid_high = 1.0, sigmoid_width = 0.1;
// Levels go up and down to this one, from where the way back is not too long.
constexpr double most_level = 16.0;

/// Rise from sigmoid_low over 0 at x = 0 to sigmoid_high.
double sigmoid(double x) {
    const double decay = std::exp(-x / sigmoid_width);
    return sigmoid_low + (sigmoid_high - sigmoid_low) / (1.0 - sigmoid_high / sigmoid_low * decay);
}

/// Return 2^-level / (1 + variable) after the variable, and maybe the level, has moved by x.
double adapt(StepControl& control, double x) {
    control.variable += sigmoid(x);
    if (control.variable >= most_variable) {
        control.variable = first_variable;
        control.level = std::fmin(control.level + 1.0, most_level);
    } else if (control.variable <= least_variable) {
        control.variable = first_variable;
        control.level = std::fmax(control.level - 1.0, -most_level);
    }
    return std::exp2(-control.level) / (1.0 + control.variable);
}

/// A gradient: its cosine with the last one, and the size of the slope and the norm of the codes
/// relative to their means.
struct Gradient {
    double agreement;
    double slope;
    double length;
};

double l1_angle(const GeodesicStep& step, StepControl& control, const Gradient& gradient) {
    if (step.rule == StepRule::proximal) {
        const double damping = step.rate * adapt(control, gradient.agreement);
        return std::atan(gradient.slope * gradient.length /
                         (1.0 + damping * gradient.length * gradient.length));
    }
    double rate = step.rate;
    if (step.rule == StepRule::diminishing) rate = step.rate / (1.0 + control.n_samples);
    if (step.rule == StepRule::adaptive) rate = step.rate * adapt(control, -gradient.agreement);
    const double angle = rate * gradient.slope * gradient.length;
    return largest_angle < angle ? largest_angle : angle;
}

/// Trackers of one call: the basis, and memory for one sample.
template <class T>
class L1Tracker {
   public:
    L1Tracker(Matrix<T> basis, const GeodesicStep& rule)
        : U(basis), step(rule), products(U.rows), rounded(U.rows), slope(U.cols), p(U.cols) {}

    /// Rotate the basis along the gradient at a sample and its fit.
    void rotate_along(const PackedSample<T>& sample, const SamplePacker<T>& packer,
                      const RobustFit<T>& fit, StepControl& control, LastGradient<T> last) {
        const Vector<double> h = fit.codes();
        const double norm = project_slope(sample, packer, fit), length = std::sqrt(dot(h, h));
        if (norm == 0.0 || length == 0.0) return;
        const T scale = static_cast<T>(norm);
        const Vector<T> direction = slope;
        for_each_pack<T>(slope.vector().size,
                         [&](auto at) { at.store(direction, at(direction) / scale); });
        const auto cosine =
            static_cast<double>(dot<T>(direction.first(last.direction.size), last.direction));
        const double agreement = cosine * dot<double>(h, last.code) / length;
        const double size = norm / std::sqrt(static_cast<double>(sample.count));
        const double relative = length / std::sqrt(control.code_size);
        const double angle = l1_angle(step, control, {agreement, size, relative});
        copy(direction.first(last.direction.size), last.direction);
        for (Index k = 0; k < h.size; ++k) last.code[k] = h[k] / length;
        combine<T>(U, fit.rounded(), p);
        rotate<T>(U, h, direction, angle, p);
    }

   private:
    /// Set the slope, 0 at missing entries, projected off the basis; return its norm.
    ///
    /// At the minimum it is orthogonal to the basis; before it, nearly so.
    double project_slope(const PackedSample<T>& sample, const SamplePacker<T>& packer,
                         const RobustFit<T>& fit) {
        project<T>(sample.U, fit.slope(sample), products);
        copy(products.vector(), rounded.vector());
        packer.unpack(sample, fit.slope(sample), slope);
        subtract_combination<T>(U, rounded.vector(), slope.vector(), slope);
        return std::sqrt(squared_norm<T>(slope.vector()));
    }

    Matrix<T> U;
    GeodesicStep step;
    Buffer<double> products;
    Buffer<T> rounded;
    Buffer<T> slope;
    Buffer<T> p;
};

}  // namespace

template <class Target, class T>
void L1TrackingKernels<Target, T>::track_l1(Matrix<T> U, Matrix<const T> V,
                                            Matrix<const bool> observed, const GeodesicStep& step,
                                            const RegressionProblem& problem, StepControl& control,
                                            LastGradient<T> last, TrackedSamples<T> found) {
    const PaddedBasis<T> basis{Matrix<const T>(U)};
    const Index K = U.rows, F = U.cols;
    SamplePacker<T> packer(K, F);
    RobustFit<T> fit(K, F);
    L1Tracker<T> tracker(basis, step);
    const MedianModulus<T> median_modulus(F);
    for (Index s = 0; s < V.rows; ++s) {
        interruption_point();
        fill(found.H[s], T(0));
        fill(found.R[s], T(0));
        found.error[s] = std::numeric_limits<double>::quiet_NaN();
        const PackedSample<T> sample = packer.pack(basis.matrix(), V[s], observed[s]);
        if (sample.count == 0) continue;
        fit.robust(sample, problem);
        const Vector<double> h = fit.codes();
        const Vector<const T> residual = fit.residual(sample);
        copy(h, found.H[s]);
        packer.unpack(sample, residual, found.R[s]);
        if (sample.count > K) found.error[s] = median_modulus(residual.first(sample.count));
        if (control.n_samples == 0.0) control.variable = first_variable;
        control.n_samples += 1.0;
        control.code_size = running_mean(control.code_size, control.n_samples, dot(h, h));
        tracker.rotate_along(sample, packer, fit, control, last);
    }
    basis.write(U);
}

template struct L1TrackingKernels<Target, float>;
template struct L1TrackingKernels<Target, double>;

}  // namespace thalweg
