import java.io.IOException;

/**
 * Runs a Kafka node ({@code kafka.Kafka}) and ends it when standard input ends.
 *
 * <p>Standard input is a pipe from the command that starts the node, so the node cannot outlive it.
 */
public final class Node {

    private Node() {
    }

    /** Arguments: the path of the node's {@code server.properties}. */
    public static void main(String[] args) throws Exception {
        Thread watch = new Thread(Node::haltAtEnd, "parent-watch");
        watch.setDaemon(true);
        watch.start();
        Class.forName("kafka.Kafka").getMethod("main", String[].class).invoke(null, (Object) args);
    }

    private static void haltAtEnd() {
        try {
            while (System.in.read() >= 0) {
                // The command sends nothing; the end of the stream is the signal.
            }
        } catch (IOException broken) {
            // A broken pipe is an end, too.
        }
        Runtime.getRuntime().halt(1);
    }
}
