//! What `gatebench load --help` ends with.

/// Examples, and what the exit code says.
pub const EXAMPLES: &str = "\
Examples:
  gatebench load http://127.0.0.1:8080/ping                      50 connections for 10 s
  gatebench load -c 64 -d 30s http://127.0.0.1:8080/ping         how much does it take?
  gatebench load --rate 2000 http://127.0.0.1:8080/ping          how long does it take, at that rate?
  gatebench load --rate 100 --ramp-to 5000 -d 60s URL            where is the knee?
  gatebench load -n 100 -c 4 --check status=200 URL              does it work at all?
  gatebench load -X PUT -H 'Content-Type: application/json' --body @order.json URL
  gatebench load --check json:/ok=true --threshold 'p99<10ms' --threshold 'checks>99.9%' URL
  gatebench load --cores 0,1 -c 256 --json --hdr load.hlog URL   two workers; results for programs
  gatebench load -k --handshakes https://127.0.0.1:8443/         TLS handshakes per second
  gatebench load http://a.test/x http://a.test/y --resolve a.test:80:127.0.0.1

Several URLs of one host are sent in turn, and each is reported apart.

Exits with 0 also where answers were errors: what must not be is said with --check and --threshold.
1: a threshold was not kept, or, where no threshold is about checks, an answer failed a --check.
3: the target could not be reached. 4: no request was answered. 130: interrupted; what was measured
until then is printed.

Coming from wrk, oha, k6, ab, hey or vegeta: docs/COMING-FROM.md";
