package pointsman;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads topics from their beginning, for good, into live tables: one thread, one consumer, no group.
 *
 * <p>It survives what happens to a broker: whatever the client throws, it says so, starts a new client after a moment
 * and goes on where it was. Partitions that are added later are found. `close()` returns when the thread is gone.
 */
public final class TopicReader implements Runnable, AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long LOOK_FOR_PARTITIONS_MILLIS = 5_000;

    private record Target(Decoder decoder, LiveRows rows) {}

    private final Properties properties;
    private final Map<String, Target> targets = new HashMap<>();
    private final Map<TopicPartition, Long> positions = new HashMap<>();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final AtomicLong refused = new AtomicLong();
    private final Thread thread;
    private volatile KafkaConsumer<byte[], byte[]> consumer;
    private volatile String problem = "";

    public TopicReader(final String name, final Map<String, String> properties) {
        this.properties = new Properties();
        this.properties.putAll(properties);
        this.thread = new Thread(this, name);
        this.thread.setDaemon(true);
    }

    void add(final String topic, final Decoder decoder, final LiveRows rows) {
        targets.put(topic, new Target(decoder, rows));
    }

    public void start() {
        thread.start();
    }

    /** Records that were not rows: malformed, null, or not what the topic holds. */
    public long refused() {
        return refused.get();
    }

    /** What the client last complained of; empty when it works. */
    public String problem() {
        return problem;
    }

    @Override
    public void run() {
        while (!isClosing(0)) {
            try (final KafkaConsumer<byte[], byte[]> client =
                    new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                consumer = client;
                read(client);
            } catch (WakeupException | InterruptedException ended) {
                // Only close() wakes us.
            } catch (Throwable failure) {
                // Also an Error: a reader that ended in silence would leave its tables frozen.
                problem = words(failure);
            } finally {
                consumer = null;
            }
            if (isClosing(1_000)) {
                return;
            }
        }
    }

    /** The failure, and what it came from: alone it is often no more than that a client could not be made. */
    private static String words(final Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        final String first = failure.getClass().getSimpleName() + ": " + failure.getMessage();
        return root == failure
                ? first
                : first + " (" + root.getClass().getSimpleName() + ": " + root.getMessage() + ")";
    }

    private boolean isClosing(final long millis) {
        try {
            return closing.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException ended) {
            return true;
        }
    }

    private void read(final KafkaConsumer<byte[], byte[]> client) throws InterruptedException {
        long nextLook = 0;
        while (!isClosing(0)) {
            if (System.currentTimeMillis() >= nextLook) {
                final boolean complete = assign(client);
                nextLook = System.currentTimeMillis() + (complete ? LOOK_FOR_PARTITIONS_MILLIS : 200);
            }
            if (client.assignment().isEmpty()) {
                isClosing(100);
                continue;
            }
            hand(client, client.poll(POLL));
            problem = "";
        }
    }

    /** Takes every partition there is; false while a topic has none yet. */
    private boolean assign(final KafkaConsumer<byte[], byte[]> client) {
        final Set<TopicPartition> found = new HashSet<>(client.assignment());
        final Set<TopicPartition> fresh = new HashSet<>();
        boolean complete = true;
        for (final String topic : targets.keySet()) {
            List<PartitionInfo> partitions;
            try {
                partitions = client.partitionsFor(topic, Duration.ofSeconds(5));
            } catch (TimeoutException unknown) {
                partitions = List.of();
            }
            complete &= partitions != null && !partitions.isEmpty();
            for (final PartitionInfo partition : partitions == null ? List.<PartitionInfo>of() : partitions) {
                final TopicPartition where = new TopicPartition(topic, partition.partition());
                if (found.add(where)) {
                    fresh.add(where);
                }
            }
        }
        if (!fresh.isEmpty()) {
            client.assign(found);
            for (final TopicPartition where : fresh) {
                final Long position = positions.get(where);
                if (position == null) {
                    client.seekToBeginning(List.of(where));
                } else {
                    client.seek(where, position);
                }
            }
        }
        return complete;
    }

    private void hand(final KafkaConsumer<byte[], byte[]> client, final ConsumerRecords<byte[], byte[]> records)
            throws InterruptedException {
        final Map<TopicPartition, Long> read = new HashMap<>();
        final Map<String, Map<Integer, Long>> moved = new HashMap<>();
        for (final TopicPartition where : client.assignment()) {
            final Long position = position(client, where);
            if (position != null && !position.equals(positions.get(where))) {
                read.put(where, position);
                moved.computeIfAbsent(where.topic(), topic -> new HashMap<>()).put(where.partition(), position);
            }
        }
        for (final Map.Entry<String, Map<Integer, Long>> entry : moved.entrySet()) {
            final Target target = targets.get(entry.getKey());
            final List<Row> rows = new ArrayList<>();
            for (final ConsumerRecord<byte[], byte[]> record : records.records(entry.getKey())) {
                final Row row = target.decoder.decode(record);
                if (row == null) {
                    refused.incrementAndGet();
                } else {
                    rows.add(row);
                }
            }
            target.rows.offer(rows, entry.getValue());
        }
        // Only now: after a failure on the way, these records are read again.
        positions.putAll(read);
    }

    private static Long position(final KafkaConsumer<byte[], byte[]> client, final TopicPartition where) {
        try {
            return client.position(where, Duration.ofMillis(50));
        } catch (TimeoutException notYet) {
            return null;
        }
    }

    @Override
    public void close() {
        closing.countDown();
        final KafkaConsumer<byte[], byte[]> client = consumer;
        if (client != null) {
            client.wakeup();
        }
        try {
            thread.join(10_000);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
