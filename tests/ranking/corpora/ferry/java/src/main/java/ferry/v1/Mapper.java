package ferry.v1;

import java.lang.reflect.Field;
import java.util.Map;

/** The first binding, kept for old programs: it matches keys without regard to case, and knows no annotations. */
@Deprecated
public final class Mapper {
    public <T> T map(Map<String, Object> document, T target) throws IllegalAccessException {
        for (Field field : target.getClass().getDeclaredFields()) {
            for (Map.Entry<String, Object> entry : document.entrySet()) {
                if (entry.getKey().equalsIgnoreCase(field.getName())) {
                    field.setAccessible(true);
                    field.set(target, entry.getValue());
                }
            }
        }
        return target;
    }
}
