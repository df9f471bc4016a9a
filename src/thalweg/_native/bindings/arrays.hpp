// NumPy arrays as arguments of kernels, without copies or conversions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "support/array.hpp"

namespace thalweg {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Array1 = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array3 = nb::ndarray<nb::numpy, T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class T>
Vector<T> view(const Array1<T>& x) {
    return {x.data(), static_cast<Index>(x.shape(0))};
}
template <class T>
Matrix<T> view(const Array2<T>& x) {
    return {x.data(), static_cast<Index>(x.shape(0)), static_cast<Index>(x.shape(1))};
}
template <class T>
Cube<T> view(const Array3<T>& x) {
    return {x.data(), static_cast<Index>(x.shape(0)), static_cast<Index>(x.shape(1)),
            static_cast<Index>(x.shape(2))};
}

/// Raise ValueError unless shapes fit: kernels rely on them.
inline void require_shapes(bool fit, const char* what) {
    if (!fit) throw nb::value_error(what);
}

/// Arguments are never converted: an output would be written to a copy.
inline auto exact(const char* name) { return nb::arg(name).noconvert(); }

using Released = nb::call_guard<nb::gil_scoped_release>;

}  // namespace thalweg
