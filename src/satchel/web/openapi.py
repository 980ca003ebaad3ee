"""GET /openapi.json: the API as an OpenAPI 3.1 document, generated from the operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel import __version__
from satchel.operations.operation import Operation
from satchel.operations.registry import OPERATIONS
from satchel.web.routes import VIEWS

Json = dict[str, Any]

ERROR_SCHEMA: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "message", "hint"],
            "properties": {
                "type": {"type": "string", "description": "What kind of error it is, as in UsageError."},
                "message": {"type": "string", "description": "What is wrong, with the value and the limit."},
                "hint": {"type": "string", "description": "The next step; empty where there is none."},
            },
        }
    },
}

REFUSALS: Mapping[str, str] = {
    "400": "An argument is impossible; the message names it.",
    "401": "No session and no token.",
    "403": "A page of another site asks.",
    "408": "The body did not arrive in time.",
    "409": "Another process holds the index or the store; ask again.",
    "413": "The body is too large.",
    "415": "The body is not declared as JSON.",
    "421": "The Host is not a name of this server.",
    "500": "Something failed inside.",
    "501": "An optional part is not installed; the message names it.",
    "503": "Too many requests are waiting, or the server is ending; ask again after Retry-After seconds.",
}

EVERYWHERE = ("401", "403", "421")
"""Status codes that the middleware may return for every route."""


def openapi() -> Json:
    """Return the document, the same in every process of one version."""
    paths: Json = {f"/api/{name}": {"post": _post(operation)} for name, operation in OPERATIONS.items()}
    for name in VIEWS:
        paths[f"/api/{name}"]["get"] = _get(OPERATIONS[name])
    paths |= {path: {"get": _plain(*row)} for path, row in _PLAIN_ROUTES.items()}
    paths["/mcp"] = {"post": _plain("mcp", "The Model Context Protocol over streamable HTTP.")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "satchel",
            "version": __version__,
            "summary": "Contexts for questions about one folder, packed into a token budget.",
            "description": (
                "The same operations and answers as the command line with --json and as the tools over MCP. "
                "Send the token of the server as a bearer token; pages of other sites are refused."
            ),
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR_SCHEMA},
            "responses": {code: _refusal(text) for code, text in REFUSALS.items()},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "satchel-PORT"},
            },
        },
    }


_PLAIN_ROUTES: Mapping[str, tuple[str, str]] = {
    "/healthz": ("health", "Say that the server answers."),
    "/openapi.json": ("openapi", "This document."),
    "/api/hooks": ("hooks", "What the hooks of editors injected, the newest last; `limit` entries."),
    "/api/options": ("options", "The choices that arguments have, and the defaults in force."),
}


def _post(operation: Operation) -> Json:
    return {
        "operationId": operation.name,
        "summary": operation.title,
        "description": operation.description,
        "requestBody": {
            "required": any(one.is_required for one in operation.parameters),
            "content": {"application/json": {"schema": operation.json_schema()}},
        },
        "responses": _responses(operation.output, REFUSALS),
    }


def _get(operation: Operation) -> Json:
    rows = [
        {"name": one.name, "in": "query", "required": one.is_required, "schema": one.schema()}
        for one in operation.parameters
    ]
    codes = [code for code in REFUSALS if code not in {"408", "413", "415"}]
    return {
        "operationId": f"get_{operation.name}",
        "summary": operation.title,
        "description": operation.description,
        "parameters": rows,
        "responses": _responses(operation.output, codes),
    }


def _plain(name: str, summary: str) -> Json:
    return {"operationId": name, "summary": summary, "responses": _responses({"type": "object"}, EVERYWHERE)}


def _responses(schema: Mapping[str, Any], refusals: Mapping[str, str] | list[str] | tuple[str, ...]) -> Json:
    done = {"description": "The answer.", "content": {"application/json": {"schema": dict(schema)}}}
    return {"200": done} | {code: {"$ref": f"#/components/responses/{code}"} for code in refusals}


def _refusal(text: str) -> Json:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
