import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.ByteBuffer;
import org.apache.kafka.common.message.ConsumerProtocolAssignment;
import org.apache.kafka.common.message.ConsumerProtocolAssignmentJsonConverter;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.message.ConsumerProtocolSubscriptionJsonConverter;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;
import org.apache.kafka.coordinator.group.generated.GroupMetadataValue;

/**
 * Prints the records of a segment of {@code __consumer_offsets}, each on a line, decoded by the
 * group coordinator's own classes. The lines have the form of Kafka's {@code DumpLogSegments}, which
 * is not on the class path of a server.
 */
public final class OffsetsDump {

    private OffsetsDump() {
    }

    /** Arguments: the segment; a text, such as a group's name, that the printed lines contain. */
    public static void main(String[] args) throws Exception {
        try (FileRecords segment = FileRecords.open(new File(args[0]), false)) {
            for (RecordBatch batch : segment.batches()) {
                if (!batch.isControlBatch()) {
                    print(batch, args[1]);
                }
            }
        }
    }

    private static void print(RecordBatch batch, String wanted) {
        int number = 0;
        for (Record record : batch) {
            String line = line(record, number);
            if (line.contains(wanted)) {
                System.out.println(line);
            }
            number += 1;
        }
    }

    private static String line(Record record, int number) {
        CoordinatorRecord decoded =
            new GroupCoordinatorRecordSerde().deserialize(record.key(), record.value());
        JsonNode key = CoordinatorRecordJsonConverters.writeRecordKeyAsJson(decoded.key());
        String shownKey = typed("type", decoded.key().apiKey(), key);
        String payload = "<DELETE>";
        if (decoded.value() != null) {
            short version = decoded.value().version();
            JsonNode value = CoordinatorRecordJsonConverters
                .writeRecordValueAsJson(decoded.value().message(), version);
            if (decoded.value().message() instanceof GroupMetadataValue group) {
                decodeMembers(group, value);
            }
            payload = typed("version", version, value);
        }
        return "| offset: " + record.offset() + " CreateTime: " + record.timestamp()
            + " keySize: " + record.keySize() + " valueSize: " + record.valueSize()
            + " sequence: " + number + " headerKeys: [] key: " + shownKey + " payload: " + payload;
    }

    /** Replaces the bytes of subscriptions and assignments, which the clients encode, by their fields. */
    private static void decodeMembers(GroupMetadataValue group, JsonNode value) {
        if (!"consumer".equals(group.protocolType())) {
            return;
        }
        for (int i = 0; i < group.members().size(); i++) {
            ObjectNode member = (ObjectNode) value.get("members").get(i);
            ByteBuffer subscription = ByteBuffer.wrap(group.members().get(i).subscription());
            short version = subscription.getShort();
            member.set("subscription", ConsumerProtocolSubscriptionJsonConverter.write(
                new ConsumerProtocolSubscription(new ByteBufferAccessor(subscription), version), version));
            ByteBuffer assignment = ByteBuffer.wrap(group.members().get(i).assignment());
            if (assignment.remaining() > 2) {
                version = assignment.getShort();
                member.set("assignment", ConsumerProtocolAssignmentJsonConverter.write(
                    new ConsumerProtocolAssignment(new ByteBufferAccessor(assignment), version), version));
            }
        }
    }

    private static String typed(String name, short number, JsonNode data) {
        return "{\"" + name + "\":\"" + number + "\",\"data\":" + data + "}";
    }
}
