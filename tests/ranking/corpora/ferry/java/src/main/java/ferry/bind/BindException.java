package ferry.bind;

/** A document does not fit its class. */
public final class BindException extends RuntimeException {
    public BindException(String message) {
        super(message);
    }
}
