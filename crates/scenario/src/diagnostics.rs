//! Errors and warnings of a scenario, with their positions.
//!
//! A [`Diagnostic`] has file, line and column, a message and, as help, the accepted values or what was probably meant.
//! [`Diagnostics`] prints like a compiler (plain or colored) and as JSON.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
pub use keys::Severity;
use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// An error or a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Name of the file, as passed to the loader.
    pub file: String,
    /// Line, from 1; 0 without a position in the text.
    pub line: usize,
    /// Column in characters, from 1; 0 without a position in the text.
    pub column: usize,
    /// The problem.
    pub message: String,
    /// Accepted values, or what was probably meant. May be empty.
    pub help: String,
    /// Severity.
    #[serde(skip)]
    pub severity: Severity,
    /// The surrounding lines, the number of the first of them, and the range to underline.
    #[serde(skip)]
    excerpt: Option<Excerpt>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    text: String,
    first_line: usize,
    span: Range<usize>,
}

/// A source text, which converts byte offsets to lines.
pub struct Source<'a> {
    /// Name of the file in messages.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
}

/// Maximum length of a line in an excerpt. It keeps errors in generated files readable.
const LONGEST_LINE: usize = 400;

impl Source<'_> {
    /// Creates a diagnostic at the byte range `span` of this text.
    pub fn at(&self, severity: Severity, span: Range<usize>, message: String, help: String) -> Diagnostic {
        let start = floor_boundary(self.text, span.start);
        let end = floor_boundary(self.text, span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let line = self.text[..start].matches('\n').count() + 1;
        let column = self.text[line_start..start].chars().count() + 1;
        let excerpt = (line_end - line_start <= LONGEST_LINE).then(|| Excerpt {
            text: self.text[line_start..line_end].trim_end_matches('\r').to_string(),
            first_line: line,
            span: start - line_start..end.min(line_end) - line_start,
        });
        let (message, help) = (clipped(&message), clipped(&help));
        Diagnostic { file: self.file.to_string(), line, column, message, help, severity, excerpt }
    }
}

/// Maximum length of a word in a message, which is enough for names of flows and nodes. The number of such words in a
/// message is limited.
const LONGEST_WORD: usize = 300;
const LONGEST_MESSAGE: usize = 10 * LONGEST_WORD;

/// Shortens an overlong message in the middle. Scenarios may contain text of any length.
fn clipped(message: &str) -> String {
    if message.len() <= LONGEST_WORD {
        return message.to_string();
    }
    let words = message.split_inclusive(char::is_whitespace).map(|word| without_middle(word, LONGEST_WORD));
    without_middle(&words.collect::<String>(), LONGEST_MESSAGE)
}

/// Shortens a text to about `most` bytes, and keeps its start and end.
fn without_middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_string();
    }
    let (head, tail) = (floor_boundary(text, most * 2 / 3), floor_boundary(text, text.len() - most / 4));
    format!("{}[{} bytes]{}", &text[..head], tail - head, &text[tail..])
}

/// Returns the largest character boundary at or below `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

impl Diagnostic {
    /// Returns true if a lossless class can lose frames because of this.
    pub fn is_not_lossless(&self) -> bool {
        self.severity == Severity::NotLossless
    }

    /// Moves the diagnostic from a text to the corresponding line of a longer one.
    pub fn at_line(mut self, line: usize) -> Diagnostic {
        self.line = line;
        if let Some(excerpt) = &mut self.excerpt {
            excerpt.first_line = line;
        }
        self
    }

    /// Creates a diagnostic about the file as a whole.
    pub fn whole_file(file: &str, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic {
            file: file.to_string(),
            line: 0,
            column: 0,
            message: clipped(&message.into()),
            help: clipped(&help.into()),
            severity: Severity::Error,
            excerpt: None,
        }
    }

    /// Renders the diagnostic in the style of a compiler.
    pub fn render(&self, colored: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning | Severity::NotLossless => Level::WARNING,
        };
        let title = printable(&self.message);
        let place = match self.line {
            0 => self.file.clone(),
            line => format!("{}:{line}:{}", self.file, self.column),
        };
        let place = printable(&place);
        let mut group = level.primary_title(&title).elements(Vec::<annotate_snippets::Element>::new());
        if let Some(excerpt) = &self.excerpt {
            let end = excerpt.span.end.min(excerpt.text.len());
            let span = excerpt.span.start.min(end)..end;
            group = group.element(
                Snippet::source(excerpt.text.as_str())
                    .line_start(excerpt.first_line)
                    .path(self.file.as_str())
                    .annotation(AnnotationKind::Primary.span(span)),
            );
        } else {
            group = group.element(annotate_snippets::Origin::path(place));
        }
        let help = printable(&self.help);
        if !help.is_empty() {
            group = group.element(Level::HELP.message(help));
        }
        let renderer = if colored { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// Removes control characters, which could confuse a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{FFFD}' } else { c }).collect()
}

/// All diagnostics of a failed load: at least one error, and possibly warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Renders all diagnostics in the style of a compiler.
    pub fn render(&self, colored: bool) -> String {
        self.0.iter().map(|one| one.render(colored)).collect::<Vec<_>>().join("\n\n")
    }
    /// Returns a JSON list of `{file, line, column, message, help}`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
    /// Returns the diagnostics that prevent the run.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter().filter(|one| one.severity == Severity::Error)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}
impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let source = Source { file: "a.toml", text: "x = 1\nµ = \"abc\"\n" };
        let found = source.at(Severity::Error, 11..16, "bad".into(), "do this".into());
        assert_eq!((found.line, found.column), (2, 5));
        let text = found.render(false);
        assert!(
            text.contains("error: bad") && text.contains("a.toml:2:5") && text.contains("help: do this"),
            "{text}"
        );
        assert!(found.render(true).contains("\u{1b}["));
    }

    #[test]
    fn long_words_and_messages_lose_their_middle() {
        let report = |message: String| {
            let found =
                Source { file: "a.toml", text: "x" }.at(Severity::Error, 0..1, message.clone(), message);
            assert_eq!(found.message, found.help);
            found.message
        };
        let word = report(format!("unknown node \"{}\", no more", "µ".repeat(500_000)));
        assert!(word.len() < 400 && word.starts_with("unknown node \"µµ"), "{word}");
        assert!(word.contains(" bytes]") && word.ends_with("µµ\", no more"), "{word}");
        let message = report("some words ".repeat(100_000));
        assert!(message.len() < LONGEST_MESSAGE, "{}", message.len());
        let name = "n".repeat(200);
        assert_eq!(report(name.clone()), name);
    }
}
