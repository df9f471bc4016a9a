"""The methods that [A] compares with, each a small estimator of complete data."""

from thalweg.estimators._rivals.archetypal_analysis import ArchetypalAnalysis
from thalweg.estimators._rivals.hoyer import HoyerNMF
from thalweg.estimators._rivals.kim_park import KimParkNMF
from thalweg.estimators._rivals.peharz_pernkopf import PeharzPernkopfNMF

__all__ = ["ArchetypalAnalysis", "HoyerNMF", "KimParkNMF", "PeharzPernkopfNMF"]
