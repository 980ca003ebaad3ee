/*
 * Copyright the ferry authors. Licensed for everybody, without any warranty: a reader, a writer or a token may be wrong.
 */
package ferry.json;

import java.io.IOException;
import java.io.Reader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads a whole document into maps, lists, texts and numbers. */
public final class JsonReader {
    private static final int DEEPEST = 500;

    private final JsonTokenReader tokens;
    private int depth;

    public JsonReader(Reader source) {
        this.tokens = new JsonTokenReader(source);
    }

    /** Reads one value; returns null for the word null. */
    public Object read() throws IOException {
        Token token = tokens.next();
        return switch (token.kind()) {
            case BEGIN_OBJECT -> readObject();
            case BEGIN_LIST -> readList();
            case TEXT -> token.text();
            case NUMBER -> Numbers.parse(token.text());
            case TRUE -> Boolean.TRUE;
            case FALSE -> Boolean.FALSE;
            case NULL -> null;
            default -> throw new JsonException("unexpected " + token.kind(), token.line());
        };
    }

    private Map<String, Object> readObject() throws IOException {
        enter();
        Map<String, Object> made = new LinkedHashMap<>();
        for (Token key = tokens.next(); key.kind() != Kind.END_OBJECT; key = tokens.next()) {
            if (key.kind() == Kind.COMMA) {
                continue;
            }
            tokens.expect(Kind.COLON);
            if (made.put(key.text(), read()) != null) {
                throw new JsonException("the key " + key.text() + " occurs twice", key.line());
            }
        }
        depth--;
        return made;
    }

    private List<Object> readList() throws IOException {
        enter();
        List<Object> made = new ArrayList<>();
        while (tokens.peek().kind() != Kind.END_LIST) {
            if (tokens.peek().kind() == Kind.COMMA) {
                tokens.next();
            }
            made.add(read());
        }
        tokens.next();
        depth--;
        return made;
    }

    private void enter() {
        if (++depth > DEEPEST) {
            throw new JsonException("nested too deeply", 0);
        }
    }
}
