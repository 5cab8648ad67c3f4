//! Drawing a chart: plotters writes the geometry, the page's style sheet sets the appearance.
//!
//! Plotters does not support classes or style sheets, so every part is drawn in a placeholder colour, which is
//! replaced by a class afterwards. Plotters only sees values that [`Axis`] has mapped to 0..1, so NaN and
//! overflows never reach it.

use super::axis::{Axis, Scale, Unit};
use super::number::escape;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::fmt::Write as _;
use std::io;
use std::ops::Range;

/// Plotters draws on whole pixels: drawing at a larger scale keeps curves smooth.
const OVERSIZE: u32 = 4;
/// The most points of a series.
pub(super) const POINTS_MAX: usize = 400;
/// The number of line styles in the style sheet.
pub(super) const STYLES: u8 = 8;

const GRID: RGBColor = RGBColor(255, 0, 200);
const BASE: RGBColor = RGBColor(255, 0, 203);
const TEXT: RGBColor = RGBColor(255, 0, 201);

/// One chart of the report.
pub(super) struct Chart {
    /// The id of its element.
    pub(super) id: &'static str,
    /// The title.
    pub(super) title: &'static str,
    /// The caption: what is shown and how to read it.
    pub(super) caption: String,
    /// The label of the vertical axis, with its unit.
    pub(super) y_label: &'static str,
    /// The scale of the vertical axis.
    pub(super) scale: Scale,
    /// The format of its tick labels.
    pub(super) unit: Unit,
    /// The lines; the first is the most important and drawn on top.
    pub(super) series: Vec<Series>,
    /// The horizontal axis.
    pub(super) across: Across,
    /// Areas between two lines, drawn behind everything else.
    pub(super) bands: Vec<Band>,
}

/// The horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Across {
    /// Rounds, on a linear scale.
    Rounds,
    /// Something else, on a logarithmic scale.
    Log(&'static str),
}

/// An area between two lines.
pub(super) struct Band {
    /// The style of the line it belongs to.
    pub(super) style: u8,
    /// Position, lower and upper value.
    pub(super) points: Vec<(f64, f64, f64)>,
}

/// One line.
pub(super) struct Series {
    /// The label in the legend.
    pub(super) label: String,
    /// Its last value as text; may be empty.
    pub(super) value: String,
    /// Its appearance.
    pub(super) look: Look,
    /// Position (usually a round) and value.
    pub(super) points: Vec<(f64, f64)>,
}

/// The appearance of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// One of the line styles, from 1.
    Line(u8),
    /// A thin, pale line behind another.
    Faint(u8),
    /// A horizontal reference line; 1 or 2.
    Level(u8),
}

/// The size of a drawing in CSS pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Width.
    pub(super) width: u32,
    /// Height.
    pub(super) height: u32,
}

impl Across {
    fn label(self) -> &'static str {
        match self {
            Across::Rounds => "round",
            Across::Log(label) => label,
        }
    }
}

fn band_placeholder(style: u8) -> RGBColor {
    RGBColor(255, 4, style)
}

impl Look {
    fn class(self) -> String {
        match self {
            Look::Line(style) => format!("line s{}", 1 + (style - 1) % STYLES),
            Look::Faint(style) => format!("faint s{}", 1 + (style - 1) % STYLES),
            Look::Level(style) => format!("level l{style}"),
        }
    }

    fn placeholder(self) -> RGBColor {
        match self {
            Look::Line(style) => RGBColor(255, 1, style),
            Look::Faint(style) => RGBColor(255, 2, style),
            Look::Level(style) => RGBColor(255, 3, style),
        }
    }
}

/// Draws a chart as an inline SVG; `None` when there is nothing to show.
pub(super) fn svg(chart: &Chart, size: Size) -> Option<String> {
    let lines: Vec<&Series> = chart.series.iter().collect();
    // A level is not a measurement: without a line there is nothing to compare it with.
    let drawable = |series: &&&Series| {
        !matches!(series.look, Look::Level(_)) && series.points.iter().any(|p| can_draw(chart, *p))
    };
    lines.iter().find(drawable)?;
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let edges = || {
        let points = chart.bands.iter().flat_map(|band| &band.points);
        points.flat_map(|&(_, low, high)| [low, high])
    };
    let ticks_across = if size.width > 600 { 8 } else { 5 };
    let places = points().filter(|p| can_draw(chart, **p)).map(|p| p.0);
    let x = match chart.across {
        Across::Rounds => Axis::rounds(places, ticks_across)?,
        Across::Log(_) => Axis::fit(Scale::Log, Unit::Plain, places, ticks_across)?,
    };
    let values = points().map(|point| point.1).chain(edges());
    let y = Axis::fit(chart.scale, chart.unit, values, 6)?;
    let mut text = String::new();
    draw(&mut text, chart, size, &x, &y).ok()?;
    Some(inline(&text, chart))
}

/// The legend of a chart; empty if there is only one line, which the title explains.
pub(super) fn legend(chart: &Chart) -> String {
    let mut items = String::new();
    for series in &chart.series {
        let value = match series.value.as_str() {
            "" => String::new(),
            value => format!(" <b>{}</b>", escape(value)),
        };
        let _ = write!(
            items,
            "<li><svg class=\"swatch\" viewBox=\"0 0 112 40\" aria-hidden=\"true\">\
             <line class=\"{}\" x1=\"4\" y1=\"20\" x2=\"108\" y2=\"20\"/></svg>{}{value}</li>",
            series.look.class(),
            escape(&series.label),
        );
    }
    format!("<ul class=\"legend\">{items}</ul>")
}

/// At most [`POINTS_MAX`] points: the first, the last, and the extremes in between.
pub(super) fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= POINTS_MAX {
        return points.to_vec();
    }
    let inner = &points[1..points.len() - 1];
    let bucket = inner.len().div_ceil((POINTS_MAX - 2) / 2);
    let mut kept = vec![points[0]];
    for part in inner.chunks(bucket) {
        let by_value = |left: &&(usize, f64), right: &&(usize, f64)| left.1.total_cmp(&right.1);
        let values: Vec<(usize, f64)> = part
            .iter()
            .enumerate()
            .map(|(position, point)| (position, point.1))
            .filter(|(_, value)| value.is_finite())
            .collect();
        let least = values.iter().min_by(by_value).map(|value| value.0);
        let most = values.iter().max_by(by_value).map(|value| value.0);
        let (Some(least), Some(most)) = (least, most) else {
            kept.push(part[0]);
            continue;
        };
        kept.push(part[least.min(most)]);
        if least != most {
            kept.push(part[least.max(most)]);
        }
    }
    kept.push(points[points.len() - 1]);
    kept
}

fn can_draw(chart: &Chart, (position, value): (f64, f64)) -> bool {
    let across = match chart.across {
        Across::Rounds => Scale::Linear,
        Across::Log(_) => Scale::Log,
    };
    across.can_draw(position) && chart.scale.can_draw(value)
}

type Failure = DrawingAreaErrorKind<io::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw(text: &mut String, chart: &Chart, size: Size, x: &Axis, y: &Axis) -> Result<(), Failure> {
    let (width, height) = (size.width * OVERSIZE, size.height * OVERSIZE);
    let root: Area = SVGBackend::with_string(text, (width, height)).into_drawing_area();
    let px = |pixels: u32| pixels * OVERSIZE;
    let letters = ("sans-serif", f64::from(px(16))).into_text_style(&root).color(&TEXT);
    root.draw_text(chart.y_label, &letters, (0, 0))?;
    let mut context = ChartBuilder::on(&root)
        .margin_top(px(28))
        .margin_right(px(14))
        .x_label_area_size(px(44))
        .y_label_area_size(px(58))
        .build_cartesian_2d(Marked(x), Marked(y))?;
    context
        .configure_mesh()
        .disable_x_mesh()
        .axis_style(TRANSPARENT)
        .max_light_lines(0)
        .bold_line_style(GRID)
        .label_style(letters.clone())
        .axis_desc_style(letters)
        .x_desc(chart.across.label())
        .set_all_tick_mark_size(px(4))
        .draw()?;
    for Band { style, points } in &chart.bands {
        let inside = |&&(position, low, high): &&(f64, f64, f64)| {
            can_draw(chart, (position, low)) && can_draw(chart, (position, high))
        };
        let upper =
            points.iter().filter(inside).map(|&(t, _, high)| (x.position(t), y.position(high)));
        let lower =
            points.iter().filter(inside).map(|&(t, low, _)| (x.position(t), y.position(low)));
        let outline: Vec<(f64, f64)> = upper.chain(lower.rev()).collect();
        context.draw_series([Polygon::new(outline, band_placeholder(*style))])?;
    }
    context.draw_series([PathElement::new([(0.0, 0.0), (1.0, 0.0)], BASE)])?;
    for series in chart.series.iter().rev() {
        let colour = series.look.placeholder();
        for run in series.points.split(|point| !can_draw(chart, *point)) {
            let path: Vec<(f64, f64)> =
                run.iter().map(|point| (x.position(point.0), y.position(point.1))).collect();
            match path.as_slice() {
                [] => {}
                [point] => {
                    context.draw_series([Circle::new(*point, px(3), colour.filled())])?;
                }
                _ => {
                    context.draw_series([PathElement::new(path, colour)])?;
                }
            }
        }
    }
    root.present()
}

/// An axis for plotters: positions from 0 to 1, with the axis's ticks.
struct Marked<'a>(&'a Axis);

impl Ranged for Marked<'_> {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (from, to): (i32, i32)) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "within the drawing, in pixels")]
        let pixels = (f64::from(to - from) * position).round() as i32;
        from + pixels
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.0.ticks.iter().map(|tick| tick.0).collect()
    }

    fn range(&self) -> Range<f64> {
        0.0..1.0
    }
}

impl ValueFormatter<f64> for Marked<'_> {
    fn format_ext(&self, position: &f64) -> String {
        self.0.label(*position)
    }
}

/// Converts plotters' SVG to an inline element that scales and uses the page's style sheet.
fn inline(picture: &str, chart: &Chart) -> String {
    let label = format!("{}: {} by {}", chart.title, chart.y_label, chart.across.label());
    let body = picture.split_once('>').map_or("", |(_, body)| body);
    let head = picture.split_once('>').map_or("", |(head, _)| head);
    let view = head.split("viewBox=\"").nth(1).and_then(|rest| rest.split('"').next());
    let mut page = format!(
        "<svg class=\"chart\" viewBox=\"{}\" role=\"img\" aria-label=\"{}\">{body}",
        view.unwrap_or("0 0 1 1"),
        escape(&label)
    );
    let mut classes =
        vec![(GRID, "grid".to_string()), (BASE, "base".into()), (TEXT, String::new())];
    let bands = chart.bands.iter().map(|band| {
        let class = format!("band b{}", 1 + (band.style - 1) % STYLES);
        (band_placeholder(band.style), class)
    });
    classes.extend(bands);
    classes
        .extend(chart.series.iter().map(|series| (series.look.placeholder(), series.look.class())));
    for (RGBColor(red, green, blue), class) in classes {
        let class = if class.is_empty() { class } else { format!("class=\"{class}\"") };
        let colour = format!("#{red:02X}{green:02X}{blue:02X}");
        page = page.replace(&format!("stroke=\"{colour}\" stroke-width=\"1\""), &class);
        let dot = class.replace("=\"", "=\"dot ");
        page = page.replace(&format!("fill=\"{colour}\" stroke=\"none\" stroke-width=\"1\""), &dot);
        page = page.replace(&format!("fill=\"{colour}\""), &class);
    }
    page.replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", "")
        .replace(" fill=\"none\"", "")
        .replace(" >", ">")
        .replace(" \"", "\"")
}
