"""Lists of calls and uses against a search of the text: sixty functions and twelve classes of sixteen repositories.

    python -m benchmarks.relations.call_lists FOLDER [--output benchmarks/results/call_lists.json]

FOLDER has the clones that are named below. The functions of the last ten were drawn by seed from those whose name is on
4 to 60 lines of production code. For each function: calls that are resolved, further lines that are listed by
text, and lines of production code that contain the call but are in neither list. What those are is printed, to be read:
comments, declarations, and calls of other definitions of the name.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.search.relations import Relations, definitions_named
from satchel.sources.roles import is_secondary

FUNCTIONS = {
    "flask": [
        "Flask.make_response", "Blueprint.register", "get_load_dotenv", "stream_with_context", "Scaffold.route",
    ],
    "hono": ["defaultMatch", "raw", "parseAccept", "createRoot", "Context.header"],
    "grpc-go": [
        "Event.HasFired", "permissionOr", "connectionErrorf", "clientFilter.getProcChannel",
        "equalAddressIgnoringBalAttributes",
    ],
    "ripgrep": [
        "SummarySink.write_path", "parse_low_raw", "hyperlink_aliases", "WalkBuilder.threads", "Match.is_ignore",
    ],
    "gson": [
        "JsonReader.nextString", "Gson.getAdapter", "JsonElement.getAsString", "JsonWriter.beginArray",
        "JsonPrimitive.isNumber",
    ],
    "leveldb": [
        "WriteBatch.Delete", "PutLengthPrefixedSlice", "Version.GetOverlappingInputs", "NewLRUCache", "TableFileName",
    ],
    "okio": [
        "Buffer.commonReadUtf8CodePoint", "RealBufferedSink.commonWriteIntLe", "Buffer.UnsafeCursor.resizeBuffer",
    ],
    "Alamofire": ["Request.didCreateInitialURLRequest", "MultipartFormData.mimeType", "Session.streamRequest"],
    "os-lib": ["RelPath.fromStringSegments", "PathChunk.segmentsFromStringLiteralValidation", "BasePath.subRelativeTo"],
    "monolog": ["LineFormatter.stringify", "ElasticaHandler.bulkSend", "RotatingFileHandler.setFilenameFormat"],
    "telescope.nvim": ["complete", "telescope_map", "git.status.gen_new_finder"],
    "sinatra": ["Rack.Protection.Base.react", "TemplateCache.clear", "Helpers.cache_control"],
    "serilog": [
        "LogEvent.AddPropertyIfAbsent", "KeyValuePairSettings.LookUpSwitchByName", "FailureAwareBatchScheduler",
    ],
    "libuv": ["uv__getnameinfo_work", "uv_sem_post", "uv__write"],
    "umami": ["updateUser", "PageBody", "normalizeTimezone"],
    "starlette": ["TestClient.delete", "Starlette.add_route", "Router.startup"],
}  # fmt: skip

CLASSES = {
    "flask": ["SecureCookieSessionInterface", "BlueprintSetupState"],
    "hono": ["HonoRequest", "TrieRouter"],
    "grpc-go": ["serverHandlerTransport", "CallOption"],
    "ripgrep": ["WalkBuilder", "Sink"],
    "gson": ["TypeAdapterFactory", "JsonReader"],
    "leveldb": ["WriteBatch", "Comparator"],
}


def by_text(root: Path, name: str, end: str) -> list[tuple[str, int, str]]:
    """(path, line, text) of every line of production code that contains a name and this end, as git grep finds it."""
    pattern = rf"(^|[^A-Za-z0-9_]){re.escape(name)}{end}"
    found = subprocess.run(["git", "grep", "-nE", pattern], cwd=root, capture_output=True, text=True, check=False)
    rows = (re.match(r"([^:]+):(\d+):(.*)", line) for line in found.stdout.split("\n"))
    return [(row[1], int(row[2]), row[3].strip()) for row in rows if row is not None and not is_secondary(row[1])]


def listed(relations: Relations, root: Path, name: str) -> dict[str, Any]:
    """The counts of one function, and the lines in neither list."""
    target = next(one for one in definitions_named(relations.code, name) if not is_secondary(one.path))
    others = relations.elsewhere(target)
    callers, uses = relations.callers(target), relations.uses(target)
    more = relations.unresolved(target, (*callers.sites, *uses), has_uses=True)
    told = {(site.path, site.line) for site in (*callers.sites, *uses)}
    told |= {(one.path, one.line) for one in relations.code.defined(target.name)}
    told |= {(path, line) for listed in (more.lines, others) for path, lines in listed.items() for line in lines}
    end = "([^A-Za-z0-9_]|$)" if more.is_named else r"(<[^<>]*>)?!?\("
    found = by_text(root, target.name, end)
    return {
        "name": name,
        "resolved": len(callers.sites),
        "resolved_in_production": sum(not site.secondary for site in callers.sites),
        "uses": len(uses),
        "listed_by_text": sum(map(len, more.lines.values())),
        "in_other_languages": sum(map(len, others.values())),
        "lines_of_production": len(found),
        "in_neither": [row for row in found if row[:2] not in told],
    }


def main() -> None:
    """Measure, print the lines to read, and store the counts where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of repositories")
    arguments = parser.parse_args()
    rows = []
    for repository, functions in FUNCTIONS.items():
        if arguments.only and repository not in arguments.only:
            continue
        with Satchel.open(arguments.folder / repository) as satchel:
            satchel.index()
            with satchel.store.snapshot() as store:
                for name in [*functions, *CLASSES.get(repository, ())]:
                    row = listed(Relations(store), arguments.folder / repository, name)
                    print(repository, json.dumps(row, indent=1, ensure_ascii=False))
                    rows.append({"repository": repository, **row, "in_neither": len(row["in_neither"])})
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
