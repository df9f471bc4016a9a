#include "bindings/module.hpp"

#include <atomic>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

#include "bindings/arrays.hpp"
#include "support/blas.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

/// Identity of the thread that runs Python's handlers of signals.
std::atomic<unsigned long> main_thread;

void find_main_thread() {
    const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
    main_thread = nb::cast<unsigned long>(thread.attr("ident"));
#if __has_include(<pthread.h>)
    // A child has one thread, that which forked.
    pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
#endif
}

/// Run the handlers of signals that have arrived; true if one raised, such as KeyboardInterrupt.
///
/// Other threads than the main one handle no signals, and do not wait for the GIL: a daemon thread
/// would end in it while the interpreter shuts down.
bool handle_signals() {
    if (PyThread_get_thread_ident() != main_thread) return false;
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

/// Interrupted comes with the exception of the handler, which is already set.
void translate(const std::exception_ptr& error, void*) {
    try {
        std::rethrow_exception(error);
    } catch (const Interrupted&) {
        if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
}

/// Return the function in a capsule of scipy.linalg.cython_blas.
template <class Function>
Function exported(const nb::dict& capsules, const char* name) {
    const nb::object capsule = capsules[name];
    void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
    if (pointer == nullptr) throw nb::python_error();
    return reinterpret_cast<Function>(pointer);
}

void use_blas() {
    const nb::object module = nb::module_::import_("scipy.linalg.cython_blas");
    const nb::dict capsules = nb::cast<nb::dict>(module.attr("__pyx_capi__"));
    blas_float.gemm = exported<Blas<float>::Gemm>(capsules, "sgemm");
    blas_double.gemm = exported<Blas<double>::Gemm>(capsules, "dgemm");
}

}  // namespace
}  // namespace thalweg

NB_MODULE(_thalweg_core, m) {
    using namespace thalweg;
    m.doc() = "Compiled loops on arrays. Rows are samples.";
    nb::set_leak_warnings(false);  // modules that keep settings are not freed at exit
    use_blas();
    find_main_thread();
    signal_arrived = handle_signals;
    nb::register_exception_translator(translate);
    m.def("target_level", &target_level,
          "Return the level of the x86-64 instruction set in use (2, 3 or 4); 0 elsewhere.");
    m.def("set_target_level", &set_target_level, "level"_a,
          "Use an instruction set of at most this level, for tests.");
    m.def("thread_count", &thread_count, "Return how many threads kernels called from here use.");
    m.def("set_thread_count", &set_thread_count, "count"_a,
          "Set how many threads kernels called from this thread use; return the number before.");
    m.def("thread_limit", &thread_limit, "Return the largest number of threads of any call.");
    m.def("set_thread_limit", &set_thread_limit, "limit"_a,
          "Set the largest number of threads of any call in the process.");
    bind_projected_cs(m);
    bind_robust_regression(m);
    bind_petrels(m);
    bind_atoms(m);
    bind_grams(m);
    bind_nnls(m);
    bind_robust_codes(m);
    bind_rows(m);
    bind_sample_means(m);
    bind_subspace_tracking(m);
    bind_approximation(m);
    bind_archetypes(m);
    bind_noise(m);
    bind_sparse_kl(m);
    bind_dynamics(m);
}
