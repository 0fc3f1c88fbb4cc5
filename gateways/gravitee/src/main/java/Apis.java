package gatebench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.gravitee.common.service.AbstractService;
import io.gravitee.gateway.api.service.ApiKey;
import io.gravitee.gateway.api.service.ApiKeyService;
import io.gravitee.gateway.api.service.Subscription;
import io.gravitee.gateway.api.service.SubscriptionService;
import io.gravitee.gateway.handlers.api.manager.ApiManager;
import io.gravitee.gateway.reactive.handlers.api.v4.Api;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import org.springframework.beans.factory.annotation.Autowired;

/**
 * Passes APIs to the gateway, and the keys of all consumers to each API that requires keys. With a
 * database, Gravitee's "sync" service does this. Each line of the files is a JSON object.
 */
class Apis extends AbstractService<Apis> {

    /** The organization and environment of each API; Gravitee's default name for both. */
    private static final String DEFAULT = "DEFAULT";

    /** A line of the file of keys. */
    record Key(String consumer, String key) {}

    private final Path apis;
    private final Path keys;

    @Autowired
    private ApiManager manager;

    @Autowired
    private ApiKeyService keyService;

    @Autowired
    private SubscriptionService subscriptions;

    @Autowired
    private ObjectMapper mapper;

    Apis(Path apis, Path keys) {
        this.apis = apis;
        this.keys = keys;
    }

    @Override
    protected void doStart() throws Exception {
        super.doStart();
        List<Key> all = read(keys, Key.class);
        for (var definition : read(apis, io.gravitee.definition.model.v4.Api.class)) {
            Api api = new Api(definition);
            api.setDeployedAt(new Date());
            api.setOrganizationId(DEFAULT);
            api.setEnvironmentId(DEFAULT);
            if (!manager.register(api)) {
                throw new IllegalStateException("Gravitee refuses the API " + api.getId());
            }
            for (String plan : api.getApiKeyPlans()) {
                all.forEach(key -> subscribe(api.getId(), plan, key));
            }
        }
    }

    private <T> List<T> read(Path file, Class<T> type) throws IOException {
        List<T> all = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            if (!line.isBlank()) {
                all.add(mapper.readValue(line, type));
            }
        }
        return all;
    }

    /** A consumer has one subscription to an API, however many keys it has. */
    private void subscribe(String api, String plan, Key key) {
        Subscription subscription = new Subscription();
        subscription.setId(api + " " + key.consumer());
        subscription.setApi(api);
        subscription.setPlan(plan);
        subscription.setApplication(key.consumer());
        subscription.setStatus("ACCEPTED");
        subscription.setConsumerStatus(Subscription.ConsumerStatus.STARTED);
        subscription.setType(Subscription.Type.STANDARD);
        subscriptions.register(subscription);
        keyService.register(
            ApiKey.builder()
                .id(subscription.getId() + " " + key.key())
                .api(api)
                .plan(plan)
                .application(key.consumer())
                .subscription(subscription.getId())
                .key(key.key())
                .active(true)
                .build()
        );
    }
}
