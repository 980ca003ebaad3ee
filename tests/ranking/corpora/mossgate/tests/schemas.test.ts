import { record, text, union, number } from "../src/v4";

test("all problems are returned, each with its path", () => {
  const person = record({ name: text().min(1), mail: text().email() });
  const { problems } = person.check({ name: "", mail: "nobody" });
  expect(problems.map((one) => one.path.join("."))).toEqual(["name", "mail"]);
});

test("a union reports the problems of the closest option", () => {
  const either = union<unknown>(record({ a: text(), b: text() }), record({ a: text(), c: number() }));
  expect(either.check({ a: "x", c: "y" }).problems).toHaveLength(1);
});

test("a refinement does not see a value of the wrong type", () => {
  const seen: unknown[] = [];
  text().refine((value) => { seen.push(value); return undefined; }).check(3);
  expect(seen).toEqual([]);
});
