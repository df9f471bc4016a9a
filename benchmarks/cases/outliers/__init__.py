"""[O] Online factorisation with outliers."""
