import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.WakeupException;

/**
 * One member of a captured run: polls, works on each record, commits, and traces all of it.
 *
 * <p>The settings come from a properties file: Kafka's own with the prefix {@code c.}, the
 * application's without. SIGTERM ends it after the batch (with {@code stop=midbatch}: after the
 * record). The line {@code hang MS} on standard input makes the next record take that much longer;
 * the end of standard input ends the process, so that it cannot outlive the command.
 */
public final class TracedConsumer implements ConsumerRebalanceListener {

    private static final long CLOSE_SECONDS = 30;

    private static Trace trace;
    private static Thread application;

    private final Properties settings;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final AtomicLong hangMs = new AtomicLong();
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile boolean stopping;
    private volatile boolean polling;
    private String seen = "";
    private long committedNs = System.nanoTime();

    private TracedConsumer(Properties settings) {
        this.settings = settings;
        Properties kafka = new Properties();
        settings.stringPropertyNames().stream().filter(name -> name.startsWith("c."))
            .forEach(name -> kafka.put(name.substring(2), settings.getProperty(name)));
        kafka.put("bootstrap.servers", System.getProperty("bootstrap"));
        kafka.put("interceptor.classes", Commits.class.getName());
        kafka.put("enable.auto.commit", String.valueOf(mode("auto")));
        kafka.putIfAbsent("auto.offset.reset", "earliest");
        String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        kafka.put("key.deserializer", bytes);
        kafka.put("value.deserializer", bytes);
        this.consumer = new KafkaConsumer<>(kafka);
    }

    /** Arguments: the properties file, the trace to write. */
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        try (Reader file = new FileReader(args[0], StandardCharsets.UTF_8)) {
            settings.load(file);
        }
        application = Thread.currentThread();
        trace = new Trace(args[1], settings.getProperty("strip", ""));
        trace.write("started", "t", Trace.now(), "pid", ProcessHandle.current().pid(),
            "conf", json(settings));
        TracedConsumer member = new TracedConsumer(settings);
        Runtime.getRuntime().addShutdownHook(new Thread(member::onTerminate, "sigterm"));
        Thread orders = new Thread(member::readOrders, "orders");
        orders.setDaemon(true);
        orders.start();
        System.exit(member.run());
    }

    private static String json(Properties settings) {
        return new TreeMap<>(settings).entrySet().stream()
            .map(e -> Trace.quoted(e.getKey() + "") + ":" + Trace.quoted(e.getValue() + ""))
            .collect(Collectors.joining(",", "{", "}"));
    }

    private boolean mode(String name) {
        return name.equals(settings.getProperty("mode"));
    }

    private long millis(String name) {
        return Long.parseLong(settings.getProperty(name, "0"));
    }

    // -- orders from outside ------------------------------------------------------------------------

    private void onTerminate() {
        if (closed.getCount() == 0) {
            return;
        }
        trace.mark("sigterm");
        stopping = true;
        if (polling) {
            consumer.wakeup();
        }
        try {
            closed.await(CLOSE_SECONDS + 30, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void readOrders() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.startsWith("hang ")) {
                    hangMs.set(Long.parseLong(line.substring(5).trim()));
                }
            }
        } catch (IOException broken) {
            // A broken pipe is an end, too.
        }
        Runtime.getRuntime().halt(1);
    }

    // -- the poll loop ------------------------------------------------------------------------------

    private int run() {
        int status = 0;
        try {
            subscribe();
            while (!stopping) {
                pollOnce();
            }
        } catch (WakeupException woken) {
            trace.mark("wakeup");
        } catch (KafkaException error) {
            raised(error);
            status = 1;
        }
        trace.mark("closing");
        try {
            consumer.close(Duration.ofSeconds(CLOSE_SECONDS));
        } catch (KafkaException error) {
            raised(error);
        }
        trace.mark("closed");
        closed.countDown();
        return status;
    }

    private void subscribe() {
        String pattern = settings.getProperty("pattern");
        if (pattern == null) {
            consumer.subscribe(Arrays.asList(settings.getProperty("topics").split(",")), this);
        } else if ("broker".equals(settings.getProperty("patternBy"))) {
            consumer.subscribe(new SubscriptionPattern(pattern), this);
        } else {
            consumer.subscribe(Pattern.compile(pattern), this);
        }
        trace.mark("subscribed");
    }

    private void pollOnce() {
        polling = true;
        ConsumerRecords<byte[], byte[]> records;
        try {
            records = stopping ? ConsumerRecords.empty()
                : consumer.poll(Duration.ofMillis(millis("pollTimeout")));
        } catch (RetriableException | RebalanceInProgressException error) {
            raised(error);
            return;
        } finally {
            polling = false;
        }
        traceMetadata();
        if (!records.isEmpty()) {
            tracePoll(records);
            process(records);
        }
        if (mode("timer") || mode("timer-sync-on-revoke")) {
            commitByTimer();
        }
    }

    private void process(ConsumerRecords<byte[], byte[]> records) {
        if (mode("sync-before")) {
            commit("before", null);
        }
        boolean inBatch = "midbatch".equals(settings.getProperty("stop"));
        for (ConsumerRecord<byte[], byte[]> record : records) {
            if (stopping && inBatch) {
                return;
            }
            work(record);
            if (mode("sync-per-record")) {
                TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                commit("record", Map.of(partition, new OffsetAndMetadata(record.offset() + 1)));
            } else if (mode("noargs-per-record")) {
                commit("record", null);
            }
        }
        if (mode("sync-per-poll")) {
            commit("poll", null);
        } else if (mode("async-per-poll")) {
            trace.mark("casync");
            consumer.commitAsync((offsets, error) ->
                trace.write("casyncdone", "t", Trace.now(), "ok", error == null));
        }
    }

    private void work(ConsumerRecord<byte[], byte[]> record) {
        long began = Trace.now();
        String partition = trace.name(new TopicPartition(record.topic(), record.partition()));
        long hang = hangMs.getAndSet(0);
        if (hang > 0) {
            trace.write("hang", "t", began, "ms", hang, "p", partition, "o", record.offset());
            sleep(hang);
            trace.mark("hangend");
        }
        sleep(millis("work"));
        trace.write("r", "p", partition, "o", record.offset(), "a", began, "b", Trace.now());
    }

    private static void sleep(long ms) {
        long until = System.nanoTime() + ms * 1_000_000;
        for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
            try {
                TimeUnit.NANOSECONDS.sleep(left);
            } catch (InterruptedException ignored) {
                // Work is not interruptible here.
            }
        }
    }

    // -- commits --------------------------------------------------------------------------------------

    private void commitByTimer() {
        if (System.nanoTime() - committedNs >= millis("commitEvery") * 1_000_000) {
            committedNs = System.nanoTime();
            commit("timer", null);
        }
    }

    /** Calls commitSync(), without arguments if {@code offsets} is null. */
    private void commit(String why, Map<TopicPartition, OffsetAndMetadata> offsets) {
        long began = Trace.now();
        String refused = null;
        try {
            if (offsets == null) {
                consumer.commitSync();
            } else {
                consumer.commitSync(offsets);
            }
        } catch (CommitFailedException | RetriableException | RebalanceInProgressException error) {
            refused = error.getClass().getSimpleName();
        }
        trace.write("csync", "why", Trace.quoted(why), "a", began, "b", Trace.now(),
            "ok", refused == null, "error", refused == null ? "null" : Trace.quoted(refused));
    }

    /** Traces every successful commit, automatic ones too, when the client handles the response. */
    public static final class Commits implements ConsumerInterceptor<byte[], byte[]> {
        @Override
        public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
            return records;
        }

        @Override
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            Map<TopicPartition, Long> values = new LinkedHashMap<>();
            offsets.forEach((partition, offset) -> values.put(partition, offset.offset()));
            String thread = Thread.currentThread() == application ? "\"app\"" : "\"bg\"";
            trace.write("committed", "t", Trace.now(), "th", thread, "o", trace.table(values));
        }

        @Override
        public void close() {
            // Nothing is open.
        }

        @Override
        public void configure(Map<String, ?> configs) {
            // The trace is the process's own.
        }
    }

    // -- what is traced ---------------------------------------------------------------------------------

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        long began = Trace.now();
        traceMetadata();
        sleep(millis("listener"));
        listened("assigned", began, partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        long began = Trace.now();
        sleep(millis("listener"));
        if (mode("timer-sync-on-revoke")) {
            commit("revoke", null);
        }
        listened("revoked", began, partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        long began = Trace.now();
        sleep(millis("listener"));
        listened("lost", began, partitions);
    }

    private void listened(String call, long began, Collection<TopicPartition> partitions) {
        trace.write(call, "a", began, "b", Trace.now(), "ps", trace.list(partitions));
    }

    private void traceMetadata() {
        ConsumerGroupMetadata group = consumer.groupMetadata();
        String now = "\"gen\":" + group.generationId() + ",\"member\":" + Trace.quoted(group.memberId());
        if (!now.equals(seen)) {
            seen = now;
            trace.write("meta", "t", Trace.now(), "gen", group.generationId(),
                "member", Trace.quoted(group.memberId()));
        }
    }

    private void tracePoll(ConsumerRecords<byte[], byte[]> records) {
        Map<TopicPartition, String> ranges = new LinkedHashMap<>();
        for (TopicPartition partition : records.partitions()) {
            var of = records.records(partition);
            ranges.put(partition, "[" + of.get(0).offset() + "," + of.get(of.size() - 1).offset() + "]");
        }
        trace.write("poll", "t", Trace.now(), "n", records.count(), "ps", trace.table(ranges));
    }

    private static void raised(KafkaException error) {
        trace.write("exc", "t", Trace.now(), "cls", Trace.quoted(error.getClass().getName()),
            "msg", Trace.quoted(String.valueOf(error.getMessage())));
    }
}
