import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;

/** Writes one JSON object per line, unbuffered, so that a killed process loses no finished line. */
final class Trace {

    private final FileOutputStream file;
    private final String prefix;

    /** {@code prefix} is removed from the names of topics. */
    Trace(String path, String prefix) throws IOException {
        this.file = new FileOutputStream(path);
        this.prefix = prefix;
    }

    /** Returns the time in microseconds since 1970. */
    static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
    }

    /** Writes an entry of one kind; {@code fields} are alternating names and JSON values. */
    void write(String kind, Object... fields) {
        StringBuilder line = new StringBuilder("{\"e\":").append(quoted(kind));
        for (int i = 0; i < fields.length; i += 2) {
            line.append(",\"").append(fields[i]).append("\":").append(fields[i + 1]);
        }
        byte[] bytes = line.append("}\n").toString().getBytes(StandardCharsets.UTF_8);
        try {
            synchronized (file) {
                file.write(bytes);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Writes an entry that has only a time. */
    void mark(String kind) {
        write(kind, "t", now());
    }

    /** Returns a partition as a JSON string without the prefix. */
    String name(TopicPartition partition) {
        String topic = partition.topic();
        String shown = topic.startsWith(prefix) ? topic.substring(prefix.length()) : topic;
        return quoted(shown + "-" + partition.partition());
    }

    /** Returns partitions as a JSON list, in order of name and number. */
    String list(Collection<TopicPartition> partitions) {
        return partitions.stream()
            .sorted((a, b) -> a.topic().equals(b.topic())
                ? Integer.compare(a.partition(), b.partition()) : a.topic().compareTo(b.topic()))
            .map(this::name)
            .collect(Collectors.joining(",", "[", "]"));
    }

    /** Returns an object whose keys are partitions and whose values are JSON already. */
    String table(Map<TopicPartition, ?> values) {
        return values.entrySet().stream()
            .map(entry -> name(entry.getKey()) + ":" + entry.getValue())
            .collect(Collectors.joining(",", "{", "}"));
    }

    /** Returns a JSON string. */
    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < ' ') {
                quoted.append(String.format("\\u%04x", (int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }
}
