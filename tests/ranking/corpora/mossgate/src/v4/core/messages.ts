import { Code, Problem } from "./problems";

export type Locale = Record<Code, string>;

let current: Locale | undefined;

/** Use a locale for the messages of all problems from now on. */
export function useLocale(locale: Locale): void {
  current = locale;
}

/** Return the message of a problem in the current locale; a refinement brings its own. */
export function messageOf(problem: Problem): string {
  return problem.message ?? current?.[problem.code] ?? problem.code;
}
