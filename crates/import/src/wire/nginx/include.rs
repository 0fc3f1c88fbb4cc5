//! Reads included files, once for each pattern, so that they become part of the text.

use std::collections::BTreeMap;
use std::rc::Rc;

use gatebench_config::{Diagnostics, Problem};

use super::parse::Directive;
use super::{Source, source};
use crate::error::ImportError;
use crate::wire::ReadIncluded;

/// The maximum depth of nested includes.
const DEPTH_MAX: usize = 8;

const FILES_MAX: usize = 500;

/// The included files, by the pattern that names them.
pub(super) struct Reader<'r> {
    read: ReadIncluded<'r>,
    files: BTreeMap<String, Rc<[Source]>>,
    count: usize,
}

impl<'r> Reader<'r> {
    pub(super) fn new(read: ReadIncluded<'r>) -> Self {
        Self {
            read,
            files: BTreeMap::new(),
            count: 0,
        }
    }

    /// Reads all files that a file includes, and returns its directives with those of the included
    /// files in place of `include`. Files that cannot be read are omitted, as the list of changes
    /// shows.
    ///
    /// # Errors
    /// An included file has mistakes, the includes are circular or nested too deeply, or there are
    /// more than [`FILES_MAX`] included files.
    pub(super) fn whole(&mut self, source: &Source) -> Result<Vec<Directive>, ImportError> {
        self.with_included(source, &source.directives, &[source.file.as_str()])
    }

    /// `source` is the file that contains the directives, and `stack` contains the paths of the
    /// files through which it is included, with its own path at the end.
    fn with_included(
        &mut self,
        source: &Source,
        directives: &[Directive],
        stack: &[&str],
    ) -> Result<Vec<Directive>, ImportError> {
        let mut all = Vec::new();
        for directive in directives {
            if directive.name() != "include" {
                let mut directive = directive.clone();
                if let Some((open, children)) = &directive.block {
                    directive.block = Some((*open, self.with_included(source, children, stack)?));
                }
                all.push(directive);
                continue;
            }
            let files = self.load(directive.arg(0))?;
            if self.count > FILES_MAX {
                let message = format!("more than {FILES_MAX} files are included");
                let help = "import a configuration that includes fewer files";
                return Err(refused(source, directive, message, help));
            }
            for file in files.iter() {
                if stack.contains(&file.file.as_str()) {
                    let message = format!("{} includes itself", file.file);
                    return Err(refused(source, directive, message, "remove this `include`"));
                }
                if stack.len() > DEPTH_MAX {
                    let message = format!("includes are nested more than {DEPTH_MAX} levels deep");
                    let help = "move the directives of this file to the file that includes it";
                    return Err(refused(source, directive, message, help));
                }
                let mut inner = stack.to_vec();
                inner.push(&file.file);
                all.append(&mut self.with_included(file, &file.directives, &inner)?);
            }
        }
        Ok(all)
    }

    fn load(&mut self, pattern: &str) -> Result<Rc<[Source]>, ImportError> {
        if let Some(files) = self.files.get(pattern) {
            return Ok(Rc::clone(files));
        }
        let mut files = Vec::new();
        for (path, text) in (self.read)(pattern).unwrap_or_default() {
            self.count += 1;
            if self.count <= FILES_MAX {
                files.push(source(&path, &text)?);
            }
        }
        let files: Rc<[Source]> = files.into();
        self.files.insert(pattern.to_owned(), Rc::clone(&files));
        Ok(files)
    }

    pub(super) fn included(&self, pattern: &str) -> &[Source] {
        self.files.get(pattern).map_or(&[], AsRef::as_ref)
    }

    /// Returns the directives with this name, including those in included files, which
    /// [`Reader::whole`] has read.
    pub(super) fn named<'d>(
        &'d self,
        directives: &'d [Directive],
        name: &str,
    ) -> Vec<&'d Directive> {
        let mut all = Vec::new();
        for directive in directives {
            if directive.name() == name {
                all.push(directive);
            } else if directive.name() == "include" {
                for file in self.included(directive.arg(0)) {
                    all.append(&mut self.named(&file.directives, name));
                }
            }
        }
        all
    }
}

fn refused(source: &Source, include: &Directive, message: String, help: &str) -> ImportError {
    let problems = vec![Problem::new(include.span.clone(), message, help)];
    Box::new(Diagnostics::new(&source.file, &source.text, problems)).into()
}
