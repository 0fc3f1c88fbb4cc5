//! `gatebench upstream --tls`, tested with independent clients, which `scripts/install-test-deps`
//! installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use gatebench_net::tls::{Identity, self_signed};

use crate::serving::first_line;

/// A listening gatebench process, which is killed on drop.
struct Serving {
    child: Child,
    port: u64,
    folder: tempfile::TempDir,
}

impl Serving {
    fn start(words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gatebench"))
            .args(["upstream", "ping", "--listen", "127.0.0.1:0", "--tls"])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = first_line(&mut child);
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = said["listening"].as_str().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let certificate = said["certificate"].as_str().unwrap();
        fs::write(folder.path().join("shown.pem"), certificate).unwrap();
        Self {
            child,
            port: address.rsplit_once(':').unwrap().1.parse().unwrap(),
            folder,
        }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("shown.pem")
    }

    /// Requests `/ping` twice over one connection.
    fn curl(&self, options: &[&str]) -> Output {
        let url = format!("https://localhost:{}/ping", self.port);
        Command::new("curl")
            .args([
                "--silent",
                "--show-error",
                "--max-time",
                "20",
                "--noproxy",
                "*",
            ])
            .args([
                "--ipv4",
                "--write-out",
                " %{num_connects} %{http_version}\n",
            ])
            .arg("--cacert")
            .arg(self.certificate())
            .args(options)
            .args([&url, &url])
            .output()
            .unwrap()
    }

    fn s_client(&self, options: &[&str]) -> String {
        let output = Command::new("openssl")
            .args(["s_client", "-connect"])
            .arg(format!("127.0.0.1:{}", self.port))
            .args(["-servername", "localhost", "-verify_hostname", "localhost"])
            .arg("-CAfile")
            .arg(self.certificate())
            .args(options)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        words(&output)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Killing fails if the process has already ended, which is not an error here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn words(output: &Output) -> String {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&said).into_owned()
}

fn write(folder: &Path, identity: &Identity) -> (String, String) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    fs::write(&cert, &identity.chain.bytes).unwrap();
    fs::write(&key, &identity.key.bytes).unwrap();
    (cert, key)
}

#[test]
fn curl_accepts_the_printed_certificate_and_keeps_the_connection() {
    for backend in [&[][..], &["--backend", "epoll"]] {
        let serving = Serving::start(backend);
        for version in [&["--tlsv1.2", "--tls-max", "1.2"][..], &["--tlsv1.3"]] {
            for (option, protocol) in [("--http1.1", "1.1"), ("--http2", "2")] {
                let output = serving.curl(&[version, &[option]].concat());
                let expected = format!("ok 1 {protocol}\nok 0 {protocol}\n");
                assert_eq!(words(&output), expected);
            }
        }
    }
}

#[test]
fn openssl_agrees_on_version_protocol_and_certificate() {
    let serving = Serving::start(&[]);
    for (option, version) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let said = serving.s_client(&[option, "-alpn", "h3,http/1.1"]);
        for expected in [
            format!("New, {version}"),
            "ALPN protocol: http/1.1".to_owned(),
            "Verification: OK".to_owned(),
            "Verified peername: localhost".to_owned(),
        ] {
            assert!(said.contains(&expected), "no {expected:?} in\n{said}");
        }
    }
    let said = serving.s_client(&["-alpn", "h3"]);
    assert!(said.contains("no application protocol"), "{said}");
}

#[test]
fn openssl_resumes_its_session() {
    let serving = Serving::start(&[]);
    let kept = serving.folder.path().join("session.pem");
    let kept = kept.to_str().unwrap();
    let said = serving.s_client(&["-tls1_2", "-sess_out", kept]);
    assert!(said.contains("New, TLSv1.2"), "{said}");
    let said = serving.s_client(&["-tls1_2", "-sess_in", kept]);
    assert!(said.contains("Reused, TLSv1.2"), "{said}");
}

#[test]
fn given_certificates_are_presented_and_client_certificates_are_required() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (cert, key) = write(ours.path(), &self_signed(&["localhost"]).unwrap());
    let (client_cert, client_key) = write(theirs.path(), &self_signed(&["client"]).unwrap());
    let serving = Serving::start(&["--cert", &cert, "--key", &key, "--client-ca", &client_cert]);
    assert_eq!(
        fs::read(serving.certificate()).unwrap(),
        fs::read(&cert).unwrap()
    );

    let output = serving.curl(&["--cert", &client_cert, "--key", &client_key]);
    assert_eq!(words(&output), "ok 1 2\nok 0 2\n");
    let output = serving.curl(&[]);
    assert!(!output.status.success(), "{}", words(&output));
    assert!(
        words(&output).contains("certificate required"),
        "{}",
        words(&output)
    );
}

#[test]
fn mistakes_name_their_file_and_exit_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, _) = write(folder.path(), &self_signed(&["localhost"]).unwrap());
    for (options, expected) in [
        (
            &["--tls", "--cert", &cert, "--key", &cert][..],
            "no private key found",
        ),
        (
            &["--tls", "--cert", "/nonexistent.pem", "--key", &cert],
            "/nonexistent.pem: ",
        ),
        (&["--tls", "--cert", &cert], "--key"),
        (&["--cert", &cert, "--key", &cert], "--tls"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_gatebench"))
            .args(["upstream", "ping"])
            .args(options)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = words(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}
