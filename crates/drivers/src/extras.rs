//! What policies of a gateway need beyond its program: which of that is there. It is looked for where the program is:
//! on this machine, on the host that asks, or in the image.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::folder::Folder;
use crate::installed;

/// The extras of a folder that are on this machine. A path that is not absolute is of gatebench's data folder.
pub(crate) fn on_this_machine(folder: &Folder) -> BTreeSet<String> {
    let data = installed::data_folder().unwrap_or_default();
    let extras = folder.spec.extras.iter();
    extras
        .filter(|(_, extra)| data.join(&extra.path).exists())
        .map(|(name, _)| name.clone())
        .collect()
}

/// The extras of a folder that are in an image, where `has` tells whether that has a file. No image has a data folder
/// of gatebench.
pub(crate) fn in_image(
    folder: &Folder,
    has: impl Fn(&str) -> io::Result<bool>,
) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for (name, extra) in &folder.spec.extras {
        if Path::new(&extra.path).is_absolute() && has(&extra.path)? {
            found.insert(name.clone());
        }
    }
    Ok(found)
}
