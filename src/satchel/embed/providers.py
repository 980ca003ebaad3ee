"""Models behind endpoints of the OpenAI protocol (`.../embeddings`, `.../chat/completions`), and those of the settings.

The address comes from the user's own settings or environment, never from a repository, and the key only from an
environment variable that the settings name. Nothing is sent unless the user configured it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from satchel.embed import Embedder, normalised
from satchel.embed.static import StaticTable
from satchel.errors import ConfigError, EmbeddingError, JudgeError, MissingExtraError
from satchel.settings import Settings
from satchel.system import telemetry
from satchel.types import CONTEXT_TYPES, Failure, Kind

if TYPE_CHECKING:
    import httpx

    from satchel.embed import Vectors

ADDED = "install satchel with its extra `{}`, `satchel doctor` says how"
"""What to do about a missing extra, in an answer, which shows no path of this machine."""

BATCH = 64
"""Texts of one request: far below every known limit, with few round trips."""

TRIES = 4
"""Attempts of a request when the server is busy or away."""

LONGEST_PAUSE_SECONDS = 20.0
"""Pauses double from the first one to the longest; a longer `Retry-After` is respected up to the longest."""

PAUSE_SECONDS = 60.0
"""Time for which an endpoint that could not be reached is not asked again: each attempt may take its full timeout."""

_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_TOO_LONG = frozenset({400, 413, 422})


class EndpointOptions(Struct, frozen=True):
    """The address and model of an endpoint.

    `url` is the base, as in `http://localhost:11434/v1`; `key` is empty if none is needed.
    """

    url: str
    model: str
    dimension: int
    key: str = ""
    max_tokens: int = 8_000  # tokens of a text that are sent, roughly: what current models take
    timeout_seconds: float = 30.0


class Endpoint:
    """An embedder over HTTP. `client` and `pause` can be replaced, for tests and for proxies."""

    is_quick = is_table = False

    def __init__(
        self, options: EndpointOptions, client: httpx.Client | None = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._options = options
        self._client = client
        self._pause = pause
        # The address does not matter, because the same model gives the same vectors anywhere.
        self.id, self.dimension, self.max_tokens = f"endpoint:{options.model}", options.dimension, options.max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 per text, in their order. Raises EmbeddingError."""
        import numpy as np

        with telemetry.span(telemetry.EMBEDDINGS, self._options.model, {telemetry.MODEL: self._options.model}):
            parts = [self._batch(texts[start : start + BATCH], TRIES) for start in range(0, len(texts), BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question. Raises EmbeddingError at the first refusal."""
        # Attempts for a question, which does not wait: words answer it as well.
        vector: Vectors = self._batch([text], 1)[0]
        return vector

    def close(self) -> None:
        """Release the connections."""
        if self._client is not None:
            self._client.close()

    def _batch(self, texts: Sequence[str], tries: int) -> Vectors:
        """Return the vectors of one request; if it is too long, of its halves, and finally of a shorter text."""
        import numpy as np

        # Characters per token at which a text is cut before it is sent: the model ignores the rest.
        sent = [text[: self.max_tokens * 8] or " " for text in texts]
        response = self._send(sent, tries)
        if response.status_code in _TOO_LONG and len(sent) > 1:
            middle = len(sent) // 2
            return np.concatenate([self._batch(sent[:middle], tries), self._batch(sent[middle:], tries)])
        # Characters below which a single text is not shortened any more when the server calls it too long.
        if response.status_code in _TOO_LONG and _says_too_long(response) and len(sent[0]) > 200:
            return self._batch([sent[0][: len(sent[0]) // 2]], tries)
        if response.status_code != 200:
            raise EmbeddingError(f"{self._options.url} answered {response.status_code}: {response.text[:200].strip()}")
        return self._vectors(response, len(sent))

    def _send(self, texts: Sequence[str], tries: int) -> httpx.Response:
        client = self._opened()
        import httpx

        for remaining in range(tries - 1, -1, -1):
            try:
                response = client.post(
                    f"{self._options.url.rstrip('/')}/embeddings",
                    json={"model": self._options.model, "input": list(texts), "encoding_format": "float"},
                    headers={"Authorization": f"Bearer {self._options.key}"} if self._options.key else {},
                )
            except httpx.InvalidURL as error:
                raise EmbeddingError(f"embed.endpoint {self._options.url} is not an address: {error}") from error
            except httpx.HTTPError as error:
                if not remaining:
                    reason = str(error) or type(error).__name__
                    raise EmbeddingError(f"{self._options.url} cannot be reached: {reason}") from error
                named = 0.0
            else:
                if response.status_code not in _BUSY or not remaining:
                    return response
                named = _seconds(response.headers)
            wait = 1.0 * 2 ** (tries - 1 - remaining)
            self._pause(min(max(named, wait), LONGEST_PAUSE_SECONDS))
        raise AssertionError("the last try returns or raises")

    def _opened(self) -> httpx.Client:
        if self._client is None:
            try:
                import httpx
            except ImportError as error:
                raise MissingExtraError(f"an endpoint needs httpx: {ADDED.format('embed')}") from error
            # Redirects could lead the key elsewhere.
            self._client = httpx.Client(timeout=self._options.timeout_seconds, follow_redirects=False)
        return self._client

    def _vectors(self, response: httpx.Response, count: int) -> Vectors:
        """Return the vectors in the order of the texts. Raises EmbeddingError."""
        import numpy as np

        try:
            rows = sorted(response.json()["data"], key=lambda row: int(row["index"]))
            vectors = [(int(row["index"]), row["embedding"]) for row in rows]
            if [index for index, _ in vectors] != list(range(count)):
                raise EmbeddingError(f"{self._options.url} gave {len(vectors)} vectors for {count} texts")
            sizes = {len(vector) for _, vector in vectors}
            if sizes != {self.dimension}:
                wrong = min(sizes - {self.dimension})
                raise EmbeddingError(
                    f"{self._options.model} gives vectors of {wrong} numbers, not {self.dimension}: "
                    f"set embed.dimension to {wrong}"
                )
            matrix = np.array([vector for _, vector in vectors], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddingError(f"{self._options.url} gave an answer that cannot be parsed: {error!r}") from error
        if not np.isfinite(matrix).all() or not np.abs(matrix).max(axis=1).all():
            raise EmbeddingError(f"{self._options.model} gave a vector with NaN, infinity or only zeros")
        return normalised(matrix)


def _says_too_long(response: httpx.Response) -> bool:
    """Return whether a refusal is for length: 413 always, others if their text mentions it."""
    text = response.text[:2_000].lower()
    return response.status_code == 413 or any(
        word in text for word in ("too long", "maximum context", "token", "length", "too large")
    )


def _seconds(headers: Mapping[str, Any]) -> float:
    """Return the seconds of `Retry-After`, 0 if it is absent or a date."""
    try:
        return max(float(headers.get("retry-after", 0.0)), 0.0)
    except ValueError:
        return 0.0


class Choice(Struct, frozen=True):
    """The embedder, None for words only. `failure` is set if the settings ask for another one that is not available."""

    embedder: Embedder | None
    failure: Failure | None = None


def choose(settings: Settings, cache: Path, environ: Mapping[str, str]) -> Choice:
    """Return the embedder of the settings. Nothing is loaded and nothing is sent.

    `auto` chooses the endpoint if one is configured, else a model that runs here, else the static table, also where
    `embed.weights` names a folder that cannot be used. A fault of the settings is a failure and not an error.
    """
    provider = settings.embed_provider
    if provider == "endpoint" or (provider == "auto" and settings.embed_endpoint):
        try:
            return Choice(_endpoint(settings, environ))
        except ConfigError as error:
            return Choice(None, Failure("vectors", str(error), "keyword search only until then"))
    if provider == "off":
        return Choice(None)
    local = _local(settings.embed_weights, cache) if provider != "static" else Choice(None)
    if local.embedder is not None or provider == "minilm":
        return local
    return Choice(StaticTable(), local.failure if settings.embed_weights else None)


def _local(weights: str, cache: Path) -> Choice:
    """Return the model that runs here: that of the folder `weights`, else MiniLM where it is installed or built."""
    from satchel.embed.minilm import HOW, RUNTIME, MiniLM, missing_parts  # here, because not every user has it

    missing = missing_parts(cache, weights)
    if weights:
        from satchel.embed.sentence import SentenceModel, is_model_folder

        folder = Path(weights).expanduser()
        try:
            if is_model_folder(folder):
                if RUNTIME in missing:
                    raise MissingExtraError(f"the model in {weights} needs {RUNTIME}, which is not installed")
                return Choice(SentenceModel(folder))
        except (EmbeddingError, MissingExtraError) as error:
            return Choice(None, Failure("vectors", str(error), "embed.weights names the folder of the model"))
    if not missing:
        return Choice(MiniLM(cache, weights))
    message = "the embedding model is not installed"
    if weights and RUNTIME not in missing:
        message = f"embed.weights is {weights}, which has neither an ONNX model nor model.safetensors"
    return Choice(None, Failure("vectors", message, HOW))


def _endpoint(settings: Settings, environ: Mapping[str, str]) -> Embedder:
    for key, value in (
        ("embed.endpoint", settings.embed_endpoint),
        ("embed.model", settings.embed_model),
        ("embed.dimension", settings.embed_dimension),
    ):
        if not value:
            raise ConfigError(
                f"{key} is not set: an endpoint for vectors needs its address, its model and their length"
            )
    check_address("embed.endpoint", settings.embed_endpoint)
    return Endpoint(
        EndpointOptions(
            url=settings.embed_endpoint,
            model=settings.embed_model,
            dimension=settings.embed_dimension,
            key=endpoint_key("embed.key_variable", settings.embed_key_variable, environ),
        )
    )


def check_address(setting: str, address: str) -> None:
    """Raise ConfigError for an address of an endpoint that is not one of HTTP."""
    if not address.startswith(("http://", "https://")):
        raise ConfigError(f"{setting} is {address!r}: it must begin with http:// or https://")


def endpoint_key(setting: str, variable: str, environ: Mapping[str, str]) -> str:
    """Return the key of an endpoint from the named environment variable. Raises ConfigError if it is not set."""
    if variable and not environ.get(variable):
        raise ConfigError(f"{setting} names {variable}, which is not set")
    return environ[variable] if variable else ""


def embedded_kinds(settings: Settings, embedder: Embedder | None) -> tuple[Kind, ...]:
    """Return the kinds whose chunks get vectors that are stored, in the order of sections.

    Code is among them where a model runs here; it is sent to an endpoint only if `embed.kinds` names it. A table of
    words embeds code when it is asked about, and does harm to the order of notes.
    """
    names = {*settings.embed_kinds, *(() if isinstance(embedder, Endpoint) else (Kind.CODE.plural,))}
    if not settings.embed_code_chunks:
        names.discard(Kind.CODE.plural)
    if embedder is not None and embedder.is_table:
        names -= {Kind.CODE.plural, Kind.NOTE.plural}
    return tuple(kind for name, kind in CONTEXT_TYPES.items() if name in names)


class ModelOptions(Struct, frozen=True):
    """The base address, as in `http://localhost:11434/v1`, its `setting`, the key (may be empty) and the model."""

    url: str
    model: str
    key: str = ""
    timeout_seconds: float = 5.0
    setting: str = "judge.endpoint"


def model_options(
    settings: Settings, name: str, environ: Mapping[str, str], does: str, seconds: float = 5.0
) -> ModelOptions:
    """Return the endpoint of the settings `NAME.endpoint`, `NAME.model` and `NAME.key_variable`. Raises ConfigError."""
    url, model, variable = (getattr(settings, f"{name}_{part}") for part in ("endpoint", "model", "key_variable"))
    check_address(f"{name}.endpoint", url)
    if not model:
        raise ConfigError(f"{name}.model is not set: an endpoint that {does} needs the name of its model")
    key = endpoint_key(f"{name}.key_variable", variable, environ)
    return ModelOptions(url, model, key, seconds, f"{name}.endpoint")


class _Model:
    """A model behind an endpoint, which is not asked for a while after it could not be reached."""

    def __init__(self, options: ModelOptions) -> None:
        self.options = options
        self._paused_until = 0.0

    def _send(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError(f"a language model needs httpx: {ADDED.format('llm')}") from error
        options = self.options
        if time.monotonic() < self._paused_until:
            raise JudgeError(f"{options.url} could not be reached: it is asked again after {PAUSE_SECONDS:g} s")
        url = f"{options.url.rstrip('/')}/{path}"
        headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
        try:
            # Redirects could lead the key elsewhere.
            with httpx.Client(timeout=options.timeout_seconds, follow_redirects=False) as client:
                return client.post(url, json=body, headers=headers)
        except httpx.InvalidURL as error:
            raise JudgeError(f"{options.setting} {options.url} is not an address: {error}") from error
        except httpx.HTTPError as error:
            self._paused_until = time.monotonic() + PAUSE_SECONDS
            raise JudgeError(f"{options.url} cannot be reached: {str(error) or type(error).__name__}") from error


class ChatModel(_Model):
    """Asks a language model, at temperature 0."""

    def ask(self, instructions: str, prompt: str, max_tokens: int) -> str:
        """Return the text of the answer, at most 200,000 characters.

        Raises JudgeError, without a request for a while after the endpoint could not be reached.
        """
        url, model = self.options.url, self.options.model
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": prompt}]
        body = {"model": model, "temperature": 0, "max_tokens": max_tokens, "messages": messages}
        response = self._send("chat/completions", body)
        if response.status_code != 200:
            raise JudgeError(f"{url} answered {response.status_code}: {response.text[:200].strip()}")
        try:
            content = response.json()["choices"][0]["message"]["content"]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise JudgeError(f"{url} gave an answer that cannot be parsed: {error!r}") from error
        if not isinstance(content, str):
            raise JudgeError(f"{model} answered without text")
        return content[:200_000]
