package ferry.json;

/** The kind of a token. */
public enum Kind {
    BEGIN_OBJECT, END_OBJECT, BEGIN_LIST, END_LIST, COMMA, COLON, TEXT, NUMBER, TRUE, FALSE, NULL
}
