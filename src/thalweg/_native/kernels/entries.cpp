#include "kernels/entries.hpp"

#include "kernels/double_sums.hpp"
#include "support/buffer.hpp"
#include "support/interrupt.hpp"
#include "support/pool.hpp"
#include "support/target.hpp"

namespace thalweg {
namespace {

// Entries of one task of the pool: some 50 to 100 microseconds.
constexpr Index entries_per_task = Index(1) << 18;

/// Count the entries of a block.
template <class T>
EntryCounts count_entries(Vector<const T> values, T bound) {
    const auto found = chunked_sums<T, 2>(values.size, [&](auto at, auto* sums) {
        const auto value = at(values), size = modulus(value), one = spread(T(1), value);
        sums[0] += where_observed(one, value);
        sums[1] += where_above(spread(bound, value), size, above(size, T(0)), spread(T(0), value));
    });
    return {values.size - static_cast<Index>(found[0]), static_cast<Index>(found[1])};
}

}  // namespace

template <class Target, class T>
EntryCounts EntryKernels<Target, T>::count_missing_and_tiny(Vector<const T> values, T bound) {
    const Buffer<EntryCounts> counts((values.size + entries_per_task - 1) / entries_per_task);
    parallel_blocks(values.size, entries_per_task, [&](Index begin, Index end) {
        interruption_point();
        counts[begin / entries_per_task] = count_entries(values.slice(begin, end), bound);
    });
    EntryCounts total{0, 0};
    for (Index i = 0; i < counts.vector().size; ++i) {
        total.missing += counts[i].missing;
        total.tiny += counts[i].tiny;
    }
    return total;
}

template struct EntryKernels<Target, float>;
template struct EntryKernels<Target, double>;

}  // namespace thalweg
