package ferry.json;

import java.io.IOException;
import java.io.Reader;

/** Escapes inside of texts. */
final class Escapes {
    private Escapes() {}

    /** Decodes what follows a backslash. */
    static char decode(Reader source) throws IOException {
        int character = source.read();
        return switch (character) {
            case 'n' -> '\n';
            case 't' -> '\t';
            case 'r' -> '\r';
            case 'u' -> decodeUnicode(source);
            default -> (char) character;
        };
    }

    private static char decodeUnicode(Reader source) throws IOException {
        int value = 0;
        for (int place = 0; place < 4; place++) {
            value = value * 16 + Character.digit(source.read(), 16);
        }
        return (char) value;
    }

    static void encode(String text, StringBuilder output) {
        for (char character : text.toCharArray()) {
            switch (character) {
                case '"' -> output.append("\\\"");
                case '\\' -> output.append("\\\\");
                case '\n' -> output.append("\\n");
                default -> output.append(character < ' ' ? String.format("\\u%04x", (int) character) : character);
            }
        }
    }
}
