package ferry.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.StringReader;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonReaderTest {
    @Test
    void aKeyThatOccursTwiceIsAnError() {
        JsonReader reader = new JsonReader(new StringReader("{\"a\": 1, \"a\": 2}"));
        assertThrows(JsonException.class, reader::read);
    }

    @Test
    void aDocumentThatIsNestedTooDeeplyIsAnError() {
        JsonReader reader = new JsonReader(new StringReader("[".repeat(501)));
        assertThrows(JsonException.class, reader::read);
    }

    @Test
    void anObjectBecomesAMap() throws Exception {
        assertEquals(Map.of("a", 1L), new JsonReader(new StringReader("{\"a\": 1}")).read());
    }
}
