#include "kernels/huber_threshold.hpp"

#include "kernels/double_sums.hpp"
#include "support/buffer.hpp"
#include "support/simd.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Sums of sorted sizes up to a limit, for limits that grow.
template <class T>
class RunningSum {
   public:
    explicit RunningSum(Vector<const T> sizes, bool squares) : sizes_(sizes), squares_(squares) {}

    void extend(double limit) {
        const Index end = last_within(limit);
        const Vector<const T> added = sizes_.slice(count_, end);
        total_ += double_sums<T, 1>(added.size, [&](auto at, auto* sums) {
            const auto size = widened(at(added));
            sums[0] += squares_ ? size * size : size;
        })[0];
        count_ = end;
    }
    double count() const { return static_cast<double>(count_); }
    double total() const { return total_; }

   private:
    /// Return the number of sizes within the limit, at least those of the limit before.
    Index last_within(double limit) const {
        Index low = count_, high = sizes_.size;
        while (low < high) {
            const Index middle = low + (high - low) / 2;
            if (static_cast<double>(sizes_[middle]) <= limit)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    Vector<const T> sizes_;
    bool squares_;
    Index count_ = 0;
    double total_ = 0.0;
};

/// Set variance to n times that of the fit for each threshold.
template <class T>
void fit_variances(Vector<const T> sizes, Vector<const double> thresholds, double bandwidth,
                   Vector<double> variance) {
    const double n = static_cast<double>(sizes.size);
    RunningSum<T> inner(sizes, true), low(sizes, false), high(sizes, false);
    for (Index i = 0; i < thresholds.size; ++i) {
        const double c = thresholds[i], near = c - bandwidth, far = c + bandwidth;
        inner.extend(c);
        low.extend(near);
        high.extend(far);
        // The sum of far - |e| over the window, which grows like the number of entries within c.
        const double inside = far * high.count() - high.total() - near * low.count() + low.total();
        const double within = larger(1.0, inside / (2.0 * bandwidth));
        variance[i] = (inner.total() + c * c * (n - inner.count())) / (within * within);
    }
}

/// Return the place of the least entry, or of the first NaN.
Index least_place(Vector<const double> x) {
    Index best = 0;
    for (Index i = 0; i < x.size; ++i) {
        if (std::isnan(x[i])) return i;
        if (x[i] < x[best]) best = i;
    }
    return best;
}

}  // namespace

template <class Target, class T>
double HuberThresholdKernels<Target, T>::huber_threshold(Vector<const T> sizes,
                                                         Vector<const double> thresholds,
                                                         const HuberThresholdSettings& settings) {
    const Buffer<double> variance(thresholds.size);
    fit_variances<T>(sizes, thresholds, settings.bandwidth, variance);
    const Index best = least_place(variance.vector());
    double steps_down = 0.0;
    for (Index i = best; i < thresholds.size; ++i) {
        const double excess = variance[i] / variance[best] - 1.0;
        steps_down += smaller(1.0, excess / settings.tolerance);
    }
    return thresholds[thresholds.size - 1] - (thresholds[1] - thresholds[0]) * steps_down;
}

template struct HuberThresholdKernels<Target, float>;
template struct HuberThresholdKernels<Target, double>;

}  // namespace thalweg
