"""Complete workflows from a file to a report: one function, and one module, per job.

Each job fits a model to a source batch by batch, and writes a folder with a report, the model, and
the results in open formats. The command ``thalweg`` calls these functions. They print nothing;
``progress`` is called after each batch. :class:`Common` lists the common options.
"""

from thalweg.apps._run import Common, Result
from thalweg.apps.apply import apply
from thalweg.apps.complete import complete
from thalweg.apps.demo import demo
from thalweg.apps.denoise import denoise
from thalweg.apps.factor import factor
from thalweg.apps.forecast import forecast
from thalweg.apps.info import info
from thalweg.apps.separate import separate
from thalweg.apps.topics import topics
from thalweg.apps.track import track
from thalweg.apps.unmix import unmix

# Modules are named like their functions, so these imports cannot be lazy. The functions import
# heavy libraries themselves.
__all__ = [
    "Common",
    "Result",
    "apply",
    "complete",
    "demo",
    "denoise",
    "factor",
    "forecast",
    "info",
    "separate",
    "topics",
    "track",
    "unmix",
]
