#include "support/blas.hpp"

namespace thalweg {

Blas<float> blas_float;
Blas<double> blas_double;

}  // namespace thalweg
