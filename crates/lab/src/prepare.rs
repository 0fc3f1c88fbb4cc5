//! From the words of a user to a plan whose gateways are known to be there.

use std::collections::BTreeMap;
use std::path::Path;

use gatebench_drivers::{Catalogue, DriverError, Folder, FoundBinary, Launcher};
use gatebench_model::{LoadProfile, Placement, Plan, Scenario, Span, Suite, Variant};
use gatebench_store::{Manifest, Run};

use crate::error::LabError;
use crate::identity;
use crate::library::{Library, Listed, Named, Source, is_path};
use crate::warning::Warning;

/// The suite of a run without words.
const TOUR: &str = "tour";
/// The word for every gateway that is found.
const ALL: &str = "all";
/// The label of a gateway that someone else started.
const ATTACHED: &str = "attached";
/// A plan is the same whenever it is made from the same words, so that `--dry-run` shows what runs.
const DEFAULT_SEED: u64 = 1;

/// What a user asked for.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names or files of one suite or of scenarios; none is the tour.
    pub words: Vec<String>,
    /// Gateways by name or folder, or `all`; none is what the suite says.
    pub gateways: Vec<String>,
    /// Scenarios by name or file, in place of the suite's.
    pub scenarios: Vec<String>,
    /// Leaves the floor out, whatever the suite says.
    pub no_floor: bool,
    /// A gateway that already runs.
    pub attach: Option<Attach>,
    /// Load profile by name or file, in place of the suite's.
    pub load: Option<String>,
    /// Blocks, in place of the suite's.
    pub blocks: Option<u32>,
    /// Seed of the order.
    pub seed: Option<u64>,
    /// Cores of the gateway; one without.
    pub gateway_cores: Option<usize>,
    /// How thorough the run is.
    pub pace: Pace,
}

/// A gateway that already runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Its URL, `http://HOST:PORT`.
    pub url: String,
    /// Root of its process tree, where CPU and memory can be read.
    pub pid: Option<u32>,
}

/// How thorough a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// As the suite says.
    #[default]
    Full,
    /// At most 3 blocks, and phases of at most 2 s after 500 ms of warm-up.
    Quick,
    /// One block, and phases of 500 ms after 100 ms: whether everything works, not how fast.
    Smoke,
}

/// A plan, and everything resolved that it names.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What will be done.
    pub plan: Plan,
    /// The gateways by label of their variant.
    pub gateways: BTreeMap<String, PreparedGateway>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
}

/// A gateway that was found.
#[derive(Clone, Debug)]
pub struct PreparedGateway {
    /// What it is.
    pub folder: Folder,
    /// Its program.
    pub binary: FoundBinary,
}

/// Resolves what a user asked for, before anything starts.
///
/// A gateway that the user named and that is not there is an error; one that only the suite or `all`
/// names is left out with a warning.
///
/// # Errors
/// Words that name nothing, files with mistakes, gateways that were named and are not installed,
/// more cores than there are.
pub fn prepare(
    selection: &Selection,
    library: &Library,
    catalogue: &Catalogue,
    launcher: &Launcher,
) -> Result<Prepared, LabError> {
    let (mut suite, base) = suite_of(selection, library)?;
    suite.floor &= !selection.no_floor;
    let scenarios = if selection.scenarios.is_empty() {
        scenarios_of(&suite.scenarios, &base, library)?
    } else {
        scenarios_of(&selection.scenarios, Path::new(""), library)?
    };
    let load = match &selection.load {
        Some(word) => library.find::<LoadProfile>(word, Path::new(""))?,
        None => library.find::<LoadProfile>(&suite.load, &base)?,
    };
    let load = paced(load.document, selection.pace);
    let mut found = Found::default();
    let named = !selection.gateways.is_empty();
    let words: Vec<String> = match (named, &selection.attach) {
        (true, _) => selection.gateways.clone(),
        (false, Some(_)) => Vec::new(),
        (false, None) => suite
            .gateways
            .iter()
            .map(|word| beside(word, &base))
            .collect(),
    };
    for word in &words {
        found.add_word(word, named, catalogue, launcher)?;
    }
    if let Some(attach) = &selection.attach {
        let name = found.unique_label(ATTACHED);
        found.variants.push(Variant::Attached {
            name,
            url: attach.url.clone(),
            pid: attach.pid,
        });
    }
    found.must_not_be_empty()?;
    let blocks = blocks(selection, &suite)?;
    let placement = placement(selection.gateway_cores)?;
    let seed = selection.seed.unwrap_or(DEFAULT_SEED);
    let Found {
        variants,
        gateways,
        warnings,
    } = found;
    let plan = Plan::expand(&suite, scenarios, load, variants, seed, blocks, placement);
    Ok(Prepared {
        plan,
        gateways,
        warnings,
    })
}

/// Resolves the plan of a run that was interrupted. The plan is the manifest's; a gateway that has
/// changed since is a warning.
///
/// # Errors
/// `out` holds no run that can be read, or a gateway of it is not there any more.
pub fn prepare_resume(
    out: &Path,
    catalogue: &Catalogue,
    launcher: &Launcher,
) -> Result<Prepared, LabError> {
    let manifest: Manifest = Run::open(out)?.manifest().clone();
    let mut gateways = BTreeMap::new();
    let mut warnings = Vec::new();
    for variant in &manifest.plan.variants {
        if let Variant::Gateway { name, folder } = variant {
            let folder = catalogue.resolve(folder)?;
            let binary = folder.find_binary(launcher)?;
            let gateway = PreparedGateway { folder, binary };
            let before = manifest.gateways.get(name);
            if let Some(what) =
                before.and_then(|before| identity::change(before, &identity::of(&gateway)))
            {
                warnings.push(Warning::GatewayChanged {
                    gateway: name.clone(),
                    what,
                });
            }
            gateways.insert(name.clone(), gateway);
        }
    }
    Ok(Prepared {
        plan: manifest.plan,
        gateways,
        warnings,
    })
}

/// The suite that the words name, or one made of the scenarios that they name, and the folder from
/// which its paths are seen.
fn suite_of(
    selection: &Selection,
    library: &Library,
) -> Result<(Suite, std::path::PathBuf), LabError> {
    let mut suite: Option<Listed<Suite>> = None;
    let mut scenarios: Vec<(String, Scenario)> = Vec::new();
    for word in &selection.words {
        match library.find_suite_or_scenario(word)? {
            Named::Suite(_) if suite.is_some() => {
                return Err(LabError::words(
                    format!("'{word}' is a second suite"),
                    "name one suite; several scenarios can be named together",
                ));
            }
            Named::Suite(listed) => suite = Some(listed),
            Named::Scenario(listed) => scenarios.push((word.clone(), listed.document)),
        }
    }
    match (suite, scenarios.is_empty()) {
        (Some(_), false) => Err(LabError::words(
            "a suite and scenarios are named together",
            "name either one suite, or scenarios",
        )),
        (Some(listed), true) => {
            let base = base_of(&listed.source);
            Ok((listed.document, base))
        }
        (None, true) => Ok((
            library.find::<Suite>(TOUR, Path::new(""))?.document,
            "".into(),
        )),
        (None, false) => {
            let tour = library.find::<Suite>(TOUR, Path::new(""))?.document;
            let titles: Vec<&str> = scenarios
                .iter()
                .map(|(_, scenario)| scenario.title.as_str())
                .collect();
            let title = titles.join("; ");
            let words = scenarios.into_iter().map(|(word, _)| word).collect();
            Ok((
                Suite {
                    suite: "words".into(),
                    title,
                    scenarios: words,
                    ..tour
                },
                "".into(),
            ))
        }
    }
}

fn base_of(source: &Source) -> std::path::PathBuf {
    match source {
        Source::Embedded(_) => "".into(),
        Source::File(path) => path.parent().map(Into::into).unwrap_or_default(),
    }
}

fn scenarios_of(
    words: &[String],
    base: &Path,
    library: &Library,
) -> Result<Vec<Scenario>, LabError> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut mistakes = Vec::new();
    for word in words {
        match library.find::<Scenario>(word, base) {
            Ok(listed)
                if scenarios
                    .iter()
                    .any(|known| known.scenario == listed.document.scenario) =>
            {
                return Err(LabError::words(
                    format!("the scenario '{}' is named twice", listed.document.scenario),
                    "name each scenario once; blocks repeat it",
                ));
            }
            Ok(listed) => scenarios.push(listed.document),
            // Mistakes of all files are shown at once.
            Err(LabError::Mistakes(more)) => mistakes.extend(more),
            Err(error) => return Err(error),
        }
    }
    if mistakes.is_empty() {
        Ok(scenarios)
    } else {
        Err(LabError::Mistakes(mistakes))
    }
}

fn beside(word: &str, base: &Path) -> String {
    if is_path(word) {
        base.join(word).display().to_string()
    } else {
        word.to_owned()
    }
}

fn blocks(selection: &Selection, suite: &Suite) -> Result<u32, LabError> {
    let blocks = match (selection.blocks, selection.pace) {
        (Some(blocks), _) => blocks,
        (None, Pace::Full) => suite.blocks,
        (None, Pace::Quick) => suite.blocks.min(3),
        (None, Pace::Smoke) => 1,
    };
    if blocks == 0 {
        return Err(LabError::words(
            "there is nothing to do in 0 blocks",
            "ask for at least 1",
        ));
    }
    Ok(blocks)
}

fn paced(mut load: LoadProfile, pace: Pace) -> LoadProfile {
    let (warm_up, measure) = match pace {
        Pace::Full => return load,
        Pace::Quick => (Span::from_millis(500), Span::from_millis(2_000)),
        Pace::Smoke => (Span::from_millis(100), Span::from_millis(500)),
    };
    for phase in &mut load.phases {
        phase.warm_up = phase.warm_up.min(warm_up);
        phase.measure = phase.measure.min(measure);
    }
    load
}

/// The cores that this process may use, shared out.
fn placement(gateway_cores: Option<usize>) -> Result<Placement, LabError> {
    let cores = crate::cores::allowed();
    match gateway_cores {
        None => Ok(Placement::automatic(&cores)),
        Some(count) => Placement::with_gateway_cores(&cores, count).map_err(|error| {
            LabError::environment(
                error.to_string(),
                "use a machine with more cores, or fewer for the gateway",
            )
        }),
    }
}

/// The variants found so far.
#[derive(Default)]
struct Found {
    variants: Vec<Variant>,
    gateways: BTreeMap<String, PreparedGateway>,
    warnings: Vec<Warning>,
}

impl Found {
    fn add_word(
        &mut self,
        word: &str,
        named: bool,
        catalogue: &Catalogue,
        launcher: &Launcher,
    ) -> Result<(), LabError> {
        if word == ALL {
            for folder in catalogue.list()? {
                let word = folder.spec.gateway.clone();
                self.add_folder(&word, folder, false, launcher)?;
            }
            return Ok(());
        }
        if !is_path(word)
            && let Some((name, _)) = word.split_once('@')
        {
            return Err(LabError::words(
                format!("'{word}' asks for a version, and versions cannot be chosen yet"),
                format!("install the version wanted and write {name}"),
            ));
        }
        let folder = catalogue.resolve(word)?;
        // The plan is read again from another directory when a run is resumed.
        let word = if is_path(word) {
            absolute(word)
        } else {
            word.to_owned()
        };
        self.add_folder(&word, folder, named, launcher)
    }

    fn add_folder(
        &mut self,
        word: &str,
        folder: Folder,
        named: bool,
        launcher: &Launcher,
    ) -> Result<(), LabError> {
        let gateway = folder.spec.gateway.clone();
        match folder.find_binary(launcher) {
            Ok(binary) => {
                let name = self.unique_label(&gateway);
                self.variants.push(Variant::Gateway {
                    name: name.clone(),
                    folder: word.to_owned(),
                });
                self.gateways
                    .insert(name, PreparedGateway { folder, binary });
                Ok(())
            }
            Err(error @ (DriverError::BinaryMissing { .. } | DriverError::NoVersion { .. }))
                if !named =>
            {
                let (reason, remedy) = (error.to_string(), error.remedy());
                self.warnings.push(Warning::GatewayMissing {
                    gateway,
                    reason,
                    remedy,
                });
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The name itself, or with a number: the same gateway twice is how a run measures its own noise.
    fn unique_label(&self, name: &str) -> String {
        let taken = |label: &str| {
            label == Variant::Floor.label()
                || self.variants.iter().any(|known| known.label() == label)
        };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|label| !taken(label))
            .unwrap_or_default()
    }

    fn must_not_be_empty(&self) -> Result<(), LabError> {
        if !self.variants.is_empty() {
            return Ok(());
        }
        let remedies: Vec<String> = self.warnings.iter().map(ToString::to_string).collect();
        Err(LabError::environment(
            "no gateway of this suite is installed",
            remedies.join("; "),
        ))
    }
}

fn absolute(path: &str) -> String {
    Path::new(path)
        .canonicalize()
        .map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn launcher() -> Launcher {
        // It answers `--version` with a line that the reference gateway's pattern does not find.
        Launcher {
            program: "/bin/true".into(),
            prefix_args: vec![],
        }
    }

    /// A gateway folder whose program is the shell.
    fn folder(at: &Path, name: &str, policies: &str) -> String {
        let path = at.join(name);
        std::fs::create_dir(&path).unwrap();
        let text = format!(
            "gateway: {name}\ncontract: 1\ntitle: T\nbinary: {{names: [sh], version_args: [-c, 'echo v1.2'], \
             version_pattern: 'v(\\S+)'}}\nstart: [sh]\npolicies: {policies}\n"
        );
        std::fs::write(path.join("gateway.yaml"), text).unwrap();
        path.display().to_string()
    }

    fn prepare_with(selection: &Selection) -> Result<Prepared, LabError> {
        prepare(
            selection,
            &Library::default(),
            &Catalogue::default(),
            &launcher(),
        )
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_same_gateway_twice_has_two_labels() {
        let at = tempfile::tempdir().unwrap();
        let path = folder(at.path(), "mine", "{}");
        let selection = Selection {
            words: words(&["proxy-json"]),
            gateways: vec![path.clone(), path],
            ..Selection::default()
        };
        let prepared = prepare_with(&selection).unwrap();
        let labels: Vec<&str> = prepared.plan.variants.iter().map(Variant::label).collect();
        assert_eq!(labels, ["floor", "mine", "mine-2"]);
        assert_eq!(prepared.gateways["mine-2"].binary.version, "1.2");
        assert_eq!(prepared.plan.trials.len(), 9);
        assert_eq!(prepared.plan.scenarios.len(), 1);
    }

    #[test]
    fn a_smoke_run_is_one_short_block() {
        let at = tempfile::tempdir().unwrap();
        let path = folder(at.path(), "mine", "{}");
        let selection = Selection {
            gateways: vec![path],
            pace: Pace::Smoke,
            ..Selection::default()
        };
        let plan = prepare_with(&selection).unwrap().plan;
        assert_eq!((plan.blocks, plan.suite.as_str()), (1, "tour"));
        assert!(
            plan.load
                .phases
                .iter()
                .all(|phase| phase.measure == Span::from_millis(500))
        );
    }

    #[test]
    fn a_gateway_that_was_named_must_be_there_and_one_of_the_suite_need_not() {
        let at = tempfile::tempdir().unwrap();
        let path = folder(at.path(), "absent", "{}");
        let spec = Path::new(&path).join("gateway.yaml");
        let text = std::fs::read_to_string(&spec)
            .unwrap()
            .replace("[sh], v", "[no-such-program], v");
        std::fs::write(&spec, text).unwrap();
        let selection = Selection {
            gateways: vec![path.clone()],
            ..Selection::default()
        };
        let error = prepare_with(&selection).unwrap_err();
        assert!(
            matches!(error, LabError::Driver(DriverError::BinaryMissing { .. })),
            "{error}"
        );
        let present = folder(at.path(), "present", "{}");
        let suite = at.path().join("s.yaml");
        let text = format!(
            "suite: s\ntitle: t\ngateways: [{path}, {present}]\nscenarios: [proxy-json]\nload: tour\nblocks: 2\n"
        );
        std::fs::write(&suite, text).unwrap();
        let selection = Selection {
            words: vec![suite.display().to_string()],
            ..Selection::default()
        };
        let prepared = prepare_with(&selection).unwrap();
        assert!(
            matches!(&prepared.warnings[..], [Warning::GatewayMissing { gateway, .. }] if gateway == "absent")
        );
        assert_eq!(prepared.gateways.len(), 1);
    }

    #[test]
    fn words_that_do_not_go_together_are_refused() {
        for (wrong, part) in [
            (&["tour", "tour"][..], "second suite"),
            (&["tour", "api-key"], "together"),
            (&["api-key", "api-key"], "twice"),
        ] {
            let error = prepare_with(&Selection {
                words: words(wrong),
                ..Selection::default()
            })
            .unwrap_err();
            assert!(
                matches!(error, LabError::Words { .. }) && error.to_string().contains(part),
                "{error}"
            );
        }
        let versioned = Selection {
            gateways: words(&["nginx@1.24"]),
            ..Selection::default()
        };
        assert!(
            prepare_with(&versioned)
                .unwrap_err()
                .remedy()
                .contains("write nginx")
        );
    }

    #[test]
    fn an_attached_gateway_stands_alone_beside_the_floor() {
        let attach = Attach {
            url: "http://127.0.0.1:9".into(),
            pid: None,
        };
        let selection = Selection {
            attach: Some(attach),
            ..Selection::default()
        };
        let labels: Vec<String> = prepare_with(&selection)
            .unwrap()
            .plan
            .variants
            .iter()
            .map(|variant| variant.label().to_owned())
            .collect();
        assert_eq!(labels, ["floor", "attached"]);
    }
}
