export type Code =
  | "not_text"
  | "not_number"
  | "not_record"
  | "not_list"
  | "not_email"
  | "too_short"
  | "too_long"
  | "no_match"
  | "no_option"
  | "out_of_range"
  | "refined";

export type Path = (string | number)[];

export interface Problem {
  code: Code;
  path: Path;
  message?: string;
}

export function problem(code: Code, path: Path): Problem {
  return { code, path };
}

/** Write a path as a reader would: `people[2].mail`. */
export function pathText(path: Path): string {
  return path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? key : `${text}.${key}`),
    "",
  );
}

/** Group problems by the first key of their path, for a form that shows them beside its fields. */
export function byField(problems: Problem[]): Map<string, Problem[]> {
  const groups = new Map<string, Problem[]>();
  for (const one of problems) {
    const key = String(one.path[0] ?? "");
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return groups;
}
