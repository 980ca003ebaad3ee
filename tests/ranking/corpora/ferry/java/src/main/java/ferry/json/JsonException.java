package ferry.json;

/** A document that is not JSON, with the line of the error. */
public final class JsonException extends RuntimeException {
    private final int line;

    public JsonException(String message, int line) {
        super(message + " in line " + line);
        this.line = line;
    }

    public int line() {
        return line;
    }
}
