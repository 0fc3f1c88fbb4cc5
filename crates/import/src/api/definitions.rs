//! Moves inline definitions in policies to separate files, to keep the scenario readable.

use gatebench_model::{Policy, Scenario};

use crate::folder::Folder;

const FOLDER: &str = "definitions/";

/// Moves a scenario's definitions to files, and replaces them with the files' paths. Equal
/// definitions share a file.
pub(super) fn move_to_files(scenario: &mut Scenario, folder: &mut Folder) {
    for policy in scenario.routes.iter_mut().flat_map(|it| &mut it.policies) {
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
                        text.iter_mut()
                            .for_each(|text| move_to_file(text, extension, folder));
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

fn move_to_file(text: &mut String, extension: &str, folder: &mut Folder) {
    let is_path = !text.contains(['\n', '<', '{']);
    if is_path {
        return;
    }
    let mut files = folder.files.iter();
    if let Some(known) = files.find(|file| file.text == *text) {
        text.clone_from(&known.path);
        return;
    }
    let files = folder.files.iter();
    let count = files.filter(|it| it.path.starts_with(FOLDER)).count();
    let path = format!("{FOLDER}{}.{extension}", count + 1);
    folder.add_text(&path, text, false);
    *text = path;
}
