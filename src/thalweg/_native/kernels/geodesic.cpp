#include "kernels/geodesic.hpp"

#include "kernels/median_modulus.hpp"
#include "kernels/robust_fit.hpp"
#include "kernels/rotation.hpp"
#include "support/interrupt.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

double grouse_angle(const GeodesicStep& step, double residual, double length, double K,
                    double count) {
    if (step.rule == StepRule::greedy) return std::atan(residual / length);
    const double share = step.rule == StepRule::constant ? step.rate : step.rate * K / (K + count);
    const double angle = share * residual * length / (residual * residual + length * length);
    return largest_angle < angle ? largest_angle : angle;
}

}  // namespace

template <class Target, class T>
double GeodesicKernels<Target, T>::track_grouse(Matrix<T> U, Matrix<const T> V,
                                                Matrix<const bool> observed,
                                                const GeodesicStep& step, double count, Matrix<T> H,
                                                Vector<double> error) {
    const PaddedBasis<T> basis{Matrix<const T>(U)};
    const Index K = U.rows, F = U.cols;
    SamplePacker<T> packer(K, F);
    RobustFit<T> fit(K, F);
    const MedianModulus<T> median_modulus(F);
    const Buffer<T> direction(padded<T>(F)), p(padded<T>(F));
    for (Index s = 0; s < V.rows; ++s) {
        interruption_point();
        fill(H[s], T(0));
        error[s] = std::numeric_limits<double>::quiet_NaN();
        const PackedSample<T> sample = packer.pack(basis.matrix(), V[s], observed[s]);
        if (sample.count == 0) continue;
        count += 1.0;
        fit.least_squares(sample, 0.0);
        const Vector<double> h = fit.codes();
        const Vector<T> r = fit.residual(sample);
        copy(h, H[s]);
        if (sample.count > K) error[s] = median_modulus(r.first(sample.count));
        const double residual = std::sqrt(squared_norm<T>(r)), length = std::sqrt(dot(h, h));
        // A residual of rounding errors has no direction.
        if (!(residual > epsilon<T> * length) || length == 0.0) continue;
        const double angle = grouse_angle(step, residual, length, static_cast<double>(K), count);
        const T scale = T(1) / static_cast<T>(residual);
        for_each_pack<T>(r.size, [&](auto at) { at.store(r, at(r) * scale); });
        packer.unpack(sample, r, direction);
        combine<T>(basis.matrix(), fit.rounded(), p);
        rotate<T>(basis, h, direction.vector(), angle, p);
    }
    basis.write(U);
    return count;
}

template struct GeodesicKernels<Target, float>;
template struct GeodesicKernels<Target, double>;

}  // namespace thalweg
