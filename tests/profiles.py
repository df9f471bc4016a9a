"""Numbers of examples that Hypothesis draws; ``--hypothesis-profile=long`` draws many more."""

from hypothesis import HealthCheck, settings

LONG = "long"
settings.register_profile(LONG, max_examples=500, deadline=None, print_blob=True)


def budget(few: int) -> settings:
    """Return settings for ``few`` examples, always the same, or for a long run."""
    quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    if settings.default.max_examples == settings.get_profile(LONG).max_examples:
        return settings(settings.get_profile(LONG), suppress_health_check=quiet)
    return settings(
        max_examples=few,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=quiet,
    )
