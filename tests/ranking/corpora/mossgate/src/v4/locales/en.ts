import { Locale } from "../core/messages";

export const en: Locale = {
  not_text: "must be a text",
  not_number: "must be a number",
  not_record: "must be a record",
  not_list: "must be a list",
  not_email: "must be an address such as ada@example.invalid",
  too_short: "is too short",
  too_long: "is too long",
  no_match: "has another form",
  no_option: "is none of the options",
  out_of_range: "is out of range",
  refined: "is refused",
};
