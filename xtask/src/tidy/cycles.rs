//! Checks that the top-level modules of a crate do not use each other in cycles, so that the reader
//! of a module has to know only the modules below it.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::Product;
use super::{Finding, SourceFile};

/// The top-level modules of a crate, each with the modules that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(Vec<String>, Product)>> = BTreeMap::new();
    for file in files {
        if let Some((name, module)) = file.crate_name().zip(module_of(file)) {
            let source = (module, Product::of(&file.text));
            crates.entry(name).or_default().push(source);
        }
    }
    let findings = crates.into_iter().filter_map(|(name, sources)| {
        let message = complaint(&cycles(&uses(sources)))?;
        let path = match name {
            "bench" | "xtask" => format!("{name}/src").into(),
            name => format!("crates/{name}/src").into(),
        };
        Some(Finding {
            path,
            line: 1,
            message,
        })
    });
    findings.collect()
}

fn complaint(cycles: &[Vec<&str>]) -> Option<String> {
    let listed: Vec<String> = cycles.iter().map(|cycle| cycle.join(", ")).collect();
    (!listed.is_empty()).then(|| {
        format!(
            "{} modules are in cycles; move what they share into a module below them: {}",
            cycles.iter().map(Vec::len).sum::<usize>(),
            listed.join("; ")
        )
    })
}

/// Returns the path of a file's module from the root of its crate; `None` for tests, for files in
/// `src/bin`, and for files that are not Rust code.
fn module_of(file: &SourceFile) -> Option<Vec<String>> {
    if !file.is_rust() || file.is_test() {
        return None;
    }
    let mut parts: Vec<String> = file
        .path
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .skip_while(|part| part != "src")
        .skip(1)
        .collect();
    match parts.first()?.as_str() {
        "bin" => return None,
        "lib" | "main" if parts.len() == 1 => parts.clear(),
        _ if parts.last().is_some_and(|last| last == "mod") => drop(parts.pop()),
        _ => {}
    }
    Some(parts)
}

/// Determines which top-level modules of a crate use which others. A name that the root imports
/// counts as the module that it comes from; items of the root itself are ignored.
fn uses(mut sources: Vec<(Vec<String>, Product)>) -> Uses {
    let for_tests: Vec<Vec<String>> = sources
        .iter()
        .flat_map(|(module, product)| {
            let below = |name: &String| [module.as_slice(), std::slice::from_ref(name)].concat();
            product.test_modules.iter().map(below)
        })
        .collect();
    sources.retain(|(module, _)| !for_tests.iter().any(|tests| module.starts_with(tests)));
    let tops = sources.iter().filter_map(|(module, _)| module.first());
    let mut uses: Uses = tops.map(|top| (top.clone(), BTreeSet::new())).collect();
    let imported: BTreeMap<String, String> = sources
        .iter()
        .filter(|(module, _)| module.is_empty())
        .flat_map(|(_, product)| product.imports_of_root())
        .collect();
    for (module, product) in &sources {
        let Some(top) = module.first() else { continue };
        for name in product.names_of_root(module) {
            let origin = imported.get(&name).unwrap_or(&name);
            let used = [&name, origin]
                .into_iter()
                .find(|it| uses.contains_key(*it));
            if let Some(used) = used.filter(|used| *used != top).cloned() {
                uses.entry(top.clone()).or_default().insert(used);
            }
        }
    }
    uses
}

/// Returns the sets of modules that use each other, directly or through others.
fn cycles(uses: &Uses) -> Vec<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = uses
        .keys()
        .map(|module| (module.as_str(), reached_from(module, uses)))
        .collect();
    let cycles: BTreeSet<Vec<&str>> = reached
        .iter()
        .filter(|(module, below)| below.contains(*module))
        .map(|(module, below)| {
            let leads_back = |other: &&str| reached[other].contains(module);
            below.iter().copied().filter(leads_back).collect()
        })
        .collect();
    cycles.into_iter().collect()
}

fn reached_from<'u>(module: &str, uses: &'u Uses) -> BTreeSet<&'u str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = uses[module].iter().map(String::as_str).collect();
    while let Some(module) = open.pop() {
        if let Some((module, used)) = uses.get_key_value(module)
            && reached.insert(module.as_str())
        {
            open.extend(used.iter().map(String::as_str));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile {
            path: path.into(),
            text: text.into(),
        }
    }

    fn messages(files: &[SourceFile]) -> Vec<String> {
        let findings = check(files);
        findings.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn is_found(files: &[SourceFile], words: &str) {
        let found = messages(files);
        assert!(
            matches!(&found[..], [only] if only.contains(words)),
            "{found:?}"
        );
    }

    /// Three modules in a cycle, one of which uses the next only through a name that the root
    /// re-exports. A fourth module uses the cycle but is not part of it.
    fn knotted() -> Vec<SourceFile> {
        vec![
            file(
                "crates/a/src/lib.rs",
                "mod b;\nmod c;\nmod d;\nmod e;\npub use d::Thing;\n",
            ),
            file("crates/a/src/b.rs", "use crate::c::{Other, x};\n"),
            file("crates/a/src/c/mod.rs", "mod inner;\n"),
            file("crates/a/src/c/inner.rs", "fn f() -> crate::Thing {}\n"),
            file("crates/a/src/d.rs", "use super::b;\n"),
            file("crates/a/src/e.rs", "use crate::{b, Thing};\n"),
        ]
    }

    #[test]
    fn a_cycle_is_found_with_its_modules() {
        is_found(&knotted(), "crates/a/src:1: 3 modules are in cycles");
        is_found(&knotted(), "b, c, d");
    }

    #[test]
    fn the_benchmarks_are_checked_too() {
        let files = [
            file("bench/src/main.rs", "mod b;\nmod c;\n"),
            file("bench/src/b.rs", "use crate::c;\n"),
            file("bench/src/c.rs", "use super::b;\n"),
        ];
        is_found(&files, "bench/src:1: 2 modules are in cycles");
    }

    #[test]
    fn tests_may_form_a_cycle() {
        let mut files = knotted();
        files[2].text = "#[cfg(test)]\nmod inner;\n".into();
        assert_eq!(messages(&files), [""; 0]);
        let mut files = knotted();
        files[3].text = "#[cfg(test)]\nmod tests {\n    use crate::Thing;\n}\n".into();
        assert_eq!(messages(&files), [""; 0]);
        files[3] = file("crates/a/src/c/tests.rs", "use crate::Thing;\n");
        assert_eq!(messages(&files), [""; 0]);
    }

    #[test]
    fn a_module_and_its_submodules_may_form_a_cycle() {
        let files = [
            file("xtask/src/main.rs", "mod b;\n"),
            file("xtask/src/b/mod.rs", "mod c;\nuse c::D;\n"),
            file("xtask/src/b/c.rs", "use super::E;\nuse crate::b::F;\n"),
        ];
        assert_eq!(messages(&files), [""; 0]);
    }

    #[test]
    fn two_cycles_are_listed_separately() {
        let mut files = knotted();
        files.push(file("crates/a/src/f.rs", "use crate::g;\n"));
        files.push(file("crates/a/src/g.rs", "use crate::{e, f};\n"));
        is_found(&files, "5 modules are in cycles");
        is_found(&files, "b, c, d; f, g");
    }
}
