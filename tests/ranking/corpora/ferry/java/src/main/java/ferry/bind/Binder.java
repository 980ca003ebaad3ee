package ferry.bind;

import ferry.time.Dates;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;

/** Binds documents to classes: a key becomes the field of its name. */
public final class Binder {
    private boolean strict;

    /** Makes unknown keys an error. */
    public Binder strict() {
        strict = true;
        return this;
    }

    public <T> T bind(Map<String, Object> document, Class<T> target) {
        T made = instance(target);
        for (Map.Entry<String, Object> entry : document.entrySet()) {
            Field field = FieldNames.of(target).get(entry.getKey());
            if (field == null) {
                if (strict) {
                    throw new BindException("unknown key " + entry.getKey());
                }
                continue;
            }
            set(made, field, convert(entry.getValue(), field));
        }
        return made;
    }

    private Object convert(Object value, Field field) {
        Class<?> type = field.getType();
        if (value == null) {
            if (type.isPrimitive()) {
                throw new BindException("null for the primitive field " + field.getName());
            }
            return null;
        }
        if (type == java.time.Instant.class) {
            return Dates.parse((String) value);
        }
        if (value instanceof Map<?, ?> map) {
            @SuppressWarnings("unchecked")
            Map<String, Object> inner = (Map<String, Object>) map;
            return bind(inner, type);
        }
        if (value instanceof List<?> list) {
            return List.copyOf(list);
        }
        if (value instanceof Number number && type == int.class) {
            return Math.toIntExact(number.longValue());
        }
        return value;
    }

    private static <T> T instance(Class<T> target) {
        try {
            return target.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException error) {
            throw new BindException("no constructor without arguments in " + target.getName());
        }
    }

    private static void set(Object made, Field field, Object value) {
        try {
            field.setAccessible(true);
            field.set(made, value);
        } catch (IllegalAccessException error) {
            throw new BindException("no access to " + field.getName());
        }
    }
}
