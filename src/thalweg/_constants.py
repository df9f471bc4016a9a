"""Constants of statistics that several rooms use."""

__all__ = ["MAD_TO_STANDARD_DEVIATION"]

# Standard deviation of a normal variable over its median absolute deviation, 1 / Phi^-1(3/4): the
# factor that makes the median absolute deviation (MAD) consistent.
MAD_TO_STANDARD_DEVIATION = 1.482602218505602
