"""Distributed fits on a Dask cluster: workers encode blocks of rows, and return statistics.

In each round, the dictionary is sent to the workers. Each worker encodes its blocks of rows and
returns the statistics that the update needs. The central process adds them in the order of the
blocks and updates the dictionary, so that the result does not depend on the number of workers.
Without a client the same functions run in this process, one block after the other.

Dask is needed only for its own collections and for a client: ``pip install 'thalweg[dask]'``.
"""

from thalweg.distributed._fit import fit
from thalweg.distributed._track import track
from thalweg.distributed._transform import transform

__all__ = ["fit", "track", "transform"]
