package gatebench;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Spring Cloud Gateway without additions; application.yaml configures everything. */
@SpringBootApplication
public class Gateway {
    public static void main(String[] words) {
        SpringApplication.run(Gateway.class, words);
    }
}
