"""What turns texts into vectors: whether there is something, and how to get it."""

from __future__ import annotations

from collections.abc import Mapping

from satchel import config
from satchel.doctor.check import Check, ok, warn
from satchel.embed.choose import choose
from satchel.embed.minilm import INSTALL, missing_parts


def vectors(loaded: config.LoadedSettings, homes: config.Folders, environ: Mapping[str, str]) -> Check:
    """Whether there is an embedder. Nothing is loaded and nothing is sent: an endpoint is not asked."""
    settings = loaded.settings
    choice = choose(settings, homes.cache, environ)
    if choice.failure is not None:
        return warn("vectors", choice.failure.message, INSTALL if settings.embed_provider == "minilm" else _SETTINGS)
    if choice.embedder is not None:
        return ok("vectors", f"made by {choice.embedder.id}" + (f" at {_host(settings)}" if _is_far(settings) else ""))
    if settings.embed_provider == "off":
        return ok("vectors", "switched off (embed.provider): words alone answer")
    lacks = " and ".join(missing_parts(homes.cache, settings.embed_weights))
    return warn("vectors", f"words alone answer: the model that runs here lacks {lacks}", INSTALL)


_SETTINGS = "set it in your own settings file: satchel config show --origin"


def _is_far(settings: config.Settings) -> bool:
    return settings.embed_provider != "minilm" and bool(settings.embed_endpoint)


def _host(settings: config.Settings) -> str:
    """The address without what may stand before the host: a password has no place in a report."""
    return settings.embed_endpoint.split("://")[-1].split("/")[0].rpartition("@")[2]
