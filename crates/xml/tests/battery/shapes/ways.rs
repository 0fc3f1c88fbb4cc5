//! The ways in which gateways process messages.

use std::sync::Arc;

use gatebench_xml::soap::{
    Options, Request, Response, SOAP_1_2_SCHEMA, SoapPolicy, Source, Target,
};
use gatebench_xml::{Limits, NoFiles, Transform};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Envelope,
    /// Each node is copied by a template.
    Identity,
    /// The document is copied as a whole.
    CopyOf,
    /// Each element is wrapped in an element of another namespace.
    Wrapped,
    /// Elements `i` are sorted by their text and by an attribute.
    Sorted,
    /// Elements `i` are found by a key.
    Keyed,
    /// Paths in all directions are followed.
    Paths,
    /// Text is split recursively.
    Texts,
    /// The target is found by an expression.
    Routed,
    /// The body is validated by a schema with many kinds of types.
    Typed,
    Response,
    /// A response without SOAP is transformed.
    Transformed,
    /// The parents of elements `i` and the ancestors of all leaves are selected.
    Upward,
    /// The target is found by selecting parents and ancestors.
    UpwardRoute,
    /// The characters of one string are replaced in another.
    Translated,
    /// The target is found by replacing characters.
    TranslatedRoute,
    /// One string is searched for in another.
    Sought,
    /// All nodes are found at once by keys and by IDs.
    Known,
}

impl Way {
    pub const ALL: [Self; 18] = [
        Self::Envelope,
        Self::Identity,
        Self::CopyOf,
        Self::Wrapped,
        Self::Sorted,
        Self::Keyed,
        Self::Paths,
        Self::Texts,
        Self::Routed,
        Self::Typed,
        Self::Response,
        Self::Transformed,
        Self::Upward,
        Self::UpwardRoute,
        Self::Translated,
        Self::TranslatedRoute,
        Self::Sought,
        Self::Known,
    ];

    fn templates(self) -> Option<&'static str> {
        match self {
            Self::Identity | Self::Response | Self::Transformed => Some(IDENTITY),
            Self::CopyOf => Some(COPY_OF),
            Self::Wrapped => Some(WRAPPED),
            Self::Sorted => Some(SORTED),
            Self::Keyed => Some(KEYED),
            Self::Paths => Some(PATHS),
            Self::Texts => Some(TEXTS),
            Self::Upward => Some(UPWARD),
            Self::Translated => Some(TRANSLATED),
            Self::Sought => Some(SOUGHT),
            Self::Known => Some(KNOWN),
            Self::Envelope
            | Self::Routed
            | Self::Typed
            | Self::UpwardRoute
            | Self::TranslatedRoute => None,
        }
    }
}

const IDENTITY: &str = r#"<xsl:template match="node()|@*"><xsl:copy><xsl:apply-templates select="node()|@*"/></xsl:copy></xsl:template>"#;

const COPY_OF: &str = r#"<xsl:template match="/"><xsl:copy-of select="."/></xsl:template>"#;

const WRAPPED: &str = r#"<xsl:template match="*"><w:w xmlns:w="urn:w" xmlns="urn:d" w:a="b"><xsl:copy><xsl:copy-of select="@*"/><xsl:apply-templates/></xsl:copy></w:w></xsl:template>
<xsl:template match="/*|/*/*"><xsl:copy><xsl:apply-templates/></xsl:copy></xsl:template>"#;

const SORTED: &str = r#"<xsl:template match="/"><r><xsl:for-each select="//i"><xsl:sort select="."/><xsl:sort select="@k" data-type="number"/><xsl:copy-of select="."/></xsl:for-each></r></xsl:template>"#;

const KEYED: &str = r#"<xsl:key name="k" match="i" use="@k"/>
<xsl:template match="/"><r><xsl:for-each select="//i"><n><xsl:value-of select="count(key('k', @k))"/></n></xsl:for-each></r></xsl:template>"#;

const PATHS: &str = r#"<xsl:template match="/"><r a="{count(//i[@k])}" b="{count(//*[not(*)])}"><xsl:apply-templates select="//i"/></r></xsl:template>
<xsl:template match="i"><xsl:value-of select="preceding-sibling::*[1]"/><xsl:number level="any"/><xsl:value-of select="count(following-sibling::i)"/></xsl:template>"#;

const TEXTS: &str = r#"<xsl:template match="/"><r><xsl:call-template name="parts"><xsl:with-param name="text" select="normalize-space(.)"/></xsl:call-template></r></xsl:template>
<xsl:template name="parts"><xsl:param name="text"/><xsl:choose><xsl:when test="contains($text, ',')"><p><xsl:value-of select="substring-before($text, ',')"/></p><xsl:call-template name="parts"><xsl:with-param name="text" select="substring-after($text, ',')"/></xsl:call-template></xsl:when><xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise></xsl:choose></xsl:template>"#;

const UPWARD: &str = r#"<xsl:template match="/"><r a="{count(//i/..)}" b="{count(//*[not(*)]/ancestor::*)}"/></xsl:template>"#;

const TRANSLATED: &str = r#"<xsl:template match="/"><r a="{string-length(translate(//t, //f, ''))}" b="{string-length(translate(//t, //f, //t))}"/></xsl:template>"#;

const SOUGHT: &str = r#"<xsl:template match="/"><r a="{contains(//t, //f)}" b="{string-length(substring-before(//t, //f))}" c="{string-length(substring-after(//t, //f))}"/></xsl:template>"#;

const KNOWN: &str = r#"<xsl:key name="k" match="i" use="@k"/>
<xsl:template match="/"><r a="{count(key('k', //i/@k))}" b="{count(id(//@r))}"/></xsl:template>"#;

/// A schema with the usual constructs. Its only pattern is unambiguous: it matches a string in at
/// most one way.
const TYPES: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" targetNamespace="urn:t" elementFormDefault="qualified">
<xs:simpleType name="code"><xs:restriction base="xs:string"><xs:pattern value="[A-Z]+(-[0-9]+)*"/></xs:restriction></xs:simpleType>
<xs:simpleType name="numbers"><xs:list itemType="xs:int"/></xs:simpleType>
<xs:simpleType name="either"><xs:union memberTypes="xs:int xs:date xs:token"/></xs:simpleType>
<xs:complexType name="base"><xs:sequence><xs:element name="j" type="xs:string" minOccurs="0" maxOccurs="unbounded"/></xs:sequence><xs:attribute name="k" type="xs:string"/><xs:attribute name="r" type="xs:string"/></xs:complexType>
<xs:complexType name="more"><xs:complexContent><xs:extension base="t:base"><xs:attribute name="m" type="xs:int"/></xs:extension></xs:complexContent></xs:complexType>
<xs:element name="list"><xs:complexType><xs:choice minOccurs="0" maxOccurs="unbounded">
<xs:element name="i" type="t:base" nillable="true"/><xs:element name="n" type="xs:int"/><xs:element name="p" type="t:code"/><xs:element name="l" type="t:numbers"/><xs:element name="u" type="t:either"/>
<xs:element name="d" type="xs:dateTime"/><xs:element name="b" type="xs:base64Binary"/><xs:element name="q" type="xs:QName"/><xs:element name="x" type="xs:anyURI"/><xs:element name="f" type="xs:double"/><xs:element name="c" type="xs:string"/>
<xs:element name="all"><xs:complexType><xs:all><xs:element name="a1" minOccurs="0"/><xs:element name="a2" minOccurs="0"/><xs:element name="a3" minOccurs="0"/><xs:element name="a4" minOccurs="0"/><xs:element name="a5" minOccurs="0"/><xs:element name="a6" minOccurs="0"/></xs:all></xs:complexType></xs:element>
<xs:element name="mixed"><xs:complexType mixed="true"><xs:sequence><xs:any processContents="lax" minOccurs="0" maxOccurs="unbounded"/></xs:sequence><xs:anyAttribute processContents="lax"/></xs:complexType></xs:element>
CHOICES</xs:choice></xs:complexType>
<xs:key name="key"><xs:selector xpath="t:i"/><xs:field xpath="@k"/></xs:key>
<xs:keyref name="ref" refer="t:key"><xs:selector xpath="t:i"/><xs:field xpath="@r"/></xs:keyref>
<xs:unique name="unique"><xs:selector xpath=".//t:n"/><xs:field xpath="."/></xs:unique>
</xs:element></xs:schema>"#;

pub fn sheet(templates: &str) -> String {
    format!(
        r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="xml" encoding="utf-8"/>{templates}</xsl:stylesheet>"#
    )
}

fn expressions(way: Way) -> &'static [&'static str] {
    match way {
        Way::Routed => &[
            "//i[@k='never']/j",
            "string(/*)",
            "//*[local-name()='never']",
        ],
        Way::UpwardRoute => &["//i/..", "//*[not(*)]/ancestor::*"],
        Way::TranslatedRoute => &[
            "//t[translate(., //f, '') = 'never']",
            "//t[translate(., //f, .) = 'never']",
        ],
        _ => &[],
    }
}

fn target(xpath: &&str) -> Target {
    Target {
        xpath: (*xpath).into(),
        equals: "never".into(),
    }
}

fn options(way: Way) -> Options {
    let text = |text: &str| Some(Source::Text(text.to_owned()));
    let mut options = Options {
        is_verbose: true,
        xslt_before: way
            .templates()
            .and_then(|templates| text(&sheet(templates))),
        ..Options::default()
    };
    match way {
        Way::Envelope => options.soap12_schema = text(SOAP_1_2_SCHEMA),
        Way::Typed => {
            let choices =
                (0..40).map(|n| format!("<xs:element name=\"c{n}\" type=\"xs:string\"/>"));
            let choices: String = choices.collect();
            options.api_schema = text(&TYPES.replace("CHOICES", &choices));
        }
        Way::Routed | Way::UpwardRoute | Way::TranslatedRoute => {
            options.targets = expressions(way).iter().map(target).collect();
        }
        // Most of these results are not envelopes, so none of them is validated as one.
        Way::Sorted
        | Way::Keyed
        | Way::Paths
        | Way::Texts
        | Way::Wrapped
        | Way::Upward
        | Way::Translated
        | Way::Sought
        | Way::Known => options.soap_schema = None,
        _ => {}
    }
    options
}

pub struct Ways {
    policies: Vec<SoapPolicy>,
    transform: Transform,
}

impl Ways {
    pub fn compile() -> Self {
        let none: [(&str, &str); 0] = [];
        let compile = |way: &Way| {
            let policy = SoapPolicy::compile(options(*way), Arc::new(NoFiles)).unwrap();
            assert_eq!(policy.problems(), [], "{way:?}");
            policy
        };
        Self {
            policies: Way::ALL.iter().map(compile).collect(),
            transform: Transform::compile(&sheet(IDENTITY), none, &NoFiles, Limits::MESSAGES)
                .unwrap(),
        }
    }

    /// Returns the text of the fault if the message does not pass.
    pub fn take(&self, way: Way, body: &[u8], is_gzip: bool) -> Result<(), String> {
        let content_encoding = is_gzip.then_some("gzip");
        let content_type = Some("text/xml; charset=utf-8");
        let policy = &self.policies[way as usize];
        let passed = match way {
            Way::Transformed => {
                let made = self.transform.apply(body);
                return made.map(drop).map_err(|error| error.to_string());
            }
            Way::Response => policy.response(&Response {
                status: 200,
                content_type,
                content_encoding,
                body,
                ..Response::default()
            }),
            _ => policy.request(&Request {
                content_type,
                content_encoding,
                body,
                ..Request::default()
            }),
        };
        match passed {
            Ok(_) => Ok(()),
            Err(fault) => Err(String::from_utf8(fault.body).unwrap()),
        }
    }
}
