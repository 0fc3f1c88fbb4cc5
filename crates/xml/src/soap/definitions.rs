//! All compiled definitions of a chain, or the reasons why they cannot be compiled. Failures are
//! kept, too, so that the gateway does not compile a faulty definition again for each message.

use super::envelope::XML_SCHEMA;
use super::options::{Options, Source};
use super::wsdl::Api;
use crate::errors::Complaints;
use crate::imports::{Files, Unreadable};
use crate::limits::Limits;
use crate::process::{Budget, with_stack};
use crate::saxon::SaxonStylesheet;
use crate::schema::Schema;
use crate::stylesheet::Stylesheet;
use crate::xpath::XPath;

/// A compiled definition, or the reasons why it cannot be compiled; `None` if none is configured.
pub(crate) type Slot<T> = Option<Result<T, Complaints>>;

#[derive(Debug)]
pub(crate) struct Definitions {
    pub before: Slot<Transformer>,
    pub after: Slot<Transformer>,
    pub soap11: Slot<Schema>,
    pub soap12: Slot<Schema>,
    pub api: Slot<Api>,
    /// The compiled XPath expression of each of [`Options::targets`], in the same order.
    pub routes: Vec<Result<XPath, Complaints>>,
}

/// A stylesheet of either library.
#[derive(Debug)]
pub(crate) enum Transformer {
    Libxslt(Stylesheet),
    Saxon(SaxonStylesheet),
}

impl Definitions {
    /// Compiles everything on a new thread.
    pub fn compile(options: &Options, files: &(dyn Files + Sync)) -> Self {
        with_stack(|| Self::compile_on_this_thread(options, files)).unwrap_or_else(|| {
            Self::of(&Included {
                options,
                files,
                has_thread: false,
            })
        })
    }

    /// Compiles everything on this thread, which must have a stack of
    /// [`STACK_BYTES`](crate::process::STACK_BYTES).
    pub fn compile_on_this_thread(options: &Options, files: &dyn Files) -> Self {
        let _budget = Budget::begin(&Limits::DEFINITIONS);
        Self::of(&Included {
            options,
            files,
            has_thread: true,
        })
    }

    fn of(files: &Included<'_>) -> Self {
        let limits = &Limits::DEFINITIONS;
        let options = files.options;
        let style = |source: &Option<Source>| {
            files.slot(source, |text, at| match &options.saxon {
                Some(saxon) => saxon
                    .compile(text, &options.xslt_params)
                    .map(Transformer::Saxon),
                None => Stylesheet::parse(text, at, files, limits).map(Transformer::Libxslt),
            })
        };
        let schema = |source: &Option<Source>| {
            files.slot(source, |text, at| Schema::parse(text, at, files, limits))
        };
        let targets = options.targets.iter();
        Self {
            before: style(&options.xslt_before),
            after: style(&options.xslt_after),
            soap11: schema(&options.soap_schema),
            soap12: schema(&options.soap12_schema),
            api: files.slot(&options.api_schema, |text, at| {
                Api::compile(text, at, files, limits)
            }),
            routes: targets
                .map(|target| XPath::compile(&target.xpath, &options.namespaces))
                .collect(),
        }
    }

    /// Returns the mistakes, each with the name of its option.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        fn problem<T>(name: &'static str, slot: &Slot<T>) -> Option<(&'static str, String)> {
            let why = slot.as_ref()?.as_ref().err()?;
            Some((name, why.to_string()))
        }
        let mut found: Vec<_> = [
            problem("xslt_transform_before", &self.before),
            problem("xslt_transform_after", &self.after),
            problem("xsd_soap_schema", &self.soap11),
            problem("xsd_soap12_schema", &self.soap12),
            problem("xsd_api_schema", &self.api),
        ]
        .into_iter()
        .flatten()
        .collect();
        if let Some(Ok(api)) = &self.api {
            found.extend(api.problems().map(|why| ("xsd_api_schema", why)));
        }
        let failed = self.routes.iter().filter_map(|route| route.as_ref().err());
        found.extend(failed.map(|why| ("route_xpath_targets", why.to_string())));
        found
    }
}

/// The files that definitions may import: [`Options::includes`], which take precedence, `files`,
/// and, if neither contains it, [`XML_SCHEMA`].
struct Included<'a> {
    options: &'a Options,
    files: &'a dyn Files,
    /// False if the compiling thread did not start or panicked. All definitions except the routes'
    /// expressions then fail.
    has_thread: bool,
}

impl Included<'_> {
    fn slot<T>(
        &self,
        source: &Option<Source>,
        compile: impl FnOnce(&[u8], Option<&str>) -> Result<T, Complaints>,
    ) -> Slot<T> {
        let source = source.as_ref()?;
        if !self.has_thread {
            let why = "The thread that compiles definitions did not start, or panicked";
            return Some(Err(Complaints::own(0, why)));
        }
        Some(source.compile(self.files, compile))
    }
}

impl Files for Included<'_> {
    fn read(&self, location: &str) -> Result<Vec<u8>, Unreadable> {
        let mut includes = self.options.includes.iter();
        match includes.find(|(known, _)| known == location) {
            Some((_, Source::Text(text))) => Ok(text.clone().into_bytes()),
            Some((_, Source::At(other))) => self.files.read(other),
            None => match self.files.read(location) {
                Err(_) if location == XML_SCHEMA.0 => Ok(XML_SCHEMA.1.as_bytes().to_vec()),
                read => read,
            },
        }
    }
}
