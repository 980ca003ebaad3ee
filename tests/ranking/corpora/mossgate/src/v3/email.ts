import { Schema, VerifyError } from "./schema";

const SHAPE = /^[^@\s]+@[^@\s]+$/;

/** An e-mail address of the first generation: anything around an at sign. */
export class EmailSchema extends Schema<string> {
  verify(value: unknown, field = ""): string {
    if (typeof value !== "string" || !SHAPE.test(value)) throw new VerifyError(field, "not an email address");
    return value;
  }
}
