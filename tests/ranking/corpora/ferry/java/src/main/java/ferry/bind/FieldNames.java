package ferry.bind;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The fields of a class by their keys; each class is examined once. */
final class FieldNames {
    private static final Map<Class<?>, Map<String, Field>> CACHE = new ConcurrentHashMap<>();

    private FieldNames() {}

    static Map<String, Field> of(Class<?> target) {
        return CACHE.computeIfAbsent(target, FieldNames::examine);
    }

    private static Map<String, Field> examine(Class<?> target) {
        Map<String, Field> names = new HashMap<>();
        for (Field field : target.getDeclaredFields()) {
            Key key = field.getAnnotation(Key.class);
            names.put(key == null ? field.getName() : key.value(), field);
        }
        return names;
    }
}
