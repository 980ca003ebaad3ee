/** The first generation: a schema throws at the first problem. */
export class VerifyError extends Error {
  constructor(readonly field: string, message: string) {
    super(`${field}: ${message}`);
  }
}

export abstract class Schema<T> {
  private isOptional = false;

  abstract verify(value: unknown, field?: string): T;

  /** Accept a missing value and null, which v3 does not tell apart. */
  optional(): this {
    this.isOptional = true;
    return this;
  }

  protected missing(value: unknown): boolean {
    return this.isOptional && (value === undefined || value === null);
  }
}

export class StrSchema extends Schema<string | undefined> {
  verify(value: unknown, field = ""): string | undefined {
    if (this.missing(value)) return undefined;
    if (typeof value !== "string") throw new VerifyError(field, "not a string");
    return value;
  }
}

export class ObjSchema extends Schema<Record<string, unknown>> {
  constructor(private readonly fields: Record<string, Schema<unknown>>) {
    super();
  }

  verify(value: unknown, field = ""): Record<string, unknown> {
    if (typeof value !== "object" || value === null) throw new VerifyError(field, "not an object");
    const made: Record<string, unknown> = {};
    for (const [key, schema] of Object.entries(this.fields)) {
      made[key] = schema.verify((value as Record<string, unknown>)[key], field ? `${field}.${key}` : key);
    }
    return made;
  }
}

/** Picks the option by the value of one key, so that not every option is checked. */
export class DiscriminatedUnion extends Schema<unknown> {
  constructor(private readonly key: string, private readonly options: Record<string, Schema<unknown>>) {
    super();
  }

  verify(value: unknown, field = ""): unknown {
    const name = (value as Record<string, unknown> | null)?.[this.key];
    const option = typeof name === "string" ? this.options[name] : undefined;
    if (option === undefined) throw new VerifyError(field, `unknown ${this.key}`);
    return option.verify(value, field);
  }
}
