package upstream;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** An upstream that reads paths as Spring does. Its page at `/admin` and below is protected. */
@SpringBootApplication
@RestController
public class Upstream {
    @GetMapping({"/admin", "/admin/**"})
    String protectedPage() {
        return "protected";
    }

    @GetMapping("/**")
    String open() {
        return "open";
    }

    public static void main(String[] words) {
        SpringApplication.run(Upstream.class, words);
    }
}
