//! Wavelet scattering of an image: averages of the moduli of wavelet coefficients, of two orders.
//!
//! # Source
//! Bruna & Mallat, "Invariant scattering convolution networks" (2013), with two octaves (J = 2) and eight orientations
//! (L = 8): S₀ = x ⋆ φ, S₁ = |x ⋆ ψ_λ| ⋆ φ and S₂ = ||x ⋆ ψ_λ| ⋆ ψ_μ| ⋆ φ with μ of the second octave and λ of the
//! first, at every fourth pixel. That is 1 + 16 + 64 channels of a quarter of the side.

use super::fft::{Complex, Fft, FftScratch, Lanes, is_supported};
use super::wavelets::{OCTAVES, ORIENTATIONS, gaussian, morlet};
use undertone_simd::{F32Vector, Kernel, Simd};

/// Channels of the transform of one colour.
pub(super) const CHANNELS: usize = 1 + OCTAVES * ORIENTATIONS + ORIENTATIONS * ORIENTATIONS;

/// Pixels between two averages.
pub(super) const STEP: usize = 1 << OCTAVES;

/// At least so many reflected pixels on both sides together.
const PADDING_MIN: usize = 8;

/// The first average is taken about this pixel.
const FIRST: usize = STEP / 2;

/// The first channel of the second octave.
const COARSE: usize = 1 + ORIENTATIONS;

/// The first channel of the second order.
const SECOND: usize = 1 + OCTAVES * ORIENTATIONS;

/// One side of an image, and of the torus it is put on.
struct Side {
    pixels: usize,
    padding: usize,
    torus: usize,
    fft: Fft,
    half_fft: Fft,
}

impl Side {
    /// The smallest torus that is a multiple of four and whose transforms are fast.
    fn new(pixels: usize) -> Side {
        let fits = |torus: &usize| is_supported(*torus) && is_supported(torus / 2);
        let torus = (pixels + PADDING_MIN..).step_by(STEP).find(fits);
        let torus = torus.expect("there is always a larger power of two");
        let padding = (torus - pixels) / 2;
        Side { pixels, padding, torus, fft: Fft::new(torus), half_fft: Fft::new(torus / 2) }
    }

    /// How many averages.
    fn cells(&self) -> usize {
        self.pixels / STEP
    }

    /// The pixel that stands at a place of the torus: the image is reflected about its border pixels.
    fn pixel(&self, place: usize) -> usize {
        let period = 2 * (self.pixels - 1);
        let at = (place + period * self.padding - self.padding) % period;
        at.min(period - at)
    }
}

/// The transform of images of one size, one colour at a time.
pub(super) struct Scattering {
    rows: Side,
    columns: Side,
    /// The pixel of each place of the torus, column by column.
    places: Vec<u32>,
    fine: Vec<Lanes>,
    coarse: Vec<Lanes>,
    /// Weights of the average on every pixel, and on every second.
    gaussians: [Vec<f32>; 2],
}

/// Memory for one transform after another.
pub(super) struct Workspace {
    /// The image on its torus, column by column, eight rows to a vector.
    image: Complex,
    /// Its Fourier transform, row by row, eight columns to a vector.
    spectrum: Complex,
    /// One plane for each orientation.
    full: Complex,
    half: Complex,
    averages: Vec<Lanes>,
    scratch: FftScratch,
}

impl Scattering {
    /// The transform of images whose sides are multiples of four.
    pub(super) fn new(height: usize, width: usize) -> Scattering {
        let (rows, columns) = (Side::new(height), Side::new(width));
        let (places, columns_torus) = (rows.torus * columns.torus, columns.torus);
        #[expect(clippy::cast_precision_loss, reason = "images are small")]
        let scale = 1.0 / places as f64;
        let pixel = |place: usize| {
            let (column, row) = (place / rows.torus, place % rows.torus);
            let pixel = rows.pixel(row) * width + columns.pixel(column);
            u32::try_from(pixel).expect("images have at most 2^22 values")
        };
        Scattering {
            places: (0..places).map(pixel).collect(),
            fine: morlet(0, rows.torus, columns_torus, scale),
            coarse: morlet(1, rows.torus, columns_torus, scale),
            gaussians: [gaussian(1), gaussian(2)],
            rows,
            columns,
        }
    }

    /// Pixels of one colour.
    pub(super) fn pixels(&self) -> usize {
        self.rows.pixels * self.columns.pixels
    }

    /// Averages of one channel.
    pub(super) fn cells(&self) -> usize {
        self.rows.cells() * self.columns.cells()
    }

    /// One colour of an image on its torus.
    #[cfg(test)]
    pub(super) fn on_torus(&self, image: &[f32]) -> Vec<f32> {
        self.places.iter().map(|&place| image[place as usize]).collect()
    }

    /// Memory that [`Scatter`] needs.
    pub(super) fn workspace(&self) -> Workspace {
        let (rows, columns) = (self.rows.torus, self.columns.torus);
        let averages = (self.rows.cells() * columns).max(self.columns.cells() * rows.div_ceil(8));
        Workspace {
            image: Complex::zeros(columns * rows.div_ceil(8)),
            spectrum: Complex::zeros(rows * columns.div_ceil(8)),
            full: Complex::zeros(rows * columns),
            half: Complex::zeros(rows * columns / 4),
            averages: vec![[0.0; 8]; averages],
            scratch: FftScratch::new(rows.max(columns)),
        }
    }
}

/// Computes the channels of one colour of an image.
pub(super) struct Scatter<'a> {
    pub(super) transform: &'a Scattering,
    pub(super) workspace: &'a mut Workspace,
    /// The values of the pixels, row by row.
    pub(super) image: &'a [f32],
    /// The channels one after the other, each row by row.
    pub(super) channels: &'a mut [f32],
}

impl Kernel for Scatter<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Scatter { transform, workspace, image, channels } = self;
        transform.load_image::<S::F32x8>(image, workspace, channels);
        transform.first_octave::<S::F32x8>(workspace, channels);
        for orientation in 0..=ORIENTATIONS {
            transform.second_octave::<S::F32x8>(orientation, workspace, channels);
        }
    }
}

impl Scattering {
    /// Puts the image on its torus and transforms it; writes the first channel.
    #[inline(always)]
    fn load_image<V: F32Vector<8>>(
        &self,
        image: &[f32],
        workspace: &mut Workspace,
        channels: &mut [f32],
    ) {
        let Workspace { image: torus, spectrum, averages, scratch, .. } = workspace;
        let (rows, columns) = (self.rows.torus, self.columns.torus);
        let (row_blocks, column_blocks) = (rows.div_ceil(8), columns.div_ceil(8));
        torus.im.fill([0.0; 8]);
        let lines = torus.re.as_flattened_mut().chunks_exact_mut(8 * row_blocks);
        for (line, pixels) in lines.zip(self.places.chunks_exact(rows)) {
            for (slot, &pixel) in line.iter_mut().zip(pixels) {
                *slot = image[pixel as usize];
            }
        }
        self.average_image::<V>(&torus.re, averages, channels);
        for block in 0..row_blocks {
            let (re, im) = (&mut torus.re[block..], &mut torus.im[block..]);
            self.columns.fft.transform::<V>(re, im, row_blocks, scratch);
        }
        transpose(&torus.re, &mut spectrum.re, (columns, row_blocks), (rows, column_blocks));
        transpose(&torus.im, &mut spectrum.im, (columns, row_blocks), (rows, column_blocks));
        for block in 0..column_blocks {
            let (re, im) = (&mut spectrum.re[block..], &mut spectrum.im[block..]);
            self.rows.fft.transform::<V>(re, im, column_blocks, scratch);
        }
    }

    /// S₀. Lanes are rows here.
    #[inline(always)]
    fn average_image<V: F32Vector<8>>(
        &self,
        torus: &[Lanes],
        averages: &mut [Lanes],
        channels: &mut [f32],
    ) {
        let blocks = self.rows.torus.div_ceil(8);
        let weights = &self.gaussians[0];
        average_lines::<V>(torus, &self.columns, 1, blocks, weights, averages);
        let (width, height) = (self.columns.cells(), self.rows.cells());
        let lines = averages.as_flattened().chunks_exact(8 * blocks);
        for (column, line) in lines.take(width).enumerate() {
            for row in 0..height {
                let start = first_tap(&self.rows, row, 1, weights.len());
                let mut sum = 0.0;
                for (tap, weight) in weights.iter().enumerate() {
                    sum += line[(start + tap) % self.rows.torus] * weight;
                }
                channels[row * width + column] = sum;
            }
        }
    }

    /// S₁ of the first octave; leaves the Fourier transforms of the moduli in `full`.
    #[inline(always)]
    fn first_octave<V: F32Vector<8>>(&self, workspace: &mut Workspace, channels: &mut [f32]) {
        let Workspace { spectrum, full, averages, scratch, .. } = workspace;
        let (rows, columns) = (self.rows.torus, self.columns.torus);
        let blocks = columns.div_ceil(8);
        let Complex { re, im } = full;
        for row in 0..rows {
            let line = row * columns..(row + 1) * columns;
            let (re, im) = (&mut re[line.clone()], &mut im[line.clone()]);
            let from = row * 8 * blocks..row * 8 * blocks + columns;
            let parts = spectrum.re.as_flattened()[from.clone()]
                .iter()
                .zip(&spectrum.im.as_flattened()[from]);
            let slots = re.iter_mut().zip(im.iter_mut());
            for (((re, im), filter), (&x, &y)) in slots.zip(&self.fine[line]).zip(parts) {
                let filter = V::load(filter);
                V::splat(x).times(filter).store(re);
                V::splat(y).times(filter).store(im);
            }
            // Real and imaginary parts are exchanged: an inverse transform.
            self.columns.fft.transform::<V>(im, re, 1, scratch);
        }
        for column in 0..columns {
            let (re, im) = (&mut re[column..], &mut im[column..]);
            self.rows.fft.transform::<V>(im, re, columns, scratch);
        }
        for (re, im) in re.iter_mut().zip(im.iter_mut()) {
            modulus::<V>(re, im).store(re);
            *im = [0.0; 8];
        }
        self.average::<V>(re, 1, averages, 1, 1, channels);
        for row in 0..rows {
            let line = row * columns..(row + 1) * columns;
            self.columns.fft.transform::<V>(&mut re[line.clone()], &mut im[line], 1, scratch);
        }
        for column in 0..columns {
            self.rows.fft.transform::<V>(&mut re[column..], &mut im[column..], columns, scratch);
        }
    }

    /// S₂ of one orientation μ for all λ of the first octave, a lane for each; or S₁ of the second octave, a lane for
    /// each orientation, if there is no such μ.
    #[inline(always)]
    fn second_octave<V: F32Vector<8>>(
        &self,
        orientation: usize,
        workspace: &mut Workspace,
        channels: &mut [f32],
    ) {
        let Workspace { spectrum, full, half, averages, scratch, .. } = workspace;
        let (rows, columns) = (self.rows.torus / 2, self.columns.torus / 2);
        let Complex { re, im } = half;
        for row in 0..rows {
            let line = row * columns..(row + 1) * columns;
            let (re, im) = (&mut re[line.clone()], &mut im[line]);
            if orientation < ORIENTATIONS {
                self.fold_moduli::<V>(orientation, row, full, re, im);
            } else {
                self.fold_image::<V>(row, spectrum, re, im);
            }
            self.columns.half_fft.transform::<V>(im, re, 1, scratch);
        }
        for column in 0..columns {
            let (re, im) = (&mut re[column..], &mut im[column..]);
            self.rows.half_fft.transform::<V>(im, re, columns, scratch);
        }
        for (re, im) in re.iter_mut().zip(im.iter()) {
            modulus::<V>(re, im).store(re);
        }
        let (first, step) = if orientation < ORIENTATIONS {
            (SECOND + orientation, ORIENTATIONS)
        } else {
            (COARSE, 1)
        };
        self.average::<V>(re, 2, averages, first, step, channels);
    }

    /// A row of the product of the moduli and a wavelet of the second octave, on every second pixel: that adds up four
    /// frequencies.
    #[inline(always)]
    fn fold_moduli<V: F32Vector<8>>(
        &self,
        orientation: usize,
        row: usize,
        from: &Complex,
        re: &mut [Lanes],
        im: &mut [Lanes],
    ) {
        let columns = self.columns.torus;
        let half = columns / 2;
        let upper = row * columns;
        let lower = upper + self.rows.torus / 2 * columns;
        for (column, (re, im)) in re.iter_mut().zip(im).enumerate() {
            let (mut x, mut y) = (V::splat(0.0), V::splat(0.0));
            for start in [upper, upper + half, lower, lower + half] {
                let at = start + column;
                let filter = V::splat(self.coarse[at][orientation]);
                x = x.plus(V::load(&from.re[at]).times(filter));
                y = y.plus(V::load(&from.im[at]).times(filter));
            }
            x.store(re);
            y.store(im);
        }
    }

    /// The same of the image and all wavelets of the second octave.
    #[inline(always)]
    fn fold_image<V: F32Vector<8>>(
        &self,
        row: usize,
        from: &Complex,
        re: &mut [Lanes],
        im: &mut [Lanes],
    ) {
        let columns = self.columns.torus;
        let (half, stride) = (columns / 2, 8 * columns.div_ceil(8));
        let lower = row + self.rows.torus / 2;
        let (from_re, from_im) = (from.re.as_flattened(), from.im.as_flattened());
        for (column, (re, im)) in re.iter_mut().zip(im).enumerate() {
            let (mut x, mut y) = (V::splat(0.0), V::splat(0.0));
            for (row, column) in
                [(row, column), (row, column + half), (lower, column), (lower, column + half)]
            {
                let filter = V::load(&self.coarse[row * columns + column]);
                let at = row * stride + column;
                x = x.plus(V::splat(from_re[at]).times(filter));
                y = y.plus(V::splat(from_im[at]).times(filter));
            }
            x.store(re);
            y.store(im);
        }
    }

    /// Averages eight planes on every `step`-th pixel into the channels `first`, `first + channel_step` ….
    #[inline(always)]
    fn average<V: F32Vector<8>>(
        &self,
        plane: &[Lanes],
        step: usize,
        averages: &mut [Lanes],
        first: usize,
        channel_step: usize,
        channels: &mut [f32],
    ) {
        let weights = &self.gaussians[step - 1];
        let columns = self.columns.torus / step;
        average_lines::<V>(plane, &self.rows, step, columns, weights, averages);
        let (width, cells) = (self.columns.cells(), self.cells());
        for (row, line) in averages.chunks_exact(columns).take(self.rows.cells()).enumerate() {
            for column in 0..width {
                let start = first_tap(&self.columns, column, step, weights.len());
                let mut sum = V::splat(0.0);
                for (tap, &weight) in weights.iter().enumerate() {
                    let value = V::load(&line[(start + tap) % columns]);
                    sum = sum.plus(value.times(V::splat(weight)));
                }
                let mut lanes = [0.0; 8];
                sum.store(&mut lanes);
                let places = channels[first * cells + row * width + column..].iter_mut();
                for (slot, lane) in places.step_by(channel_step * cells).zip(lanes) {
                    *slot = lane;
                }
            }
        }
    }
}

/// √(re² + im²).
#[inline(always)]
fn modulus<V: F32Vector<8>>(re: &Lanes, im: &Lanes) -> V {
    let (re, im) = (V::load(re), V::load(im));
    re.times(re).plus(im.times(im)).square_root()
}

/// The place on the torus, every `step`-th pixel, of the first weight of an average.
#[inline(always)]
fn first_tap(side: &Side, cell: usize, step: usize, weights: usize) -> usize {
    let (centre, torus) = ((side.padding + FIRST + STEP * cell) / step, side.torus / step);
    // The radius may be larger than the torus.
    (centre + torus * weights - weights / 2) % torus
}

/// Averages of the lines of a plane: one line for each cell of the side that lines are counted on.
#[inline(always)]
fn average_lines<V: F32Vector<8>>(
    plane: &[Lanes],
    side: &Side,
    step: usize,
    length: usize,
    weights: &[f32],
    averages: &mut [Lanes],
) {
    let torus = side.torus / step;
    for (cell, line) in averages.chunks_exact_mut(length).take(side.cells()).enumerate() {
        let start = first_tap(side, cell, step, weights.len());
        line.fill([0.0; 8]);
        for (tap, &weight) in weights.iter().enumerate() {
            let at = (start + tap) % torus * length;
            let weight = V::splat(weight);
            for (slot, value) in line.iter_mut().zip(&plane[at..at + length]) {
                V::load(slot).plus(V::load(value).times(weight)).store(slot);
            }
        }
    }
}

/// Exchanges lines and entries; a line of `blocks` vectors holds the entries, and maybe some more.
#[inline(always)]
fn transpose(
    from: &[Lanes],
    to: &mut [Lanes],
    (lines, blocks): (usize, usize),
    (entries, to_blocks): (usize, usize),
) {
    let (from, to) = (from.as_flattened(), to.as_flattened_mut());
    for (entry, target) in to.chunks_exact_mut(8 * to_blocks).take(entries).enumerate() {
        for (line, slot) in target.iter_mut().take(lines).enumerate() {
            *slot = from[line * 8 * blocks + entry];
        }
    }
}
