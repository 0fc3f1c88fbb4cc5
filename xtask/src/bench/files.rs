//! Files that the tools read: a body, and the script without which wrk cannot send one.

use std::path::PathBuf;

/// Bytes of the body that is posted.
pub const BODY_BYTES: usize = 350;

/// A folder of its own, removed with it.
pub struct Files {
    folder: PathBuf,
    /// A JSON body of [`BODY_BYTES`].
    pub body: PathBuf,
    /// Makes wrk post the body.
    pub wrk_script: PathBuf,
}

impl Files {
    pub fn write() -> Result<Self, String> {
        let folder =
            std::env::temp_dir().join(format!("gatebench-bench-files-{}", std::process::id()));
        let files = Self {
            body: folder.join("body.json"),
            wrk_script: folder.join("post.lua"),
            folder,
        };
        let body = body();
        let script = format!(
            "wrk.method = \"POST\"\nwrk.headers[\"Content-Type\"] = \"application/json\"\nwrk.body = [[{body}]]\n"
        );
        std::fs::create_dir_all(&files.folder)
            .and_then(|()| std::fs::write(&files.body, body))
            .and_then(|()| std::fs::write(&files.wrk_script, script))
            .map_err(|error| format!("{} cannot be written: {error}", files.folder.display()))?;
        Ok(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
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
