import { messageOf } from "../v4/core/messages";
import { byField } from "../v4/core/problems";
import { Schema } from "../v4/core/schemas";

/** Shows the problems of a form beside its fields while somebody types. */
export class Form<T> {
  private values: Record<string, unknown> = {};
  private touched = new Set<string>();

  constructor(private readonly schema: Schema<T>, private readonly submit: (value: T) => void) {}

  enter(field: string, value: unknown): void {
    this.values[field] = value;
    this.touched.add(field);
  }

  /** Return the messages of one field; none before somebody has touched it. */
  messages(field: string): string[] {
    if (!this.touched.has(field)) return [];
    return (byField(this.schema.check(this.values).problems).get(field) ?? []).map(messageOf);
  }

  /** Submit the values if they are right; otherwise mark every field as touched. */
  send(): boolean {
    const result = this.schema.check(this.values);
    if (result.problems.length > 0) {
      Object.keys(this.values).forEach((field) => this.touched.add(field));
      return false;
    }
    this.submit(result.value as T);
    return true;
  }

  /** Whether there is input that would be lost. */
  isDirty(): boolean {
    return this.touched.size > 0;
  }
}
