import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints every setting that Kafka defines, with its type, its default and its validator. */
public class PrintRanges {
    public static void main(String[] arguments) {
        print("broker", AbstractKafkaConfig.CONFIG_DEF);
        print("consumer", ConsumerConfig.configDef());
        print("topic", LogConfig.configDefCopy());
    }

    private static void print(String from, ConfigDef definition) {
        Map<String, ConfigDef.ConfigKey> sorted = new TreeMap<>(definition.configKeys());
        for (ConfigDef.ConfigKey key : sorted.values()) {
            String range = key.validator == null ? "" : key.validator.toString();
            System.out.println(String.join("\t",
                from, key.name, key.type.toString(), String.valueOf(key.defaultValue), range));
        }
    }
}
