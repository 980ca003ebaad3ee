package ferry.bind;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Gives the field of a class another key. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Key {
    String value();
}
