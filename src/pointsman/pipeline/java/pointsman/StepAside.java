package pointsman;

import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.executor.Executor;

/**
 * Tasks of a generation that is being built work at the lowest priority, so that what is live goes first.
 *
 * <p>Whoever is not root may lower a thread's priority, and not raise it again. So a thread that has stepped aside must
 * not be given to a later task: from then on, the pool of task threads keeps none that has nothing to do.
 */
public final class StepAside implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return null;
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Tasks();
    }

    private static final class Tasks implements ExecutorPlugin {
        @Override
        public void onTaskStart() {
            if ("true".equals(TaskContext.get().getLocalProperty("pointsman.aside"))) {
                Executor.executorSourceLocalModeOnly()
                        .org$apache$spark$executor$ExecutorSource$$threadPool
                        .setKeepAliveTime(0, TimeUnit.SECONDS);
                Thread.currentThread().setPriority(Thread.MIN_PRIORITY);
            }
        }
    }
}
