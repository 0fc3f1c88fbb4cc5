//! Files that the load generators read.

use std::path::PathBuf;

use super::folder::Folder;

/// The size of a POST body in bytes.
pub const BODY_BYTES: usize = 350;

/// The files in a temporary folder, which is removed when this value is dropped.
pub struct Files {
    pub folder: Folder,
    /// The path of a JSON body that is [`BODY_BYTES`] long.
    pub body: PathBuf,
}

impl Files {
    pub fn write() -> Result<Self, String> {
        let folder = Folder::new()?;
        Ok(Self {
            body: folder.write("body.json", body())?,
            folder,
        })
    }
}

pub fn body() -> String {
    let (head, tail) = ("{\"text\":\"", "\"}");
    format!(
        "{head}{}{tail}",
        "x".repeat(BODY_BYTES - head.len() - tail.len())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_json_of_its_size() {
        assert_eq!(body().len(), BODY_BYTES);
        assert!(serde_json::from_str::<serde_json::Value>(&body()).is_ok());
    }
}
