// Asking the server: the same operations and answers as on the command line with --json.

/** Something that did not work, with what to do about it. */
export class ApiError extends Error {
  constructor(type, message, hint = "", status = 0) {
    super(message);
    this.name = "ApiError";
    this.type = type;
    this.hint = hint;
    this.status = status;
  }
}

const GONE = "the session of this page ended: open the address that `satchel serve` printed last";

async function read(address, options) {
  let response;
  try {
    response = await fetch(address, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new ApiError("Unreachable", "satchel does not answer", "is `satchel serve` still running?");
  }
  const answer = await body(response);
  if (response.ok) {
    return answer;
  }
  const told = answer?.error ?? {};
  const hint = response.status === 401 ? GONE : told.hint ?? waitHint(response);
  throw new ApiError(
    told.type ?? "Error",
    told.message ?? `the server answered ${response.status}`,
    hint,
    response.status,
  );
}

function waitHint(response) {
  const seconds = response.headers.get("Retry-After");
  return seconds ? `try again in ${seconds} s` : "";
}

async function body(response) {
  const text = await response.text();
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    throw new ApiError("NotJson", `the server answered ${response.status} without JSON`, "", response.status);
  }
}

/** The answer of an operation to these arguments. `signal` gives the request up. */
export function call(operation, given, signal = undefined) {
  const named = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return read(`/api/${encodeURIComponent(operation)}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(Object.fromEntries(named)),
    signal,
  });
}

/** What the server shows of itself: status, options, the map, the hook log. */
export function look(name, parameters = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ""));
  const tail = query.size ? `?${query}` : "";
  return read(`/api/${encodeURIComponent(name)}${tail}`, { signal });
}
