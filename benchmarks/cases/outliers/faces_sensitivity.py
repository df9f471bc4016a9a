"""[O] Fig. 10-15: the settings that Fig. 2-6 vary, on faces with salt and pepper.

Figures
    [O] S-10: Fig. 10 (a) (online and batch, canonical), 11 (mini-batch size tau), 12 (K), 13 (rho
    of the ADMM), 14 (kappa of the PGD), 15 (more outliers). Fig. 10 (b), ORPCA and ONMF, by where
    its curves end: ``robust_faces``, whose PSNR is that loss in decibels (49).
Data
    ``cbcl_faces.npz`` in the folder that ``THALWEG_DATA`` names: faces of 19 x 19, each divided
    by its maximum. 400 of 2429 are held out; of the others 2 copies (the paper: 50; 1000 faces
    with ``--quick``) in random order, then uniform noise on [-1, 1] on 10 % of the pixels of 70 %
    of all faces, or as in Fig. 15.
Settings
    As in ``robust_sensitivity``, with F = 361; batch methods for 4 s of processor time (1 s with
    ``--quick``), whether or not they have converged by then.
Measure
    Loss (7) of the held-out faces, their codes found to 1e-4 with the components of that time.
Claims
    As in ``robust_sensitivity``: the paper's results on faces agree with those on its synthetic
    data.
Picture
    ``docs/images/faces_sensitivity.png`` (``results/quick/`` with ``--quick``).
"""

from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.cases.outliers import _insensitivity
from benchmarks.cases.outliers._insensitivity import Setting
from benchmarks.shared.faces import faces, salted
from benchmarks.shared.pictures import picture

HELD_OUT, COPIES = 400, 2
FIGURES = ("Fig. 11", "Fig. 10, 12", "Fig. 13", "Fig. 14", "Fig. 15")


def run(quick: bool) -> dict[str, Any]:
    """Run every method that has a setting at each of its values, and draw."""
    images, _ = faces("cbcl_faces")
    images = images[np.random.default_rng(0).permutation(len(images))]
    held_out, others = images[:HELD_OUT], images[HELD_OUT:]
    n, budget = (1000, 1.0) if quick else (COPIES * len(others), 4.0)

    def data(setting: Setting) -> tuple[Any, Any]:
        rng = np.random.default_rng(1)
        copies = others[rng.permutation(n) % len(others)]
        return salted(copies, *setting.outliers, rng), salted(held_out, *setting.outliers, rng)

    found = _insensitivity.sweeps(data, budget)
    result = {"n_samples": n, "n_held_out": HELD_OUT, "batch_seconds": budget, "sweeps": found}
    title = f"[O] Fig. 10-15: CBCL faces, N = {n:,}"
    _insensitivity.draw(result, FIGURES, title, picture("faces_sensitivity", quick))
    return result


def report(result: dict[str, Any]) -> str:
    """Return the last losses and seconds of each sweep, and the claims."""
    return _insensitivity.report(result)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return where insensitivity ends."""
    return _insensitivity.findings(result)
