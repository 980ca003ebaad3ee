export type Answer = true | string;

/** Decides whether a view may be entered: true, or the address to go to instead. */
export type Guard = (address: string, parameters: Record<string, string>) => Answer | Promise<Answer>;

/** Ask guards from the outermost to the innermost; the first that refuses decides. */
export async function askGuards(
  guards: Guard[],
  address: string,
  parameters: Record<string, string>,
): Promise<string | undefined> {
  for (const guard of guards) {
    const answer = await guard(address, parameters);
    if (answer !== true) return answer;
  }
  return undefined;
}

/** A guard that sends visitors without a session to the sign-in page. */
export function needsSession(hasSession: () => boolean, signIn: string): Guard {
  return (address) => (hasSession() ? true : `${signIn}?next=${encodeURIComponent(address)}`);
}
