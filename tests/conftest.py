"""Settings for every test. Fixtures stand beside the tests that need them."""

from hypothesis import HealthCheck, settings

# ci: the same examples on every machine, every day. dev: fresh ones, `tools/test --hypothesis-profile=dev`.
# No deadlines and no too_slow: both read the wall clock, and a busy machine is not a bug.
WITHOUT_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", WITHOUT_CLOCK, derandomize=True, database=None)
settings.register_profile("dev", WITHOUT_CLOCK)
settings.load_profile("ci")
