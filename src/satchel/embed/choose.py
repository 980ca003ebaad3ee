"""Choose the embedder of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from satchel.embed.minilm import INSTALL, MiniLM, missing_parts
from satchel.embed.protocol import Embedder
from satchel.errors import ConfigError
from satchel.settings import Settings
from satchel.types import CONTEXT_TYPES, Failure, Kind


@dataclass(frozen=True, slots=True)
class Choice:
    """The embedder, None for words only. `failure` is set if the settings ask for one that is not available."""

    embedder: Embedder | None
    failure: Failure | None = None


def choose(settings: Settings, cache: Path, environ: Mapping[str, str]) -> Choice:
    """Return the embedder of the settings. Nothing is loaded and nothing is sent.

    `auto` chooses the endpoint if one is configured, else the local model if it is installed. A fault of the settings
    is a failure and not an error: words answer without vectors.
    """
    provider = settings.embed_provider
    if provider == "endpoint" or (provider == "auto" and settings.embed_endpoint):
        try:
            return Choice(_endpoint(settings, environ))
        except ConfigError as error:
            return Choice(None, Failure("vectors", str(error), "words alone answer until then"))
    if provider == "off":
        return Choice(None)
    if not missing_parts(cache, settings.embed_weights):
        return Choice(MiniLM(cache, settings.embed_weights))
    if provider == "minilm":
        return Choice(None, Failure("vectors", "the model is not installed, words alone answer", INSTALL))
    return Choice(None)


def _endpoint(settings: Settings, environ: Mapping[str, str]) -> Embedder:
    from satchel.embed.endpoint import Endpoint, EndpointOptions

    for key, value in (
        ("embed.endpoint", settings.embed_endpoint),
        ("embed.model", settings.embed_model),
        ("embed.dimension", settings.embed_dimension),
    ):
        if not value:
            raise ConfigError(
                f"{key} is not set: an endpoint for vectors needs its address, its model and their length"
            )
    if not settings.embed_endpoint.startswith(("http://", "https://")):
        raise ConfigError(f"embed.endpoint is {settings.embed_endpoint!r}: it must begin with http:// or https://")
    key = ""
    if settings.embed_key_variable:
        key = environ.get(settings.embed_key_variable, "")
        if not key:
            raise ConfigError(f"embed.key_variable names {settings.embed_key_variable}, which is not set")
    return Endpoint(
        EndpointOptions(
            url=settings.embed_endpoint,
            model=settings.embed_model,
            dimension=settings.embed_dimension,
            key=key,
            max_tokens=settings.embed_max_tokens,
            timeout_seconds=settings.embed_timeout_s,
        )
    )


def embedded_kinds(settings: Settings) -> tuple[Kind, ...]:
    """Return the kinds whose chunks get vectors, in the order of sections."""
    return tuple(kind for name, kind in CONTEXT_TYPES.items() if name in settings.embed_kinds)
