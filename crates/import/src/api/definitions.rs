//! Moves long definitions of policies to separate files, so that a scenario stays readable.

use gatebench_model::{Policy, Scenario};

use crate::folder::Folder;

/// The folder for these files.
const FOLDER: &str = "definitions";

/// Moves the definitions of a scenario to files, and replaces them with the paths. A document that
/// already has a file is not written again.
pub(super) fn move_to_files(scenario: &mut Scenario, folder: &mut Folder) {
    for route in &mut scenario.routes {
        for policy in &mut route.policies {
            match policy {
                Policy::Soap(soap) => {
                    for chain in soap.request.iter_mut().chain(&mut soap.response) {
                        let texts = [
                            (&mut chain.xslt_transform_before, "xslt"),
                            (&mut chain.xslt_transform_after, "xslt"),
                            (&mut chain.xsd_soap_schema, "xsd"),
                            (&mut chain.xsd_soap12_schema, "xsd"),
                            (&mut chain.xsd_api_schema, "xml"),
                        ];
                        for (text, extension) in texts {
                            if let Some(text) = text {
                                move_to_file(text, extension, folder);
                            }
                        }
                        let includes = chain.includes.values_mut();
                        includes.for_each(|text| move_to_file(text, "xml", folder));
                    }
                }
                Policy::Openapi(openapi) => move_to_file(&mut openapi.document, "yaml", folder),
                _ => {}
            }
        }
    }
}

fn move_to_file(text: &mut String, extension: &str, folder: &mut Folder) {
    let is_path = |text: &str| !text.contains(['\n', '<', '{']);
    if is_path(text) {
        return;
    }
    let known = folder.files.iter().find(|file| file.text == *text);
    let path = match known {
        Some(file) => file.path.clone(),
        None => {
            let begin = format!("{FOLDER}/");
            let count = folder
                .files
                .iter()
                .filter(|it| it.path.starts_with(&begin))
                .count();
            let path = format!("{FOLDER}/{}.{extension}", count + 1);
            folder.add_text(&path, text, false);
            path
        }
    };
    *text = path;
}
