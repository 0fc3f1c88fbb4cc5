//! Implements [`Document`] of `gatebench-config` for the files that users write.

use std::collections::HashSet;
use std::ops::Range;

use gatebench_config::{Document, Node, Problem, ReadFile};

use crate::data::{Rows, Source};
use crate::gateway::GatewayFolder;
use crate::load::LoadProfile;
use crate::published::Published;
use crate::scenario::Scenario;
use crate::schema::FileKind;
use crate::specification::Specification;
use crate::suite::Suite;
use crate::{basic_auth, files, global, matrix, parity, repeat, rules, variant};

impl Document for Scenario {
    const TITLE: &'static str = FileKind::Scenario.title();
    const WORD: &'static str = FileKind::Scenario.as_str();

    /// The rows that were read from files, by the name of their source.
    type Attachments = Vec<(String, Rows)>;

    fn expand(root: Node, _: ReadFile<'_>, problems: &mut Vec<Problem>) -> Vec<Node> {
        matrix::expand(root, problems)
    }

    fn complete(
        root: &mut Node,
        text: &str,
        read_file: ReadFile<'_>,
        problems: &mut Vec<Problem>,
    ) -> Self::Attachments {
        let mut repeated = repeat::expand(root, problems);
        repeated.extend(global::expand(root));
        let attachments = files::resolve(root, read_file, problems);
        let mut reported: HashSet<Range<usize>> = HashSet::new();
        let once = |problem: &Problem| {
            let span = &problem.span;
            let copied = |item: &Range<usize>| item.start <= span.start && span.end <= item.end;
            !repeated.iter().any(copied) || reported.insert(span.clone())
        };
        let mut found = Vec::new();
        basic_auth::expand(root, &mut found);
        rules::scenario::check(root, text, &attachments, &mut found);
        problems.extend(found.into_iter().filter(once));
        parity::as_sent(root);
        attachments
    }

    fn attach(&mut self, attachments: Self::Attachments) {
        for (name, rows) in attachments {
            if let Some(Source::List(list)) = self.data.get_mut(&name) {
                list.values = rows;
            }
        }
    }

    fn beginning() -> String {
        "begin with `gatebench new scenario NAME`".into()
    }
}

impl Document for LoadProfile {
    const TITLE: &'static str = FileKind::Load.title();
    const WORD: &'static str = FileKind::Load.as_str();

    type Attachments = ();

    fn complete(root: &mut Node, _: &str, _: ReadFile<'_>, problems: &mut Vec<Problem>) {
        rules::load::check(root, problems);
    }
}

impl Document for Suite {
    const TITLE: &'static str = FileKind::Suite.title();
    const WORD: &'static str = FileKind::Suite.as_str();

    type Attachments = ();

    fn complete(root: &mut Node, _: &str, _: ReadFile<'_>, problems: &mut Vec<Problem>) {
        rules::suite::check(root, problems);
    }
}

impl Document for Specification {
    const TITLE: &'static str = FileKind::Specification.title();
    const WORD: &'static str = FileKind::Specification.as_str();

    type Attachments = ();

    fn complete(root: &mut Node, _: &str, _: ReadFile<'_>, problems: &mut Vec<Problem>) {
        rules::specification::check(root, problems);
    }
}

impl Document for Published {
    const TITLE: &'static str = FileKind::Published.title();
    const WORD: &'static str = FileKind::Published.as_str();

    type Attachments = ();

    fn complete(root: &mut Node, _: &str, _: ReadFile<'_>, problems: &mut Vec<Problem>) {
        rules::published::check(root, problems);
    }
}

impl Document for GatewayFolder {
    const TITLE: &'static str = FileKind::Gateway.title();
    const WORD: &'static str = FileKind::Gateway.as_str();

    type Attachments = ();

    fn expand(root: Node, read_file: ReadFile<'_>, problems: &mut Vec<Problem>) -> Vec<Node> {
        variant::expand(root, read_file, problems)
    }

    fn complete(root: &mut Node, _: &str, _: ReadFile<'_>, problems: &mut Vec<Problem>) {
        rules::gateway::check(root, problems);
    }

    fn beginning() -> String {
        "begin with `gatebench new gateway NAME`".into()
    }
}
