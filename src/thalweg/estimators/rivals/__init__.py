"""Methods that the papers compare with, under their own names: compositions, no loops.

Each function returns an estimator that is ready to fit. [D] compares with OL-Lef, OL-Wang and
OL-Guan; [R] with ONMF, ONMF-IS (which is OL-Lef), INMF, INMF-VC, OMF and OMF-DA.
"""

from thalweg.estimators.rivals.divergences import ol_lef, ol_wang
from thalweg.estimators.rivals.incremental import inmf, inmf_vc, onmf
from thalweg.estimators.rivals.surrogates import ol_guan, omf, omf_da

__all__ = ["inmf", "inmf_vc", "ol_guan", "ol_lef", "ol_wang", "omf", "omf_da", "onmf"]
