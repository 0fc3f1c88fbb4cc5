package gatebench;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Spring Cloud Gateway with nothing added: all it does stands in its application.yaml. */
@SpringBootApplication
public class Gateway {
    public static void main(String[] words) {
        SpringApplication.run(Gateway.class, words);
    }
}
