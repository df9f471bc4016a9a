"""[D] Online factorisation under divergences."""
