import { Locale } from "../core/messages";

export const fr: Locale = {
  not_text: "doit être un texte",
  not_number: "doit être un nombre",
  not_record: "doit être un objet",
  not_list: "doit être une liste",
  not_email: "doit être une adresse",
  too_short: "est trop court",
  too_long: "est trop long",
  no_match: "a une autre forme",
  no_option: "n'est aucune des options",
  out_of_range: "est hors limites",
  refined: "est refusé",
};
