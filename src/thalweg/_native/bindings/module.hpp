// One function for each file of bindings, called when the module is imported.
#pragma once

#include <nanobind/nanobind.h>

namespace thalweg {

void bind_projected_cs(nanobind::module_& m);
void bind_robust_regression(nanobind::module_& m);
void bind_petrels(nanobind::module_& m);
void bind_atoms(nanobind::module_& m);
void bind_grams(nanobind::module_& m);
void bind_nnls(nanobind::module_& m);
void bind_robust_codes(nanobind::module_& m);
void bind_rows(nanobind::module_& m);
void bind_sample_means(nanobind::module_& m);
void bind_subspace_tracking(nanobind::module_& m);
void bind_approximation(nanobind::module_& m);
void bind_archetypes(nanobind::module_& m);
void bind_noise(nanobind::module_& m);
void bind_sparse_kl(nanobind::module_& m);
void bind_dynamics(nanobind::module_& m);

}  // namespace thalweg
