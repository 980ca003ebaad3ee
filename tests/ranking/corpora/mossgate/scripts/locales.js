// Reports the problem codes that a locale lacks.
import { readdirSync, readFileSync } from "node:fs";

const codes = [...readFileSync("src/v4/core/problems.ts", "utf8").matchAll(/\| "(\w+)"/g)].map((match) => match[1]);
for (const name of readdirSync("src/v4/locales")) {
  const text = readFileSync(`src/v4/locales/${name}`, "utf8");
  const missing = codes.filter((code) => !text.includes(`${code}:`));
  if (missing.length > 0) console.log(name, missing.join(" "));
}
