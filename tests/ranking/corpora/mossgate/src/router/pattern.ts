/** One piece of a pattern: a fixed text, a parameter, or the star that matches the rest. */
export interface Piece {
  kind: "fixed" | "parameter" | "rest";
  text: string;
}

export function parsePattern(pattern: string): Piece[] {
  return pattern
    .split("/")
    .filter((text) => text !== "")
    .map((text) => {
      if (text === "*") return { kind: "rest", text };
      return text.startsWith(":") ? { kind: "parameter", text: text.slice(1) } : { kind: "fixed", text };
    });
}

/** Return the parameters of an address, or nothing if it does not match. */
export function matchPattern(pieces: Piece[], address: string): Record<string, string> | undefined {
  const parts = address.split("/").filter((text) => text !== "");
  const parameters: Record<string, string> = {};
  for (const [index, piece] of pieces.entries()) {
    if (piece.kind === "rest") return { ...parameters, rest: parts.slice(index).join("/") };
    const part = parts[index];
    if (part === undefined || (piece.kind === "fixed" && part !== piece.text)) return undefined;
    if (piece.kind === "parameter") parameters[piece.text] = decodeURIComponent(part);
  }
  return parts.length === pieces.length ? parameters : undefined;
}
