package pointsman;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;

/**
 * Where Kafka's client looks up what Spark's options only name: in the configuration of the session it runs in.
 *
 * <p>An executor asks the driver for that when it starts, over their own connection. Its environment would be no such
 * place: a standalone cluster's workers show it on their pages, and Kubernetes in the description of a pod.
 */
public final class SessionSecrets implements ConfigProvider {
    private static final String PREFIX = "spark.pointsman.secret.";

    @Override
    public void configure(final Map<String, ?> ignored) {}

    @Override
    public ConfigData get(final String path) {
        return new ConfigData(Map.of());
    }

    @Override
    public ConfigData get(final String path, final Set<String> names) {
        final SparkConf session = SparkEnv.get().conf();
        final Map<String, String> found = new HashMap<>();
        for (final String name : names) {
            if (session.contains(PREFIX + name)) {
                found.put(name, session.get(PREFIX + name));
            }
        }
        return new ConfigData(found);
    }

    @Override
    public void close() {}
}
