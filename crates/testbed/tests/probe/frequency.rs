//! Tests reading the clock sources and frequencies of other machines, from files in the kernel's
//! format.

use std::fs;
use std::path::{Path, PathBuf};

use gatebench_testbed::probe::{FrequencySource, clock_source_below};

/// A folder, removed on drop, with the `/proc` and `/sys` of a machine.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str) -> Self {
        let root =
            std::env::temp_dir().join(format!("gatebench-frequency-{}-{name}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run_at(&self, core: usize, khz: &str) {
        let file = format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
        self.put(&file, &format!("{khz}\n"));
    }

    fn cpuinfo(&self, mhz: &[&str]) {
        let core = |(core, mhz): (usize, &&str)| {
            format!("processor\t: {core}\nmodel name\t: Some CPU @ 2.60GHz\ncpu MHz\t\t: {mhz}\n\n")
        };
        let text: String = mhz.iter().enumerate().map(core).collect();
        self.put("proc/cpuinfo", &text);
    }

    fn source(&self) -> FrequencySource {
        FrequencySource::below(&self.0, || ())
    }

    fn read_khz(&self, cores: &[usize]) -> Option<Vec<u64>> {
        self.source().read_khz_below(&self.0, cores)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_frequency_of_each_core_is_read_again_each_time() {
    let machine = Machine::new("cpufreq");
    machine.run_at(0, "2900000");
    machine.run_at(1, "3250000");
    // The values in /proc/cpuinfo are ignored, because cpufreq takes precedence.
    machine.cpuinfo(&["2600.000", "2600.000"]);
    assert_eq!(machine.source(), FrequencySource::Cpufreq);
    assert_eq!(machine.read_khz(&[1, 0]), Some(vec![3_250_000, 2_900_000]));
    machine.run_at(1, "3100000");
    assert_eq!(machine.read_khz(&[1]), Some(vec![3_100_000]));
    assert_eq!(machine.read_khz(&[0, 2]), None, "core 2 shows nothing");
    assert_eq!(machine.read_khz(&[]), None);
    machine.run_at(1, "<unknown>");
    assert_eq!(machine.read_khz(&[1]), None);
}

#[test]
fn cpuinfo_counts_only_if_it_changes() {
    let guest = Machine::new("guest");
    guest.cpuinfo(&["2600.000", "2600.000"]);
    assert_eq!(guest.source(), FrequencySource::NotVisible);
    assert_eq!(guest.read_khz(&[0]), None);
    // Values that differ between cores, or between two readings, are measured frequencies.
    let mixed = Machine::new("mixed");
    mixed.cpuinfo(&["2893.412", "3250.004"]);
    assert_eq!(mixed.source(), FrequencySource::Cpuinfo);
    assert_eq!(mixed.read_khz(&[1, 0]), Some(vec![3_250_004, 2_893_412]));
    assert_eq!(mixed.read_khz(&[2]), None);
    let later = Machine::new("later");
    later.cpuinfo(&["2893.412"]);
    let source = FrequencySource::below(&later.0, || later.cpuinfo(&["2893.398"]));
    assert_eq!(source, FrequencySource::Cpuinfo);
    assert_eq!(source.read_khz_below(&later.0, &[0]), Some(vec![2_893_398]));
}

#[test]
fn a_machine_that_shows_nothing_has_no_frequency_and_no_clock_source() {
    let machine = Machine::new("blind");
    assert_eq!(machine.source(), FrequencySource::NotVisible);
    assert_eq!(clock_source_below(&machine.0), None);
    machine.put("proc/cpuinfo", "processor: x\ncpu MHz: -3\nprocessor: 0\n");
    assert_eq!(machine.source(), FrequencySource::NotVisible);
    assert_eq!(
        serde_json::to_string(&machine.source()).unwrap(),
        "\"not visible\""
    );
}

#[test]
fn the_clock_source_is_the_one_in_use_now() {
    let machine = Machine::new("clock");
    let file = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    machine.put(file, "tsc\n");
    assert_eq!(clock_source_below(&machine.0).as_deref(), Some("tsc"));
    machine.put(file, "hpet\n");
    assert_eq!(clock_source_below(&machine.0).as_deref(), Some("hpet"));
    machine.put(file, "\n");
    assert_eq!(clock_source_below(&machine.0), None);
    assert_eq!(clock_source_below(Path::new("/no/such/machine")), None);
}
