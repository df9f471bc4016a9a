"""From a file to a result that can be looked at: one function, and one file, per job.

Each job takes a source, learns from it batch by batch, and writes a folder with a report, the
model, and its results in open formats. The command ``thalweg`` calls these functions; nothing here
prints, and how far a job is goes to ``progress``. Options that all of them have are those of
:class:`Common`.
"""

from thalweg.apps._run import Common, Result, Step
from thalweg.apps.apply import apply
from thalweg.apps.complete import complete
from thalweg.apps.demo import demo
from thalweg.apps.denoise import denoise
from thalweg.apps.factor import factor
from thalweg.apps.info import info
from thalweg.apps.separate import separate
from thalweg.apps.topics import topics
from thalweg.apps.track import track
from thalweg.apps.unmix import unmix

# Libraries that only some jobs need are imported by the functions that need them: the names of
# the jobs have to be there at once, since a file has the name of its function.
__all__ = [
    "Common",
    "Result",
    "Step",
    "apply",
    "complete",
    "demo",
    "denoise",
    "factor",
    "info",
    "separate",
    "topics",
    "track",
    "unmix",
]
