"""Methods that the papers compare with, under their own names.

Each function returns an estimator that is ready to fit: compositions, no loops. [D] compares with
OL-Lef, OL-Wang and OL-Guan; [R] with ONMF, ONMF-IS (which is OL-Lef), INMF, INMF-VC, OMF and
OMF-DA. The classes are those of [A], for complete data that are all there at once.
"""

from thalweg.baselines.archetypal_analysis import ArchetypalAnalysis
from thalweg.baselines.divergences import ol_lef, ol_wang
from thalweg.baselines.hoyer import HoyerNMF
from thalweg.baselines.incremental import inmf, inmf_vc, onmf
from thalweg.baselines.kim_park import KimParkNMF
from thalweg.baselines.peharz_pernkopf import PeharzPernkopfNMF
from thalweg.baselines.surrogates import ol_guan, omf, omf_da

__all__ = [
    "ArchetypalAnalysis",
    "HoyerNMF",
    "KimParkNMF",
    "PeharzPernkopfNMF",
    "inmf",
    "inmf_vc",
    "ol_guan",
    "ol_lef",
    "ol_wang",
    "omf",
    "omf_da",
    "onmf",
]
