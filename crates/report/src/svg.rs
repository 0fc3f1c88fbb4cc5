//! Writes the few SVG elements that charts need. Text is escaped, and coordinates are rounded to a
//! tenth of a pixel. The page's style sheet sets the colors.

use std::fmt::Write;

/// The drawing that is being written.
pub struct Svg {
    id: String,
    width: f64,
    height: f64,
    title: String,
    description: String,
    body: String,
}

/// The part of a label that is placed at the label's coordinates: one of its ends, or its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// Begins an empty drawing. `id` must be unique on the page. `title` and `description` are for
    /// screen readers.
    pub fn new(id: &str, size: (f64, f64), title: &str, description: &str) -> Self {
        Self {
            id: id.into(),
            width: size.0,
            height: size.1,
            title: title.into(),
            description: description.into(),
            body: String::new(),
        }
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        self.push(&format!(
            r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#
        ));
    }

    /// Draws a horizontal interval. The tick at each end extends `reach` pixels above and below the
    /// line.
    pub fn interval(&mut self, class: &str, ends: (f64, f64), middle: f64, reach: f64) {
        let (low, high) = ends;
        self.line(class, (low, middle), (high, middle));
        for end in [low, high] {
            self.line(class, (end, middle - reach), (end, middle + reach));
        }
    }

    /// Draws a rectangle whose corners have this radius; 0 makes them square.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), radius: f64) {
        let (x, y, width, height) = (px(at.0), px(at.1), px(size.0), px(size.1));
        let radius = px(radius);
        self.push(&format!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>"#
        ));
    }

    pub fn bar(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let (x, y, width, height) = (px(at.0), px(at.1), px(size.0), px(size.1));
        let tip = escape(tip);
        self.push(&format!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="1.5"><title>{tip}</title></rect>"#
        ));
    }

    pub fn dot(&mut self, class: &str, center: (f64, f64), radius: f64, tip: &str) {
        let (cx, cy, r) = (px(center.0), px(center.1), px(radius));
        let tip = escape(tip);
        self.push(&format!(
            r#"<circle class="{class}" cx="{cx}" cy="{cy}" r="{r}"><title>{tip}</title></circle>"#
        ));
    }

    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        let path = path_through(points);
        self.push(&format!(r#"<path class="{class}" d="{path}"/>"#));
    }

    /// Fills the area between a polyline and a horizontal base.
    pub fn area(&mut self, class: &str, points: &[(f64, f64)], base: f64) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return;
        };
        let (path, base) = (path_through(points), px(base));
        let (from, to) = (px(first.0), px(last.0));
        self.push(&format!(
            r#"<path class="{class}" d="{path}L{to} {base}L{from} {base}Z"/>"#
        ));
    }

    /// Writes text at a point; `anchor` is the part of the text that is placed there.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let (x, y, text) = (px(at.0), px(at.1), escape(text));
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let class = match class {
            "" => String::new(),
            class => format!(r#" class="{class}""#),
        };
        self.push(&format!(
            r#"<text{class} x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// Begins a group whose elements have the color of the CSS class.
    pub fn begin_group(&mut self, class: &str) {
        self.push(&format!(r#"<g class="{class}">"#));
    }

    pub fn end_group(&mut self) {
        self.push("</g>");
    }

    pub fn finish(self) -> String {
        let (width, height) = (px(self.width), px(self.height));
        let [id, title, description] =
            [self.id, self.title, self.description].map(|it| escape(&it));
        format!(
            "<svg role=\"img\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             aria-labelledby=\"{id}-t {id}-d\">\n<title id=\"{id}-t\">{title}</title>\
             <desc id=\"{id}-d\">{description}</desc>\n{}</svg>",
            self.body
        )
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }
}

/// Escapes text for element content and quoted attributes. Characters that XML forbids are
/// replaced, so that stray bytes from a gateway cannot make the page unreadable.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#x27;"),
            c if is_forbidden(c) => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Reports whether XML 1.0 forbids the character (section 2.2).
pub fn is_forbidden(character: char) -> bool {
    matches!(character, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

fn path_through(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        // Writing to a String cannot fail.
        let _ = write!(path, "{command}{} {}", px(*x), px(*y));
    }
    path
}

fn px(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Adding zero turns -0 into 0.
    format!("{}", rounded + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_stable() {
        assert_eq!(px(12.0), "12");
        assert_eq!(px(0.1 + 0.2), "0.3");
        assert_eq!(px(-0.01), "0");
    }

    #[test]
    fn text_cannot_leave_its_element() {
        let mut svg = Svg::new("a", (10.0, 10.0), "<b>", "\"");
        svg.text("t", (0.0, 0.0), Anchor::Start, "</text><script>\u{1}");
        let out = svg.finish();
        assert!(!out.contains("<script>") && !out.contains("<b>"), "{out}");
        assert!(out.contains('\u{fffd}'));
    }

    #[test]
    fn an_area_closes_on_its_base() {
        let mut svg = Svg::new("a", (10.0, 10.0), "", "");
        svg.area("f", &[(0.0, 1.0), (4.0, 2.0)], 9.0);
        svg.area("f", &[], 9.0);
        assert!(svg.finish().contains("M0 1L4 2L4 9L0 9Z"));
    }
}
