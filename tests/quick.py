"""The tests of ``make quick``: contracts of the rooms at small size, and a fit of each estimator.

Together they take about half a minute of processor time. ``pytest -m quick`` collects these files
only, so that it starts at once.
"""

from pathlib import Path

__all__ = ["QUICK", "is_quick"]

TESTS = Path(__file__).parent
# File: its quick tests, or nothing where all of them are.
QUICK: dict[str, tuple[str, ...]] = {
    "test_imports.py": (),
    "test_pairwise.py": (),
    "test_public.py": (),
    "test_quick.py": (),
    "checkpoint/test_checkpoint_format.py": (),
    "cli/test_cli_commands.py": ("test_help_lists_the_commands", "test_user_errors_are_one_line"),
    "completion/test_completion.py": ("test_members_keep_the_contract", "test_float32_stays"),
    "divergences/test_divergence_contract.py": (),
    "encoders/test_encoder_contract.py": (
        "test_follows_the_protocol",
        "test_results_are_feasible_and_inputs_not_modified",
        "test_values_at_missing_entries_have_no_effect",
        "test_degenerate_dictionaries",
        "test_no_samples",
        "test_extreme_weights",
    ),
    "estimators/test_estimators_errors.py": ("test_bad_parameters", "test_wrong_width"),
    "estimators/test_estimators_surface.py": (
        "test_attributes",
        "test_decompose_takes_the_data_apart",
        "test_float32_stays",
        "test_tiny_data",
    ),
    "prox/test_prox_contract.py": (),
    "report/test_report_page.py": (),
    "solvers/test_matrix_solvers.py": (),
    "streams/test_stream_contract.py": (),
    "trackers/test_tracker_contract.py": (),
    "updates/test_block_form.py": (),
    "updates/test_dictionary_update.py": (),
}


def is_quick(path: Path, name: str | None = None) -> bool:
    """Return whether a file has quick tests, or whether one of its tests is quick."""
    names = QUICK.get(path.relative_to(TESTS).as_posix()) if path.is_relative_to(TESTS) else None
    return names is not None and (name is None or not names or name in names)
