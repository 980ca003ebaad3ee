export * from "./core/schemas";
export * from "./core/problems";
export * from "./core/messages";
