"""[R] Online NMF by robust stochastic approximation."""
