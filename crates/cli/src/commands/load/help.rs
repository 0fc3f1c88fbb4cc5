//! The end of `gatebench load --help`.

/// Examples, and the meaning of the exit code.
pub const EXAMPLES: &str = "\
Examples:
  gatebench load http://127.0.0.1:8080/ping                      50 connections for 10 s
  gatebench load -c 64 -d 30s http://127.0.0.1:8080/ping         how high is its throughput?
  gatebench load --rate 2000 --report load.html URL              its latency, as a page with charts
  gatebench load --rate 100 --ramp-to 5000 -d 60s URL            where is the knee?
  gatebench load -n 100 -c 4 --check status=200 URL              does it work at all?
  gatebench load -X PUT -H 'Content-Type: application/json' --body @order.json URL
  gatebench load --check json:/ok=true --threshold 'p99<10ms' --threshold 'checks>99.9%' URL
  gatebench load --cores 0,1 -c 256 --json --hdr load.hlog URL   two workers; results for programs
  gatebench load -k --handshakes https://127.0.0.1:8443/         TLS handshakes per second
  gatebench load http://a.test/x http://a.test/y --resolve a.test:80:127.0.0.1

Several URLs of one host are sent in turn, and each is reported separately.

Exit code:
  0    success, even if responses were errors: use --check and --threshold to reject them
  1    a threshold was missed or, if no threshold refers to checks, a response failed a --check
  3    the target could not be reached, or a file could not be created
  4    no response arrived
  130  interrupted; the results so far are printed

docs/guide/COMING-FROM.md translates the options of wrk, oha, k6, ab, hey and vegeta.";
