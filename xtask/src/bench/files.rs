//! Files that the tools read: a body, and the script without which wrk cannot send one.

use std::path::PathBuf;

use super::folder::Folder;

/// Bytes of the body that is posted.
pub const BODY_BYTES: usize = 350;

/// A folder of its own, removed with it.
pub struct Files {
    _folder: Folder,
    /// A JSON body of [`BODY_BYTES`].
    pub body: PathBuf,
    /// Makes wrk post the body.
    pub wrk_script: PathBuf,
}

impl Files {
    pub fn write() -> Result<Self, String> {
        let folder = Folder::new()?;
        let body = body();
        let script = format!(
            "wrk.method = \"POST\"\nwrk.headers[\"Content-Type\"] = \"application/json\"\nwrk.body = [[{body}]]\n"
        );
        Ok(Self {
            body: folder.write("body.json", &body)?,
            wrk_script: folder.write("post.lua", &script)?,
            _folder: folder,
        })
    }
}

fn body() -> String {
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
