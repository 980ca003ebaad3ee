package ferry.json;

import java.math.BigDecimal;
import java.util.Map;

/** Writes maps, lists, texts and numbers as a document. */
public final class JsonWriter {
    private final StringBuilder output = new StringBuilder();
    private final String indent;

    public JsonWriter(String indent) {
        this.indent = indent;
    }

    public String write(Object value) {
        writeValue(value, "");
        return output.toString();
    }

    private void writeValue(Object value, String margin) {
        if (value instanceof Map<?, ?> map) {
            writeObject(map, margin);
        } else if (value instanceof Iterable<?> list) {
            writeList(list, margin);
        } else if (value instanceof BigDecimal || value instanceof CharSequence) {
            output.append('"');
            Escapes.encode(value.toString(), output);
            output.append('"');
        } else {
            output.append(value);
        }
    }

    private void writeObject(Map<?, ?> map, String margin) {
        output.append('{');
        String separator = "";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            output.append(separator).append('\n').append(margin).append(indent);
            writeValue(entry.getKey().toString(), "");
            output.append(": ");
            writeValue(entry.getValue(), margin + indent);
            separator = ",";
        }
        output.append('\n').append(margin).append('}');
    }

    private void writeList(Iterable<?> list, String margin) {
        output.append('[');
        String separator = "";
        for (Object one : list) {
            output.append(separator);
            writeValue(one, margin + indent);
            separator = ", ";
        }
        output.append(']');
    }
}
