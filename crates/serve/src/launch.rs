//! Starts the runs that users choose in the form. The suites and gateways that the form offers are
//! fixed when the server starts.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use gatebench_store::Timestamp;
use gatebench_studies::run::shell_line;
use serde::Serialize;

use crate::problem::Problem;
use crate::secret::Secret;
use crate::shared::locked;

/// The maximum number of open pages that can start a run. If more are open, the oldest ones cannot.
const TOKENS_MAX: usize = 64;

/// The maximum number of bytes kept from the end of a run's standard error.
const OUTPUT_BYTES_MAX: usize = 8 << 10;

/// The name, the option and the description of each length.
const LENGTHS: [[&str; 3]; 3] = [
    [
        "smoke",
        "--smoke",
        "takes seconds and only checks that everything works",
    ],
    ["quick", "--quick", "takes minutes, with at most 3 blocks"],
    ["full", "", "has the length that the suite defines"],
];

/// A choice in the form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub name: String,
    /// An explanation, or empty.
    pub title: String,
}

/// The runs that a page may start.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The path of gatebench.
    pub program: PathBuf,
    pub suites: Vec<Choice>,
    pub gateways: Vec<Choice>,
    /// Additional arguments of each command.
    pub further: Vec<String>,
}

/// Starts runs and keeps the end of their standard error.
pub(crate) struct Launcher {
    pub(crate) launch: Launch,
    /// The tokens of open pages. Each token can start one run.
    tokens: Mutex<VecDeque<Secret>>,
    started: Mutex<HashMap<String, Arc<Started>>>,
}

#[derive(Debug, Default)]
struct Started {
    output: Mutex<Vec<u8>>,
    has_ended: AtomicBool,
}

/// The run that a form describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) suite: String,
    pub(crate) gateways: Vec<String>,
    length: [&'static str; 3],
}

impl Wanted {
    /// Parses the fields of a form. The defaults are the first suite, the gateways of the suite,
    /// and the shortest length.
    ///
    /// # Errors
    /// A value is not one of the choices, or a field is unknown.
    pub(crate) fn of(pairs: &[(String, String)], launch: &Launch) -> Result<Self, Problem> {
        let first = launch.suites.first().map(|it| it.name.clone());
        let mut wanted = Self {
            suite: first.unwrap_or_default(),
            gateways: Vec::new(),
            length: LENGTHS[0],
        };
        let has = |choices: &[Choice], value: &str| choices.iter().any(|it| it.name == *value);
        for (name, value) in pairs {
            let length = LENGTHS.iter().find(|it| it[0] == value);
            match (name.as_str(), length) {
                ("suite", _) if has(&launch.suites, value) => wanted.suite.clone_from(value),
                ("gateway", _) if has(&launch.gateways, value) => {
                    wanted.gateways.push(value.clone());
                }
                ("length", Some(length)) => wanted.length = *length,
                ("token", _) => {}
                _ => {
                    let what = format!("{value:?} is not one of the form's choices for {name}");
                    return Err(Problem::Wrong(what));
                }
            }
        }
        Ok(wanted)
    }

    pub(crate) fn length(&self) -> &'static str {
        self.length[0]
    }

    fn words(&self, launch: &Launch, dir: &str) -> Vec<String> {
        let mut words = vec!["run".to_owned(), self.suite.clone()];
        for gateway in &self.gateways {
            words.extend(["--gateway".to_owned(), gateway.clone()]);
        }
        let option = self.length[1];
        words.extend((!option.is_empty()).then(|| option.to_owned()));
        words.extend(launch.further.iter().cloned());
        words.extend(["--dir".to_owned(), dir.to_owned()]);
        words
    }

    pub(crate) fn command(&self, launch: &Launch, dir: &Path) -> String {
        let program = "gatebench".to_owned();
        let words = self.words(launch, &dir.to_string_lossy());
        shell_line(&Vec::from_iter(std::iter::once(program).chain(words)))
    }
}

impl Launcher {
    /// Fails if the program does not exist.
    pub(crate) fn new(launch: Launch) -> io::Result<Self> {
        launch.program.metadata()?;
        Ok(Self {
            launch,
            tokens: Mutex::default(),
            started: Mutex::default(),
        })
    }

    pub(crate) fn lengths() -> Vec<Choice> {
        let choice = |it: [&str; 3]| Choice {
            name: it[0].to_owned(),
            title: it[2].to_owned(),
        };
        LENGTHS.map(choice).into()
    }

    /// Returns a token that allows a new page to start one run.
    ///
    /// # Errors
    /// The system provides no random numbers.
    pub(crate) fn issue(&self) -> io::Result<Secret> {
        let token = Secret::new()?;
        let mut tokens = locked(&self.tokens);
        if tokens.len() >= TOKENS_MAX {
            tokens.pop_front();
        }
        tokens.push_back(token.clone());
        Ok(token)
    }

    /// Invalidates the token of a page. Returns false if the token was not valid.
    pub(crate) fn redeem(&self, token: &str) -> bool {
        let mut tokens = locked(&self.tokens);
        let place = tokens.iter().position(|it| it.is(token));
        place.and_then(|place| tokens.remove(place)).is_some()
    }

    /// Starts a run, which outlives the server, in a new directory of `folder`. Returns the name of
    /// the directory, or `None` if a run that this server started has not ended.
    ///
    /// # Errors
    /// The program, or the thread that watches it, cannot be started.
    pub(crate) fn start(&self, wanted: &Wanted, folder: &Path) -> io::Result<Option<String>> {
        let mut all = locked(&self.started);
        if all.values().any(|it| !it.has_ended.load(Ordering::Acquire)) {
            return Ok(None);
        }
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let name = format!("{}-{time}", wanted.suite);
        let mut command = Command::new(&self.launch.program);
        let dir = folder.join(&name);
        command
            .args(wanted.words(&self.launch, &dir.to_string_lossy()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let started = Arc::new(Started::default());
        let watched = Arc::clone(&started);
        // The thread is started first, because a run must not continue unwatched.
        let (sender, receiver) = mpsc::channel();
        let watch = move || receiver.recv().map(|child| watched.watch(child));
        let builder = thread::Builder::new().name("started run".into());
        builder.spawn(watch)?;
        let child = command.spawn()?;
        all.insert(name.clone(), started);
        let _ = sender.send(child);
        Ok(Some(name))
    }

    /// Returns the last output of a run and whether the run has ended, or `None` if this server did
    /// not start the run.
    pub(crate) fn output(&self, name: &str) -> Option<(String, bool)> {
        let started = locked(&self.started).get(name).cloned()?;
        let output = String::from_utf8_lossy(&locked(&started.output)).into_owned();
        Some((output, started.has_ended.load(Ordering::Acquire)))
    }
}

impl Started {
    /// Collects the end of the run's standard error until the run ends.
    fn watch(&self, mut child: Child) {
        if let Some(output) = child.stderr.take() {
            self.read(output);
        }
        let _ = child.wait();
        self.has_ended.store(true, Ordering::Release);
    }

    fn read(&self, mut output: impl Read) {
        let mut piece = [0; 1024];
        while let Ok(count @ 1..) = output.read(&mut piece) {
            let mut kept = locked(&self.output);
            kept.extend_from_slice(&piece[..count]);
            let surplus = kept.len().saturating_sub(OUTPUT_BYTES_MAX);
            kept.drain(..surplus);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> Launch {
        let choice = |name: &str| Choice {
            name: name.into(),
            title: String::new(),
        };
        Launch {
            program: "/bin/sh".into(),
            suites: vec![choice("tour"), choice("soap")],
            gateways: vec![choice("nginx"), choice("haproxy")],
            further: Vec::new(),
        }
    }

    fn wanted(pairs: &[(&str, &str)]) -> Result<Wanted, Problem> {
        let own = |it: &(&str, &str)| (it.0.to_owned(), it.1.to_owned());
        Wanted::of(&Vec::from_iter(pairs.iter().map(own)), &launch())
    }

    #[test]
    fn choices_become_a_command() {
        let pairs = [
            ("suite", "soap"),
            ("gateway", "nginx"),
            ("gateway", "haproxy"),
            ("length", "quick"),
        ];
        let command = wanted(&pairs)
            .unwrap()
            .command(&launch(), Path::new("a b/soap"));
        assert_eq!(
            command,
            "gatebench run soap --gateway nginx --gateway haproxy --quick --dir 'a b/soap'"
        );
    }

    #[test]
    fn only_the_choices_are_accepted() {
        for wrong in [
            ("suite", "--help"),
            ("suite", "../mine.yaml"),
            ("gateway", "./mine"),
            ("length", "--smoke"),
            ("dir", "/tmp"),
        ] {
            assert!(wanted(&[wrong]).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_token_starts_one_run() {
        let launcher = Launcher::new(launch()).unwrap();
        let token = launcher.issue().unwrap();
        assert!(launcher.redeem(token.as_str()));
        assert!(!launcher.redeem(token.as_str()) && !launcher.redeem(""));
    }
}
