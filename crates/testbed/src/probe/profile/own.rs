//! Reads the stacks that a gateway's own profiler wrote, for code that perf cannot name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Profile, ProfileError};

/// The time that the profiler may take to write a sample. It writes every 100 ms.
const WRITTEN: Duration = Duration::from_millis(300);

/// The profiler of a running gateway. Each process of the gateway appends lines to a separate file.
/// A line contains the time, in milliseconds since 1970; the CPU time that a stack used since the
/// previous line with this stack, in nanoseconds; and the stack, whose functions are separated by
/// semicolons, the outermost first.
#[derive(Clone, Debug)]
pub struct OwnProfiler {
    /// The name of the gateway, which becomes the outermost frame.
    pub name: String,
    pub prefix: PathBuf,
}

impl OwnProfiler {
    /// Returns the samples of this time span, after the profiler has written them.
    ///
    /// # Errors
    /// The files cannot be read, or contain no samples of the span.
    pub fn between(&self, since: SystemTime, until: SystemTime) -> Result<Profile, ProfileError> {
        let left = (until + WRITTEN).duration_since(SystemTime::now());
        thread::sleep(left.unwrap_or_default());
        let span = [since, until].map(milliseconds);
        let mut stacks = BTreeMap::new();
        for file in self.files()? {
            let text = fs::read(file)?;
            add(&String::from_utf8_lossy(&text), span, &mut stacks);
        }
        let mut profile = Profile::default();
        for (stack, ns) in stacks {
            let _ = writeln!(profile.folded, "{};{stack} {ns}", self.name);
            profile.sampled_ns += ns;
        }
        match profile.sampled_ns {
            0 => Err(ProfileError::NoOwnSamples(self.prefix.clone())),
            _ => Ok(profile),
        }
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let folder = self.prefix.parent().unwrap_or(Path::new("."));
        let name = self.prefix.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let its_name = path.file_name().unwrap_or_default().to_string_lossy();
            if its_name.starts_with(&*name) {
                files.push(path);
            }
        }
        Ok(files)
    }
}

fn milliseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis()
}

/// Adds the CPU times of the samples in a span to the totals of their stacks. An incomplete last
/// line is ignored.
fn add(text: &str, [since, until]: [u128; 2], stacks: &mut BTreeMap<String, u64>) {
    let lines = text.split_inclusive('\n').filter(|it| it.ends_with('\n'));
    for (at, ns, stack) in lines.filter_map(sample) {
        if at > since && at <= until {
            *stacks.entry(stack.to_owned()).or_default() += ns;
        }
    }
}

fn sample(line: &str) -> Option<(u128, u64, &str)> {
    let mut parts = line.trim_end().splitn(3, ' ');
    let (at, ns) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((at, ns, parts.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_times_of_the_span_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let at = |ms| UNIX_EPOCH + Duration::from_millis(ms);
        let text = "100 7 early\n101 1 a (x.lua:1);b (y.lua:2)\n200 2 a (x.lua:1)\n\
                    201 9 late\n150 3 cut";
        fs::write(folder.path().join("lua.1"), text).unwrap();
        fs::write(folder.path().join("lua.2"), "150 4 a (x.lua:1)\nnonsense\n").unwrap();
        fs::write(folder.path().join("other"), "150 4 other\n").unwrap();
        let profiler = OwnProfiler {
            name: "kong".into(),
            prefix: folder.path().join("lua."),
        };
        let found = profiler.between(at(100), at(200)).unwrap();
        assert_eq!(
            found.folded,
            "kong;a (x.lua:1) 6\nkong;a (x.lua:1);b (y.lua:2) 1\n"
        );
        assert_eq!(found.sampled_ns, 7);
        let error = profiler.between(at(300), at(400)).unwrap_err();
        assert!(matches!(error, ProfileError::NoOwnSamples(_)), "{error}");
    }
}
