//! The numbers of the reference: plain ones, and dual numbers.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// The operations that the reference needs.
pub(super) trait Scalar:
    Copy + AddAssign + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// A constant.
    fn constant(value: f64) -> Self;
    /// The number without its derivative, for branches.
    fn value(self) -> f64;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn tanh(self) -> Self;
    fn sigmoid(self) -> Self;
}

impl Scalar for f64 {
    fn constant(value: f64) -> f64 {
        value
    }

    fn value(self) -> f64 {
        self
    }

    fn exp(self) -> f64 {
        f64::exp(self)
    }

    fn ln(self) -> f64 {
        f64::ln(self)
    }

    fn tanh(self) -> f64 {
        f64::tanh(self)
    }

    fn sigmoid(self) -> f64 {
        1.0 / (1.0 + (-self).exp())
    }
}

/// A number and its derivative along one direction of the parameters.
///
/// Running a gradient on these gives the gradient's own directional derivative, exactly: forward over
/// reverse. Branches (relu, max-pool) follow the value, so their derivative is the one almost everywhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dual {
    pub(super) value: f64,
    pub(super) slope: f64,
}

impl Add for Dual {
    type Output = Dual;
    fn add(self, other: Dual) -> Dual {
        Dual { value: self.value + other.value, slope: self.slope + other.slope }
    }
}

impl AddAssign for Dual {
    fn add_assign(&mut self, other: Dual) {
        *self = *self + other;
    }
}

impl Sub for Dual {
    type Output = Dual;
    fn sub(self, other: Dual) -> Dual {
        Dual { value: self.value - other.value, slope: self.slope - other.slope }
    }
}

impl Mul for Dual {
    type Output = Dual;
    fn mul(self, other: Dual) -> Dual {
        let slope = self.slope * other.value + self.value * other.slope;
        Dual { value: self.value * other.value, slope }
    }
}

impl Div for Dual {
    type Output = Dual;
    fn div(self, other: Dual) -> Dual {
        let value = self.value / other.value;
        Dual { value, slope: (self.slope - value * other.slope) / other.value }
    }
}

impl Scalar for Dual {
    fn constant(value: f64) -> Dual {
        Dual { value, slope: 0.0 }
    }

    fn value(self) -> f64 {
        self.value
    }

    fn exp(self) -> Dual {
        let value = self.value.exp();
        Dual { value, slope: value * self.slope }
    }

    fn ln(self) -> Dual {
        Dual { value: self.value.ln(), slope: self.slope / self.value }
    }

    fn tanh(self) -> Dual {
        let value = self.value.tanh();
        Dual { value, slope: (1.0 - value * value) * self.slope }
    }

    fn sigmoid(self) -> Dual {
        let value = Scalar::sigmoid(self.value);
        Dual { value, slope: value * (1.0 - value) * self.slope }
    }
}
