package ferry.json;

import java.io.IOException;
import java.io.Reader;

/** Splits a document into tokens, one at a time. */
public final class JsonTokenReader {
    private final Reader source;
    private Token ahead;
    private int line = 1;

    public JsonTokenReader(Reader source) {
        this.source = source;
    }

    /** Returns the next token without taking it. */
    public Token peek() throws IOException {
        if (ahead == null) {
            ahead = scan();
        }
        return ahead;
    }

    /** Takes the next token. */
    public Token next() throws IOException {
        Token token = peek();
        ahead = null;
        return token;
    }

    /** Takes a token of this kind. Any other one is an error, with its line. */
    public void expect(Kind kind) throws IOException {
        Token token = next();
        if (token.kind() != kind) {
            throw new JsonException("expected " + kind + " but got " + token.kind(), token.line());
        }
    }

    private Token scan() throws IOException {
        int character = source.read();
        while (Character.isWhitespace(character)) {
            line += character == '\n' ? 1 : 0;
            character = source.read();
        }
        return switch (character) {
            case '{' -> new Token(Kind.BEGIN_OBJECT, "", line);
            case '}' -> new Token(Kind.END_OBJECT, "", line);
            case '[' -> new Token(Kind.BEGIN_LIST, "", line);
            case ']' -> new Token(Kind.END_LIST, "", line);
            case ',' -> new Token(Kind.COMMA, "", line);
            case ':' -> new Token(Kind.COLON, "", line);
            case '"' -> new Token(Kind.TEXT, scanText(), line);
            default -> scanWord(character);
        };
    }

    private String scanText() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int character = source.read(); character != '"'; character = source.read()) {
            if (character < 0) {
                throw new JsonException("a text does not end", line);
            }
            text.append(character == '\\' ? Escapes.decode(source) : (char) character);
        }
        return text.toString();
    }

    private Token scanWord(int first) throws IOException {
        StringBuilder word = new StringBuilder().append((char) first);
        source.mark(1);
        for (int character = source.read(); isWordPart(character); character = source.read()) {
            word.append((char) character);
            source.mark(1);
        }
        source.reset();
        return Token.of(word.toString(), line);
    }

    private static boolean isWordPart(int character) {
        return Character.isLetterOrDigit(character) || character == '.' || character == '-' || character == '+';
    }
}
