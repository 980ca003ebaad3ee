from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import numpy as np
import pytest

from satchel.embed.providers import BATCH, LONGEST_PAUSE_SECONDS, TRIES, Endpoint, EndpointOptions
from satchel.errors import EmbeddingError, MissingExtraError

URL = "http://127.0.0.1:9/v1/"
DIMENSION = 4

Answer = Callable[[list[str], int], httpx.Response]


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 2.0, 3.0]


def good(texts: list[str], _: int = 0) -> httpx.Response:
    """A server that gives the vectors in the wrong order."""
    rows = [{"index": index, "embedding": vector(text)} for index, text in enumerate(texts)]
    return httpx.Response(200, json={"data": rows[::-1]})


class Server:
    """Answers from a function and remembers what it was asked and how long the client paused."""

    def __init__(self, answer: Answer, **options: Any) -> None:
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []
        self._answer = answer
        settings = {"url": URL, "model": "m", "dimension": DIMENSION, **options}
        client = httpx.Client(transport=httpx.MockTransport(self._handle))
        self.endpoint = Endpoint(EndpointOptions(**settings), client, self.pauses.append)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answer(self.texts(-1), len(self.requests))

    def texts(self, number: int) -> list[str]:
        return list(json.loads(self.requests[number].content)["input"])


def test_vectors_come_back_in_the_order_of_the_texts_with_length_one() -> None:
    server = Server(good, key="k")
    texts = ["a", "bbbb", "cc"]
    found = server.endpoint.embed_documents(texts)
    for row, text in zip(found, texts, strict=True):
        assert np.allclose(row, np.array(vector(text)) / np.linalg.norm(vector(text)))
    (request,) = server.requests
    assert str(request.url) == "http://127.0.0.1:9/v1/embeddings"
    assert request.headers["authorization"] == "Bearer k"
    assert json.loads(request.content)["model"] == "m"
    server.endpoint.close()


def test_without_a_key_none_is_sent() -> None:
    server = Server(good)
    assert server.endpoint.embed_query("a").shape == (DIMENSION,)
    assert "authorization" not in server.requests[0].headers
    assert (server.endpoint.id, server.endpoint.is_quick, server.endpoint.max_tokens) == ("endpoint:m", False, 8_000)


def test_many_texts_are_sent_in_batches() -> None:
    server = Server(good)
    assert server.endpoint.embed_documents(["a"] * (BATCH + 1)).shape == (BATCH + 1, DIMENSION)
    assert [len(server.texts(number)) for number in range(2)] == [BATCH, 1]
    assert server.endpoint.embed_documents([]).shape == (0, DIMENSION)


def test_a_batch_that_is_too_long_is_halved_until_it_fits() -> None:
    def answer(texts: list[str], _: int) -> httpx.Response:
        return good(texts) if len(texts) <= 2 else httpx.Response(413, text="too large")

    server = Server(answer)
    assert server.endpoint.embed_documents([str(n) * (n + 1) for n in range(7)]).shape == (7, DIMENSION)
    assert [len(server.texts(number)) for number in range(len(server.requests))] == [7, 3, 1, 2, 4, 2, 2]


def test_a_text_that_is_too_long_is_shortened_until_it_fits() -> None:
    def answer(texts: list[str], _: int) -> httpx.Response:
        too_long = httpx.Response(400, json={"error": {"message": "maximum context length is 100 tokens"}})
        return good(texts) if len(texts[0]) <= 500 else too_long

    server = Server(answer)
    server.endpoint.embed_documents(["x" * 3_000])
    assert len(server.texts(-1)[0]) == 375


def test_a_text_is_never_longer_than_the_model_can_use() -> None:
    server = Server(good, max_tokens=10)
    server.endpoint.embed_documents(["x" * 3_000, ""])
    assert [len(text) for text in server.texts(0)] == [80, 1]


def test_a_busy_server_is_asked_again_after_growing_pauses() -> None:
    def answer(texts: list[str], number: int) -> httpx.Response:
        if number == 1:
            return httpx.Response(429, headers={"retry-after": "7"})
        if number == 2:
            return httpx.Response(503, headers={"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"})
        if number == 3:
            raise httpx.ConnectError("refused")
        return good(texts)

    server = Server(answer)
    assert server.endpoint.embed_documents(["a"]).shape == (1, DIMENSION)
    assert server.pauses == [7.0, 2.0, 4.0]


def test_no_server_can_ask_for_an_endless_pause() -> None:
    server = Server(lambda _, __: httpx.Response(429, headers={"retry-after": "86400"}))
    with pytest.raises(EmbeddingError, match="answered 429"):
        server.endpoint.embed_documents(["a"])
    assert server.pauses == [LONGEST_PAUSE_SECONDS] * (TRIES - 1)


def test_a_question_does_not_wait() -> None:
    def away(_: list[str], __: int) -> httpx.Response:
        raise httpx.ConnectTimeout("")

    server = Server(away)
    with pytest.raises(EmbeddingError, match="cannot be reached: ConnectTimeout"):
        server.endpoint.embed_query("a")
    assert server.pauses == []


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.Response(401, text="bad key"), "answered 401: bad key"),
        (httpx.Response(400, text="no such model"), "answered 400: no such model"),
        (httpx.Response(200, text="<html>"), "an answer that cannot be parsed"),
        (httpx.Response(200, json={"data": [{"index": 0}]}), "an answer that cannot be parsed"),
        (httpx.Response(200, json=[]), "an answer that cannot be parsed"),
        (httpx.Response(200, json={"data": []}), "gave 0 vectors for 1 texts"),
        (httpx.Response(200, json={"data": [{"index": 1, "embedding": [1, 2, 3, 4]}]}), "gave 1 vectors for 1 texts"),
        (httpx.Response(200, json={"data": [{"index": 0, "embedding": [1, 2]}]}), "set embed.dimension to 2"),
        (httpx.Response(200, content=b'{"data":[{"index":0,"embedding":[1,NaN,3,4]}]}'), "NaN, infinity"),
        (httpx.Response(200, json={"data": [{"index": 0, "embedding": [0, 0, 0, 0]}]}), "only zeros"),
        (httpx.Response(302, headers={"location": "http://127.0.0.1:1/"}), "answered 302"),
    ],
    ids=["key", "model", "html", "no vector", "a list", "none", "wrong index", "dimension", "nan", "zeros", "redirect"],
)
def test_an_answer_that_is_wrong_is_refused_with_its_reason(response: httpx.Response, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        Server(lambda _, __: response).endpoint.embed_documents(["a"])


def test_an_address_that_is_none_is_named() -> None:
    with pytest.raises(EmbeddingError, match="is not an address"):
        Server(good, url="http://a:b").endpoint.embed_documents(["a"])


def test_without_httpx_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"extra `embed`"):
        Endpoint(EndpointOptions(URL, "m", DIMENSION)).embed_query("a")


def test_a_real_client_is_opened_when_first_needed_and_follows_no_redirect() -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = Endpoint(EndpointOptions(f"http://127.0.0.1:{server.server_port}/v1", "m", DIMENSION))
        with pytest.raises(EmbeddingError, match="answered 307"):
            endpoint.embed_query("a")
        endpoint.close()
        server.shutdown()
    assert asked == ["/v1/embeddings"]
    endpoint = Endpoint(EndpointOptions(URL, "m", DIMENSION, timeout_seconds=0.5))
    with pytest.raises(EmbeddingError, match="cannot be reached"):
        endpoint.embed_query("a")
    endpoint.close()
