export { DiscriminatedUnion, ObjSchema, StrSchema, VerifyError } from "./schema";
export { EmailSchema } from "./email";
