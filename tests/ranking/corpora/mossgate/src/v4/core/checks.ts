import { Code } from "./problems";

/** Returns the code of a problem, or nothing for a value that is right. */
export type Check<T> = (value: T) => Code | undefined;

const EMAIL = /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/;

export const emailCheck: Check<string> = (value) => (EMAIL.test(value) ? undefined : "not_email");

export function lengthCheck(shortest: number, longest: number): Check<string> {
  return (value) => {
    if (value.length < shortest) return "too_short";
    return value.length > longest ? "too_long" : undefined;
  };
}

export function patternCheck(pattern: RegExp): Check<string> {
  return (value) => (pattern.test(value) ? undefined : "no_match");
}

export function rangeCheck(lowest: number, highest: number): Check<number> {
  return (value) => (value < lowest || value > highest ? "out_of_range" : undefined);
}
