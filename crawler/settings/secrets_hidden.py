"""Settings as they are kept and shown: without the secrets in them."""

from typing import Any

from canonry.crawler.settings.proxies import shown_proxy


def without_secrets(settings: Any) -> Any:  # noqa: ANN401 - plain data
    """Return settings as plain data, in which the values of headers and passwords are ``***``."""
    if not isinstance(settings, dict):
        return settings
    shown = {key: without_secrets(value) for key, value in settings.items()}
    if "headers" in shown:
        shown["headers"] = [f"{line.partition(':')[0]}: ***" for line in shown["headers"]]
    if "timeout" not in shown and shown.get("cookies"):  # in [fetch] it is the name of a file
        shown["cookies"] = "***"
    if shown.get("proxy"):
        shown["proxy"] = shown_proxy(shown["proxy"])
    if "basic_auth" in shown:
        shown["basic_auth"] = "***"
    return shown
