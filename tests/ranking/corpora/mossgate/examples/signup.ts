import { record, text } from "../src/v4";
import { Form } from "../src/view/form";

// A form to sign up: name and mail are checked while somebody types.
const person = record({ name: text().min(1), mail: text().email() });
export const form = new Form(person, (value) => console.log("signed up", value));
form.enter("mail", "ada@example.invalid");
form.send();
