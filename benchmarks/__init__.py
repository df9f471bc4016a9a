"""The papers' tables and figures, and other libraries beside thalweg, in one run.

``python -m benchmarks`` runs every case, ``--case NAME`` one of them; ``--quick`` takes less data,
``--full``, the default, all. ``--list`` names them, ``--show`` prints the stored results again,
``--pages`` writes them into ``docs/benchmarks``.

Layout
------
cases/<folder>/
    One file per case, in folders by paper and purpose; the folder's docstring is its title.
    The case's docstring names the table, figure or claim, the data and the settings. It has
    ``run(quick) -> dict`` (numbers, ready for JSON) and ``report(result) -> str`` (the same as
    text); ``findings(result)`` where pages say something about the outcome; ``THREADS = n``
    where BLAS may use more than one thread. Names are unique over all folders. Private modules
    of a folder hold what its cases share.
shared/
    What cases of several folders use: data, timing, tables, pictures.
peers/
    One file per library: ``methods(...)`` returns its :class:`benchmarks.shared.timing.Method`.
results/
    ``<case>.json``: settings, times and ratios with machine, versions, date and revision.
    Those of ``--quick`` are in ``results/quick`` and never replace the others.

Each case runs in a process of its own, with the number of BLAS threads set before NumPy is
imported. A new case is a new file in a folder of ``cases/``, a new library one in
``peers/``.
"""
