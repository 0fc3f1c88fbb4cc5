//! Writes the inputs that the fuzzer starts from. `seed FOLDER` creates a subfolder of FOLDER
//! [default: corpus] for each target.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or_else(|| "corpus".into());
    for (target, inputs) in gatebench_fuzz::seeds::all() {
        let folder = Path::new(&folder).join(target);
        fs::create_dir_all(&folder)?;
        for (number, input) in inputs.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:02}")), input)?;
        }
    }
    Ok(())
}
