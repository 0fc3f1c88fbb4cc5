//! Generates schemas and documents from a seed, so that failures can be reproduced.

/// A pseudo-random number generator (xorshift64*).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % sides
    }

    pub fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

/// Simple types. Each has a name, three valid values, and an invalid one, which is an empty string
/// if all strings are valid.
const SIMPLE: [(&str, [&str; 3], &str); 9] = [
    ("xs:int", ["0", " -7 ", "2147483647"], "2147483648"),
    ("xs:string", ["", "a b", "é"], ""),
    (
        "xs:date",
        ["2024-02-29", "1999-12-31Z", "0001-01-01"],
        "2023-02-29",
    ),
    ("xs:boolean", ["true", "0", " 1 "], "yes"),
    ("xs:decimal", ["1.50", "+.5", "-0"], "1e3"),
    ("xs:token", ["a", " a  b ", ""], ""),
    ("i:code", ["AB-1", "ZZ-9", "QX-5"], "A-1"),
    ("i:size", ["small", "large", "small"], "huge"),
    ("xs:QName", ["p:x", "x", "i:y"], "q:x"),
];

#[derive(Clone, Copy)]
enum Kind {
    Simple(usize),
    Complex(usize),
    /// `ref="i:shared"`, declared in the imported schema.
    Shared,
    /// `xs:any` for another namespace, with the value of `processContents`.
    Any(&'static str),
}

#[derive(Clone, Copy)]
struct Particle {
    kind: Kind,
    /// The element's number, which is part of its name.
    number: usize,
    min: usize,
    max: usize,
    is_nillable: bool,
}

struct Type {
    group: &'static str,
    is_mixed: bool,
    particles: Vec<Particle>,
    /// The attributes, each with the index of its simple type, and true if it is required.
    attributes: Vec<(usize, bool)>,
    has_any_attribute: bool,
    /// True if a uniqueness constraint forbids equal values of one element.
    is_unique: bool,
}

/// A schema in two parts.
pub struct Schema {
    types: Vec<Type>,
    is_qualified: bool,
}

pub const PART_LOCATION: &str = "part.xsd";

pub const PART: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:i="urn:i" targetNamespace="urn:i" elementFormDefault="qualified">
<xs:simpleType name="code"><xs:restriction base="xs:string"><xs:pattern value="[A-Z]{2}-\d"/></xs:restriction></xs:simpleType>
<xs:simpleType name="size"><xs:restriction base="xs:string"><xs:enumeration value="small"/><xs:enumeration value="large"/></xs:restriction></xs:simpleType>
<xs:element name="shared"><xs:complexType><xs:sequence><xs:element ref="i:shared" minOccurs="0" maxOccurs="2"/></xs:sequence><xs:attribute name="code" type="i:code"/></xs:complexType></xs:element>
</xs:schema>"#;

impl Schema {
    pub fn new(dice: &mut Dice) -> Self {
        let count = 1 + dice.roll(4);
        let types = (0..count)
            .map(|index| Self::a_type(dice, index, count))
            .collect();
        Self {
            types,
            is_qualified: !dice.one_in(3),
        }
    }

    fn a_type(dice: &mut Dice, index: usize, count: usize) -> Type {
        let group = dice.pick(&["sequence", "sequence", "choice", "all"]);
        let mut particles = Vec::new();
        for place in 0..1 + dice.roll(4) {
            let kind = match dice.roll(8) {
                0 | 1 if index + 1 < count => {
                    Kind::Complex(index + 1 + dice.roll(count - index - 1))
                }
                // The element is recursive, so it must be optional.
                2 => Kind::Complex(index),
                3 => Kind::Shared,
                4 if group == "sequence" => {
                    Kind::Any(dice.pick::<&str>(&["lax", "skip", "strict"]))
                }
                _ => Kind::Simple(dice.roll(SIMPLE.len())),
            };
            // Allow at most one reference, and nothing after a wildcard, so that the content model
            // stays unambiguous.
            let is_taken = |other: &Particle| {
                std::mem::discriminant(&other.kind) == std::mem::discriminant(&kind)
                    && matches!(kind, Kind::Shared | Kind::Any(_))
                    || matches!(other.kind, Kind::Any(_))
            };
            if particles.iter().any(is_taken) {
                continue;
            }
            let is_recursive = matches!(kind, Kind::Complex(other) if other == index);
            let min = if is_recursive || matches!(kind, Kind::Shared) {
                0
            } else {
                dice.roll(2)
            };
            let max = if group == "all" { 1 } else { 1 + dice.roll(3) };
            particles.push(Particle {
                kind,
                number: index * 10 + place,
                min,
                max,
                is_nillable: dice.one_in(4),
            });
        }
        Type {
            group,
            is_mixed: dice.one_in(4),
            is_unique: particles
                .iter()
                .any(|particle| matches!(particle.kind, Kind::Simple(_)))
                && dice.one_in(3),
            particles,
            attributes: (0..dice.roll(3))
                .map(|_| (dice.roll(SIMPLE.len() - 1), dice.one_in(2)))
                .collect(),
            has_any_attribute: dice.one_in(4),
        }
    }

    /// Returns the text of the part that imports the other one.
    pub fn text(&self) -> String {
        let form = if self.is_qualified {
            "qualified"
        } else {
            "unqualified"
        };
        let mut out = format!(
            r#"<?xml version="1.0"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" xmlns:i="urn:i" targetNamespace="urn:t" elementFormDefault="{form}">
<xs:import namespace="urn:i" schemaLocation="{PART_LOCATION}"/>
"#
        );
        let unique = match self.types[0]
            .particles
            .iter()
            .find(|particle| matches!(particle.kind, Kind::Simple(_)))
        {
            Some(particle) if self.types[0].is_unique => {
                let prefix = if self.is_qualified { "t:" } else { "" };
                format!(
                    r#"<xs:unique name="u"><xs:selector xpath="{prefix}e{}"/><xs:field xpath="."/></xs:unique>"#,
                    particle.number
                )
            }
            _ => String::new(),
        };
        out.push_str(&format!(
            "<xs:element name=\"root\" type=\"t:T0\">{unique}</xs:element>\n"
        ));
        for (index, a_type) in self.types.iter().enumerate() {
            let mixed = if a_type.is_mixed {
                " mixed=\"true\""
            } else {
                ""
            };
            out.push_str(&format!(
                "<xs:complexType name=\"T{index}\"{mixed}><xs:{}>\n",
                a_type.group
            ));
            for particle in &a_type.particles {
                out.push_str(&self.particle(particle));
            }
            out.push_str(&format!("</xs:{}>\n", a_type.group));
            for (place, (simple, required)) in a_type.attributes.iter().enumerate() {
                let required = if *required { " use=\"required\"" } else { "" };
                out.push_str(&format!(
                    "<xs:attribute name=\"a{place}\" type=\"{}\"{required}/>\n",
                    SIMPLE[*simple].0
                ));
            }
            if a_type.has_any_attribute {
                out.push_str("<xs:anyAttribute namespace=\"##other\" processContents=\"lax\"/>\n");
            }
            out.push_str("</xs:complexType>\n");
        }
        out.push_str("</xs:schema>\n");
        out
    }

    fn particle(&self, particle: &Particle) -> String {
        let occurs = format!(
            " minOccurs=\"{}\" maxOccurs=\"{}\"",
            particle.min, particle.max
        );
        let nillable = if particle.is_nillable {
            " nillable=\"true\""
        } else {
            ""
        };
        match particle.kind {
            Kind::Simple(simple) => format!(
                "<xs:element name=\"e{}\" type=\"{}\"{occurs}{nillable}/>\n",
                particle.number, SIMPLE[simple].0
            ),
            Kind::Complex(index) => format!(
                "<xs:element name=\"e{}\" type=\"t:T{index}\"{occurs}{nillable}/>\n",
                particle.number
            ),
            Kind::Shared => format!("<xs:element ref=\"i:shared\"{occurs}/>\n"),
            Kind::Any(process) => {
                format!("<xs:any namespace=\"urn:other\" processContents=\"{process}\"{occurs}/>\n")
            }
        }
    }

    /// Returns a document. About half of all documents are meant to be valid.
    pub fn document(&self, dice: &mut Dice) -> Vec<u8> {
        let mut writer = Writer {
            schema: self,
            // A value of 0 means that the document has no faults.
            faults: if dice.one_in(2) { 0 } else { 12 },
            dice,
            out: String::new(),
        };
        let name = if writer.fault() { "t:wrong" } else { "t:root" };
        let namespaces = r#" xmlns:t="urn:t" xmlns:i="urn:i" xmlns:p="urn:p" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance""#;
        writer.element(name, namespaces, 0, 0);
        let body = std::mem::take(&mut writer.out);
        dressed(dice, &body)
    }
}

struct Writer<'a> {
    schema: &'a Schema,
    dice: &'a mut Dice,
    faults: usize,
    out: String,
}

impl Writer<'_> {
    fn fault(&mut self) -> bool {
        self.faults > 0 && self.dice.one_in(self.faults)
    }

    fn element(&mut self, name: &str, attributes: &str, index: usize, depth: usize) {
        let schema = self.schema;
        let a_type = &schema.types[index];
        self.out.push_str(&format!("<{name}{attributes}"));
        for (place, (simple, required)) in a_type.attributes.iter().enumerate() {
            if (*required || self.dice.one_in(2)) && !self.fault() {
                let value = self.value(*simple);
                self.out.push_str(&format!(" a{place}=\"{value}\""));
            }
        }
        if a_type.has_any_attribute && self.dice.one_in(2) {
            self.out.push_str(" p:any=\"x\"");
        }
        self.out.push_str(">\n");
        let mut particles: Vec<&Particle> = a_type.particles.iter().collect();
        if a_type.group == "choice" && !particles.is_empty() {
            particles = vec![particles[self.dice.roll(particles.len())]];
        }
        if a_type.group == "all" || self.fault() {
            let by = self.dice.roll(particles.len().max(1));
            particles.rotate_left(by);
        }
        for particle in particles {
            let count = particle.min + self.dice.roll(particle.max - particle.min + 1);
            let count = if self.fault() {
                particle.max + 1
            } else {
                count
            };
            let count = if depth > 5 { particle.min } else { count };
            for _ in 0..count {
                self.occurrence(particle, depth);
            }
            if a_type.is_mixed || self.fault() {
                self.out.push_str(self.dice.pick::<&str>(&[
                    "text",
                    "<![CDATA[<&]]>",
                    "&#xE9;",
                    "<?p i?>",
                    "<!-- c -->",
                ]));
            }
        }
        self.out.push_str(&format!("</{name}>\n"));
    }

    fn occurrence(&mut self, particle: &Particle, depth: usize) {
        let prefix = if self.schema.is_qualified { "t:" } else { "" };
        let name = format!("{prefix}e{}", particle.number);
        match particle.kind {
            Kind::Simple(_) if (particle.is_nillable && self.dice.one_in(3)) || self.fault() => {
                self.out.push_str(&format!("<{name} xsi:nil=\"true\"/>"));
            }
            Kind::Simple(simple) => {
                let value = self.value(simple);
                let value = match self.dice.roll(4) {
                    0 if !value.is_empty() => format!("<![CDATA[{value}]]>"),
                    1 => format!("{value}<!-- c -->"),
                    _ => value,
                };
                self.out.push_str(&format!("<{name}>{value}</{name}>\n"));
            }
            Kind::Complex(index) => self.element(&name, "", index, depth + 1),
            Kind::Shared => self.out.push_str(self.dice.pick::<&str>(&[
                "<i:shared/>",
                "<i:shared code='AB-1'><i:shared/></i:shared>",
                "<shared xmlns='urn:i'><shared/><shared/></shared>",
            ])),
            Kind::Any(_) => self.out.push_str(self.dice.pick::<&str>(&[
                "<o xmlns='urn:other'>x</o>",
                "<o:o xmlns:o='urn:other' a='1'><inner/></o:o>",
            ])),
        }
    }

    fn value(&mut self, simple: usize) -> String {
        let (_, valid, invalid) = SIMPLE[simple];
        if self.fault() {
            return invalid.into();
        }
        self.dice.pick(&valid).into()
    }
}

/// Encodes a body in one of the encodings, after one of the prologues.
fn dressed(dice: &mut Dice, body: &str) -> Vec<u8> {
    let before = match dice.roll(5) {
        0 => "<!-- before -->\n<!--it-->",
        1 => "<?before it?>\n",
        _ => "",
    };
    match dice.roll(5) {
        0 => {
            let text = format!("<?xml version=\"1.0\" encoding=\"UTF-16\"?>{before}{body}");
            let mut out = vec![0xff, 0xfe];
            out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            out
        }
        1 => format!("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>{before}{body}")
            .chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
            .collect(),
        2 => format!("\u{feff}{before}{body}").into_bytes(),
        _ => format!("<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n{before}{body}")
            .into_bytes(),
    }
}
