package ferry.time;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;

/** Dates in documents: written in UTC, read with any offset. */
public final class Dates {
    private Dates() {}

    public static String format(Instant moment) {
        return DateTimeFormatter.ISO_INSTANT.format(moment);
    }

    public static Instant parse(String text) {
        return OffsetDateTime.parse(text).toInstant();
    }
}
