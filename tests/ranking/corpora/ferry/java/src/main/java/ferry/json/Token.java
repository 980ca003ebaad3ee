package ferry.json;

/** One token, with the line where it begins. */
public record Token(Kind kind, String text, int line) {
    static Token of(String word, int line) {
        return switch (word) {
            case "true" -> new Token(Kind.TRUE, word, line);
            case "false" -> new Token(Kind.FALSE, word, line);
            case "null" -> new Token(Kind.NULL, word, line);
            default -> new Token(Kind.NUMBER, word, line);
        };
    }
}
