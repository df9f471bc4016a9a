"""Laws of the residuals of a fit: noise scales, p-values, and control of false discoveries.

Residuals are counted while a stream is learned, on a logarithmic grid for each feature
(:mod:`thalweg.noise.residual_counts`). From the counts a robust scale of each feature and the tail
that all features share are estimated (:mod:`thalweg.noise.residual_law`) when they are needed.
"""
