package ferry.json;

import java.math.BigDecimal;

/** Numbers without loss. */
final class Numbers {
    private static final int EXACT_DIGITS = 15;

    private Numbers() {}

    /** Returns a long, a double that is exact, or else a decimal. */
    static Number parse(String text) {
        if (text.matches("-?\\d{1,18}")) {
            return Long.valueOf(text);
        }
        BigDecimal decimal = new BigDecimal(text);
        return decimal.precision() <= EXACT_DIGITS ? (Number) decimal.doubleValue() : decimal;
    }
}
