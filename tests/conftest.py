"""Settings of the whole suite: how hard Hypothesis tries, and where vectors are read from."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "canonry",
    max_examples=1000,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For a long look: pytest --hypothesis-profile=hard
settings.register_profile("hard", settings.get_profile("canonry"), max_examples=50_000)
settings.load_profile("canonry")
