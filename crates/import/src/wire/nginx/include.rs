//! Reads included files, once for each pattern, so that they become part of the text.

use std::collections::BTreeMap;

use super::parse::Directive;
use super::{Source, source};
use crate::error::ImportError;
use crate::wire::ReadIncluded;

const DEPTH_MAX: usize = 8;

const FILES_MAX: usize = 500;

/// The included files, by the pattern that names them.
pub(super) struct Reader<'r> {
    read: ReadIncluded<'r>,
    files: BTreeMap<String, Vec<Source>>,
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
    pub(super) fn whole(&mut self, source: &Source) -> Result<Vec<Directive>, ImportError> {
        self.with_included(&source.directives, 0)
    }

    fn with_included(
        &mut self,
        directives: &[Directive],
        depth: usize,
    ) -> Result<Vec<Directive>, ImportError> {
        let mut all = Vec::new();
        for directive in directives {
            if directive.name() != "include" {
                let mut directive = directive.clone();
                if let Some((open, children)) = &directive.block {
                    directive.block = Some((*open, self.with_included(children, depth)?));
                }
                all.push(directive);
                continue;
            }
            let pattern = directive.arg(0);
            self.load(pattern, depth)?;
            let files = self.included(pattern).iter();
            let directives: Vec<Directive> = files.flat_map(|it| it.directives.clone()).collect();
            all.append(&mut self.with_included(&directives, depth + 1)?);
        }
        Ok(all)
    }

    fn load(&mut self, pattern: &str, depth: usize) -> Result<(), ImportError> {
        if self.files.contains_key(pattern) || depth >= DEPTH_MAX {
            return Ok(());
        }
        let mut files = Vec::new();
        for (path, text) in (self.read)(pattern).unwrap_or_default() {
            self.count += 1;
            if self.count <= FILES_MAX {
                files.push(source(&path, &text)?);
            }
        }
        self.files.insert(pattern.to_owned(), files);
        Ok(())
    }

    pub(super) fn included(&self, pattern: &str) -> &[Source] {
        self.files.get(pattern).map_or(&[], Vec::as_slice)
    }
}
