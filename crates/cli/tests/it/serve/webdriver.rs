//! A browser: Chromium, driven over WebDriver.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The time that a page may take; the driver may take twice as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads a response of the driver, which keeps its connections open, and returns the body.
#[track_caller]
fn body_of(stream: TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE * 2)).unwrap();
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    for line in (&mut stream).lines().map(Result::unwrap) {
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    body
}

/// A headless browser with a temporary profile. Dropping it ends the browser and deletes the
/// profile.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// The driver's standard output. It stays open until the driver ends, because the driver writes
    /// to it.
    _output: BufReader<ChildStdout>,
    _profile: TempDir,
}

impl Browser {
    pub fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromedriver is missing; install it: apt-get install chromium-driver");
        let mut output = BufReader::new(driver.stdout.take().unwrap());
        let port = (&mut output)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, port) = line.split_once("started successfully on port ")?;
                port.trim_end_matches('.').parse().ok()
            });
        let mut browser = Self {
            driver,
            port: port.unwrap(),
            session: String::new(),
            _output: output,
            _profile: TempDir::new().unwrap(),
        };
        let profile = format!("--user-data-dir={}", browser._profile.path().display());
        let options = json!({"args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--window-size=1280,900", profile,
        ]});
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "timeouts": {"script": 60_000, "pageLoad": 60_000},
        }}});
        let session = browser.call("POST", "/session", &capabilities);
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        browser
    }

    #[track_caller]
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut value: Value = serde_json::from_slice(&body_of(stream)).unwrap();
        let error = value["value"].get("error").filter(|it| it.is_string());
        assert!(error.is_none(), "{path}: {value:#}");
        value["value"].take()
    }

    #[track_caller]
    fn command(&self, name: &str, body: Value) -> Value {
        self.call("POST", &format!("/session/{}/{name}", self.session), &body)
    }

    /// Opens a URL and waits until the page is loaded.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.command("url", json!({"url": url}));
    }

    pub fn reload(&self) {
        self.command("refresh", json!({}));
    }

    pub fn back(&self) {
        self.command("back", json!({}));
    }

    /// Opens another tab, and makes it the current one.
    pub fn tab(&self) -> String {
        let tab = self.command("window/new", json!({"type": "tab"}));
        let handle = tab["handle"].as_str().unwrap().to_owned();
        self.switch(&handle);
        handle
    }

    pub fn switch(&self, handle: &str) {
        self.command("window", json!({"handle": handle}));
    }

    pub fn current_tab(&self) -> String {
        let path = format!("/session/{}/window", self.session);
        let handle = self.call("GET", &path, &Value::Null);
        handle.as_str().unwrap().to_owned()
    }

    /// Runs a function body in the page.
    #[track_caller]
    pub fn run(&self, script: &str) -> Value {
        self.command("execute/sync", json!({"script": script, "args": []}))
    }

    /// Runs a function body that passes its result to its last argument, a callback.
    #[track_caller]
    pub fn run_async(&self, script: &str) -> Value {
        self.command("execute/async", json!({"script": script, "args": []}))
    }

    /// Returns the visible text of the page.
    #[track_caller]
    pub fn text(&self) -> String {
        let text = self.run("return document.body ? document.body.innerText : ''");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page contains this text, and returns how long that took.
    #[track_caller]
    pub fn until(&self, words: &str) -> Duration {
        let began = Instant::now();
        loop {
            let text = self.text();
            if text.contains(words) {
                return began.elapsed();
            }
            assert!(
                began.elapsed() < PATIENCE,
                "timed out waiting for '{words}':\n{text}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn press(&self, keys: &[char]) {
        let pressed = keys.iter().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()}))
        });
        let actions: Vec<Value> = pressed.collect();
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.command("actions", json!({"actions": [keyboard]}));
    }

    /// Sends a command of the Chrome DevTools Protocol.
    pub fn chromium(&self, name: &str, parameters: Value) -> Value {
        let body = json!({"cmd": name, "params": parameters});
        self.command("goog/cdp/execute", body)
    }

    /// Shows pages as on a phone, or as on a desktop.
    pub fn on_phone(&self, is_phone: bool) {
        let (width, height) = if is_phone { (390, 844) } else { (1280, 900) };
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone,
        });
        self.chromium("Emulation.setDeviceMetricsOverride", metrics);
    }

    pub fn in_dark_mode(&self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let feature = json!({"name": "prefers-color-scheme", "value": value});
        self.chromium("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// Writes a screenshot of the page to the folder in `GATEBENCH_SCREENSHOTS`, if that is set.
    pub fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("GATEBENCH_SCREENSHOTS") else {
            return;
        };
        let whole = json!({"captureBeyondViewport": true});
        let picture = self.chromium("Page.captureScreenshot", whole);
        let text = picture["data"].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap();
        let path = std::path::PathBuf::from(folder).join(format!("{name}.png"));
        fs::write(path, bytes).unwrap();
    }

    /// Returns the messages in this log of the browser since the last call for the same log.
    fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.command("se/log", json!({"type": kind}));
        log.as_array().cloned().unwrap_or_default()
    }

    /// Discards the errors of the console so far.
    pub fn discard_log(&self) {
        self.log("browser");
    }

    /// Asserts that the console has no errors, and that every HTTP request went to this host.
    #[track_caller]
    pub fn assert_quiet(&self, host: &str) {
        let errors = self.log("browser");
        let errors: Vec<_> = errors.iter().filter(|it| it["level"] == "SEVERE").collect();
        assert!(errors.is_empty(), "{errors:#?}");
        for entry in self.log("performance") {
            let message: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            let message = &message["message"];
            if message["method"] == "Network.requestWillBeSent" {
                let url = message["params"]["request"]["url"].as_str().unwrap();
                let is_own = url.starts_with(&format!("http://{host}/"));
                // The browser's first tab also requests URLs that are not HTTP.
                assert!(is_own || !url.starts_with("http"), "{url}");
            }
        }
    }

    /// Prints the page, and returns the PDF's first bytes in Base64.
    pub fn print(&self) -> String {
        let printed = self.command("print", json!({}));
        printed.as_str().unwrap()[..8].to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser.
        let path = format!("/session/{}", self.session);
        if !self.session.is_empty() && !thread::panicking() {
            self.call("DELETE", &path, &json!({}));
        } else if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let head = format!("DELETE {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.read(&mut [0; 64]);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
