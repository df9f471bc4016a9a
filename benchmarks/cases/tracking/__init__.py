"""[T] Subspace tracking and completion with gaps and outliers."""
