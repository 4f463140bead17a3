"""What all measurements share: Django in this process, and how a figure is printed and stored."""

import importlib
import os


def setup_django(**environment: str) -> None:
    """Set Django up here with ``environment``, and with the settings of the parts of ``stack``."""
    os.environ |= {"DJANGO_SETTINGS_MODULE": "benchmarks.settings", **environment}
    import django

    django.setup()


def figure(name: str, ours: float, floor: float, unit: str, **more: float) -> dict[str, dict]:
    """Print `NAME ours=… floor=… ratio=…` and what is `more`; return {name: entry}."""
    entry = {"ours": ours, "floor": floor, "ratio": ours / floor, "unit": unit, **more}
    extra = "".join(f" {key}={value:.2f}" for key, value in more.items())
    print(
        f"{name} ours={ours:.1f}{unit} floor={floor:.1f}{unit} ratio={ours / floor:.3f}{extra}",
        flush=True,
    )
    return {name: entry}


def run(name: str) -> dict[str, dict]:
    """Call `main()` of benchmarks.NAME; its figures, times in seconds where it names no unit."""
    figures = importlib.import_module(f"benchmarks.{name}").main()
    return {key: {"unit": "s", **entry} for key, entry in figures.items()}
