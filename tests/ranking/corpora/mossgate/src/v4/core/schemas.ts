import { Check, emailCheck, lengthCheck, patternCheck, rangeCheck } from "./checks";
import { Path, Problem, problem } from "./problems";

export interface Result<T> {
  value?: T;
  problems: Problem[];
}

/** What every schema can do: check a value, and be changed into a schema that accepts more or less. */
export abstract class Schema<T> {
  protected checks: Check<T>[] = [];
  protected refinements: ((value: T) => string | undefined)[] = [];

  abstract parse(value: unknown, path: Path): Result<T>;

  /** Check a value and return all problems, each with its path. */
  check(value: unknown): Result<T> {
    const result = this.parse(value, []);
    return result.problems.length > 0 ? { problems: result.problems } : result;
  }

  /** Accept a missing key. */
  optional(): Schema<T | undefined> {
    return new OptionalSchema(this);
  }

  /** Accept null. */
  nullable(): Schema<T | null> {
    return new NullableSchema(this);
  }

  /** Refuse values for which a function returns a message; it runs after the types of all fields are right. */
  refine(refinement: (value: T) => string | undefined): this {
    this.refinements.push(refinement);
    return this;
  }

  protected finish(value: T, path: Path): Result<T> {
    const problems: Problem[] = [];
    for (const check of this.checks) {
      const code = check(value);
      if (code !== undefined) problems.push(problem(code, path));
    }
    if (problems.length === 0) {
      for (const refinement of this.refinements) {
        const message = refinement(value);
        if (message !== undefined) problems.push({ code: "refined", path, message });
      }
    }
    return { value, problems };
  }
}

export class TextSchema extends Schema<string> {
  parse(value: unknown, path: Path): Result<string> {
    if (typeof value !== "string") return { problems: [problem("not_text", path)] };
    return this.finish(value, path);
  }

  min(length: number): this {
    this.checks.push(lengthCheck(length, Infinity));
    return this;
  }

  max(length: number): this {
    this.checks.push(lengthCheck(0, length));
    return this;
  }

  email(): this {
    this.checks.push(emailCheck);
    return this;
  }

  matching(pattern: RegExp): this {
    this.checks.push(patternCheck(pattern));
    return this;
  }
}

export class NumberSchema extends Schema<number> {
  parse(value: unknown, path: Path): Result<number> {
    if (typeof value !== "number" || Number.isNaN(value)) return { problems: [problem("not_number", path)] };
    return this.finish(value, path);
  }

  between(lowest: number, highest: number): this {
    this.checks.push(rangeCheck(lowest, highest));
    return this;
  }
}

export class OptionalSchema<T> extends Schema<T | undefined> {
  constructor(private readonly inner: Schema<T>) {
    super();
  }

  parse(value: unknown, path: Path): Result<T | undefined> {
    return value === undefined ? { value: undefined, problems: [] } : this.inner.parse(value, path);
  }
}

export class NullableSchema<T> extends Schema<T | null> {
  constructor(private readonly inner: Schema<T>) {
    super();
  }

  parse(value: unknown, path: Path): Result<T | null> {
    return value === null ? { value: null, problems: [] } : this.inner.parse(value, path);
  }
}

export class RecordSchema extends Schema<Record<string, unknown>> {
  constructor(private readonly fields: Record<string, Schema<unknown>>) {
    super();
  }

  parse(value: unknown, path: Path): Result<Record<string, unknown>> {
    if (typeof value !== "object" || value === null) return { problems: [problem("not_record", path)] };
    const problems: Problem[] = [];
    const made: Record<string, unknown> = {};
    for (const [key, schema] of Object.entries(this.fields)) {
      const result = schema.parse((value as Record<string, unknown>)[key], [...path, key]);
      problems.push(...result.problems);
      made[key] = result.value;
    }
    return problems.length > 0 ? { problems } : this.finish(made, path);
  }
}

export class ListSchema<T> extends Schema<T[]> {
  constructor(private readonly item: Schema<T>) {
    super();
  }

  parse(value: unknown, path: Path): Result<T[]> {
    if (!Array.isArray(value)) return { problems: [problem("not_list", path)] };
    const results = value.map((one, index) => this.item.parse(one, [...path, index]));
    const problems = results.flatMap((result) => result.problems);
    return problems.length > 0 ? { problems } : this.finish(results.map((result) => result.value as T), path);
  }
}

/** A value that one of several schemas accepts; otherwise the problems of the closest option are reported. */
export class UnionSchema<T> extends Schema<T> {
  constructor(private readonly options: Schema<T>[]) {
    super();
  }

  parse(value: unknown, path: Path): Result<T> {
    let closest: Result<T> | undefined;
    for (const option of this.options) {
      const result = option.parse(value, path);
      if (result.problems.length === 0) return this.finish(result.value as T, path);
      if (closest === undefined || result.problems.length < closest.problems.length) closest = result;
    }
    return closest ?? { problems: [problem("no_option", path)] };
  }
}

export const text = (): TextSchema => new TextSchema();
export const number = (): NumberSchema => new NumberSchema();
export const record = (fields: Record<string, Schema<unknown>>): RecordSchema => new RecordSchema(fields);
export const list = <T>(item: Schema<T>): ListSchema<T> => new ListSchema(item);
export const union = <T>(...options: Schema<T>[]): UnionSchema<T> => new UnionSchema(options);
