"""[A] Sparse archetypal factorisation."""
