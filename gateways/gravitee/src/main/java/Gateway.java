package gatebench;

import io.gravitee.common.component.Lifecycle;
import io.gravitee.common.component.LifecycleComponent;
import io.gravitee.gateway.standalone.GatewayContainer;
import io.gravitee.gateway.standalone.node.GatewayNode;
import io.gravitee.gateway.standalone.vertx.VertxEmbeddedContainer;
import io.gravitee.node.api.Node;
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Gravitee's gateway with APIs from a file. Arguments: gravitee.yml, the file of APIs, the file of
 * keys.
 */
public class Gateway extends GatewayContainer {

    private static Path apis;
    private static Path keys;

    public static void main(String[] words) throws Exception {
        // Plug-ins are next to the archive that this class is in.
        File archive = new File(Gateway.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        System.setProperty("gravitee.home", archive.getParent());
        System.setProperty("gravitee.conf", words[0]);
        apis = Path.of(words[1]);
        keys = Path.of(words[2]);
        Gateway gateway = new Gateway();
        gateway.start();
        // The container logs the failure but would keep running.
        if (gateway.node().lifecycleState() != Lifecycle.State.STARTED) {
            System.exit(1);
        }
    }

    @Override
    protected List<Class<?>> annotatedClasses() {
        List<Class<?>> classes = super.annotatedClasses();
        classes.add(Beans.class);
        return classes;
    }

    @Configuration
    static class Beans {

        /** Replaces the container's own bean of this name. */
        @Bean
        Node node() {
            return new NodeWithApis();
        }

        @Bean
        Apis apis() {
            return new Apis(apis, keys);
        }
    }

    /** Deploys the APIs before a port is opened, so that no request on a route gets 404. */
    static class NodeWithApis extends GatewayNode {

        @Override
        public List<Class<? extends LifecycleComponent>> components() {
            List<Class<? extends LifecycleComponent>> components = new ArrayList<>(super.components());
            components.add(components.indexOf(VertxEmbeddedContainer.class), Apis.class);
            return components;
        }
    }
}
