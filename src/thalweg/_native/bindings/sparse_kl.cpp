#include "kernels/sparse_kl.hpp"

#include <nanobind/stl/tuple.h>

#include <cstdint>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Raise ValueError unless all places are within n rows, n_columns columns and n_values values.
template <class I>
void require_places(const SparsePlaces<I>& places, size_t n, size_t n_columns, size_t n_values) {
    const Vector<const I> indptr = places.indptr, indices = places.indices;
    require_shapes(
        static_cast<size_t>(indptr.size) == n + 1 && static_cast<size_t>(indices.size) == n_values,
        "indptr (n + 1,) and indices must fit the rows and the values.");
    bool fit = indptr[0] >= 0 && indptr[indptr.size - 1] <= indices.size;
    for (Index s = 0; s + 1 < indptr.size; ++s) fit &= indptr[s] <= indptr[s + 1];
    using Unsigned = std::make_unsigned_t<I>;
    Unsigned largest = 0;
    for (Index i = 0; i < indices.size; ++i) {
        const Unsigned column = static_cast<Unsigned>(indices[i]);
        largest = column > largest ? column : largest;
    }
    fit &= indices.size == 0 || largest < n_columns;
    require_shapes(fit, "indptr must not decrease, and indices must be columns.");
}

template <class T, class I>
void bind(nb::module_& m) {
    m.def(
        "sampled_products",
        [](Array1<const I> indptr, Array1<const I> indices, Array2<const T> W, Array2<const T> H,
           Array1<T> found) {
            const SparsePlaces<I> places{view(indptr), view(indices)};
            require_shapes(W.shape(1) == H.shape(1), "W (F, K) and H (n, K) must fit.");
            require_places(places, H.shape(0), W.shape(0), found.shape(0));
            on_target([&]<class Target>() {
                SparseKLKernels<Target, T, I>::sampled_products(places, view(W), view(H),
                                                                view(found));
            });
        },
        exact("indptr"), exact("indices"), exact("W"), exact("H"), exact("found"), Released(),
        "Set found to the entries of H W' at the places of a sparse matrix of rows (CSR).");
    m.def(
        "sparse_kl_codes",
        [](const std::tuple<Array1<const T>, Array1<const I>, Array1<const I>>& rows,
           Array2<const T> W, Array2<const T> mass, Array2<T> H, Array1<T> loss,
           const SparseKLSettings& settings) {
            const auto& [values, indices, indptr] = rows;
            const size_t n = H.shape(0), K = H.shape(1);
            const SparsePlaces<I> places{view(indptr), view(indices)};
            require_shapes(W.shape(1) == K && mass.shape(1) == K && loss.shape(0) == n &&
                               (mass.shape(0) == 1 || mass.shape(0) == n),
                           "W (F, K), mass (1 or n, K), H (n, K) and loss (n,) must fit.");
            require_places(places, n, W.shape(0), values.shape(0));
            on_target([&]<class Target>() {
                SparseKLKernels<Target, T, I>::sparse_kl_codes(
                    places, view(values), view(W), view(mass), {view(H), view(loss)}, settings);
            });
        },
        exact("rows"), exact("W"), exact("mass"), exact("H"), exact("loss"), "settings"_a,
        Released(),
        "Minimise mass'h - sum_i v_i log((W h)_i + offset sum(v)) over h >= 0, from the rows of H."
        "\n\nrows are data, indices and indptr of the sparse matrix of samples v (CSR). loss is "
        "set "
        "to the divergence, negative where the duality gap stayed above tol.");
}

}  // namespace

void bind_sparse_kl(nb::module_& m) {
    using Settings = SparseKLSettings;
    nb::class_<Settings>(m, "SparseKLSettings", "Settings of sparse_kl_codes.")
        .def(
            "__init__",
            [](Settings* self, double offset, double tol, Index max_steps) {
                new (self) Settings{offset, tol, max_steps};
            },
            nb::kw_only(), "offset"_a, "tol"_a, "max_steps"_a);
    bind<float, std::int32_t>(m);
    bind<double, std::int32_t>(m);
    bind<float, std::int64_t>(m);
    bind<double, std::int64_t>(m);
}

}  // namespace thalweg
