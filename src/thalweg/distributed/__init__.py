"""The same fits on a Dask cluster: blocks stay where they are, statistics are added up.

A round sends the dictionary to the workers. Each of them encodes its blocks of rows and sends back
what the update needs to know of them; the centre adds that up in the order of the blocks and moves
the dictionary. So the result does not depend on the number of workers. Without a client the same
functions run here, one block after the other.

Dask is used as it is, and needed only for its own collections and for a client:
``pip install 'thalweg[dask]'``.
"""

from thalweg.distributed._fit import fit
from thalweg.distributed._track import track
from thalweg.distributed._transform import transform

__all__ = ["fit", "track", "transform"]
