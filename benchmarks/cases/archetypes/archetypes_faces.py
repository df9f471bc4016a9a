"""[A] Fig. 10: archetypes of faces, with and without sparsity and weight.

Figure
    [A] Fig. 10 (5.2).
Data
    ``orl_112x92.npz`` in the folder THALWEG_DATA: 400 faces at 112 x 92 pixels, divided by 255
    (80 of ``orl_32x32.npz`` with ``--quick``).
Settings
    As in ``examples/unmixing.py``: 25 archetypes, weights 0 and 0.4, all entries or 39 % of them
    ([A]: 4000 of 10304), ``init="projections"``, the path of 8 weights, at most 200 sweeps at
    the last ([A]: the start of the outer approximation).
Measures
    *likeness*: correlation of an archetype with the face that it is most like, the mean over the
    25. *whole* and *parts*: archetypes with more than 60 %, and with less than 30 %, of their
    pixels above zero. *error*: |X - W H|^2 / |X|^2.
Claim
    With weight 0.4 archetypes are more like faces than without, both with all entries and with
    39 %; with 39 %, there are whole faces and parts, at both weights.
Picture
    ``docs/images/face_archetypes.png`` (``results/quick/`` with ``--quick``).
"""

from typing import Any

import numpy as np

from benchmarks._findings import Finding
from benchmarks.shared import blas_threads
from benchmarks.shared.data import stored
from benchmarks.shared.examples import example
from benchmarks.shared.pictures import picture
from benchmarks.shared.tables import number, table
from thalweg.metrics import hull_distance

WHOLE, PART, ZERO = 0.6, 0.3, 1e-6


def run(quick: bool) -> dict[str, Any]:
    """Find the archetypes of each setting, and draw them."""
    module = example("unmixing")
    file, stride = ("orl_32x32.npz", 5) if quick else ("orl_112x92.npz", 1)
    with stored(file) as faces:
        images = faces["images"][::stride]
    with blas_threads.limit(1):
        found = module.face_archetypes(images)
    module.draw_faces(found, picture("face_archetypes", quick))
    X = images.reshape(len(images), -1) / 255.0
    rows = [
        {"name": name, "weight": weight, "sparse": share is not None, **_figures(H, X)}
        for (name, H), (weight, share) in zip(found.items(), module.SETTINGS, strict=True)
    ]
    return {"faces": len(X), "rows": rows}


def _figures(images: Any, X: Any) -> dict[str, float]:
    H = images.reshape(len(images), -1)
    centred, faces = (A - A.mean(axis=1, keepdims=True) for A in (H, X))
    sizes = np.outer(np.linalg.norm(centred, axis=1), np.linalg.norm(faces, axis=1))
    shares = np.mean(ZERO * H.max() < H, axis=1)
    return {
        "likeness": float(np.mean(np.max(centred @ faces.T / np.maximum(sizes, ZERO), axis=1))),
        "whole": int(np.sum(shares > WHOLE)),
        "parts": int(np.sum(shares < PART)),
        "error": hull_distance(X, H) / float(np.sum(X**2)),
    }


def report(result: dict[str, Any]) -> str:
    """Return a line per setting, and the claims."""
    rows = [
        (row["name"], number(row["likeness"], ".3f"), row["whole"], row["parts"],
         number(row["error"], ".4f"))
        for row in result["rows"]
    ]  # fmt: skip
    lines = [table(("setting", "likeness", "whole", "parts", "error"), rows)]
    for sparse, name in ((False, "all entries"), (True, "39 % of the entries")):
        free, near = (row for row in result["rows"] if row["sparse"] is sparse)
        held = near["likeness"] > free["likeness"]
        lines.append(f"more like faces with weight 0.4, {name}: {_word(held)}")
    for row in result["rows"]:
        if row["sparse"]:
            held = row["whole"] > 0 and row["parts"] > 0
            lines.append(f"whole faces and parts, weight {row['weight']:g}: {_word(held)}")
    return "\n".join(lines)


def _word(held: bool) -> str:
    return "met" if held else "NOT MET"


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the effect of the weight, and of the sparsity."""
    found = []
    for sparse, name in ((False, "all entries"), (True, "39 % of the entries")):
        free, near = (row for row in result["rows"] if row["sparse"] is sparse)
        sentence = (
            f"With {name}, weight 0.4 raises the mean correlation of an archetype with its nearest "
            f"face from {free['likeness']:.3f} to {near['likeness']:.3f}, and the error from "
            f"{free['error']:.4f} to {near['error']:.4f}."
        )
        held = near["likeness"] > free["likeness"] and near["error"] > free["error"]
        found.append(Finding(sentence, held))
    free, near = (row for row in result["rows"] if row["sparse"])
    sentence = (
        f"With 39 % of the entries, archetypes that are whole faces and those that are parts: "
        f"{free['whole']} and {free['parts']} with weight 0, {near['whole']} and {near['parts']} "
        "with 0.4."
    )
    both = all(row[key] > 0 for row in (free, near) for key in ("whole", "parts"))
    return [*found, Finding(sentence, both)]
