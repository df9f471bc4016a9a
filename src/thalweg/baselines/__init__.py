"""Methods that the papers compare with, as estimators.

Streaming methods for nonnegative data: [R] compares with :class:`ONMF`, :class:`INMF`,
:class:`INMFVC`, :class:`OMF`, :class:`OMFDA` and ONMF-IS, which is :class:`OLLef`; [D] with
:class:`OLLef`, :class:`OLWang` and :class:`OLGuan`. Batch methods for complete data, from [A]:
:class:`ArchetypalAnalysis`, :class:`HoyerNMF`, :class:`KimParkNMF` and :class:`PeharzPernkopfNMF`.
"""

from thalweg.baselines.archetypal_analysis import ArchetypalAnalysis
from thalweg.baselines.hoyer import HoyerNMF
from thalweg.baselines.inmf import INMF, INMFVC
from thalweg.baselines.kim_park import KimParkNMF
from thalweg.baselines.ol_guan import OLGuan
from thalweg.baselines.ol_lef import OLLef
from thalweg.baselines.ol_wang import OLWang
from thalweg.baselines.omf import OMF, OMFDA
from thalweg.baselines.onmf import ONMF
from thalweg.baselines.peharz_pernkopf import PeharzPernkopfNMF

__all__ = [
    "INMF",
    "INMFVC",
    "OMF",
    "OMFDA",
    "ONMF",
    "ArchetypalAnalysis",
    "HoyerNMF",
    "KimParkNMF",
    "OLGuan",
    "OLLef",
    "OLWang",
    "PeharzPernkopfNMF",
]
