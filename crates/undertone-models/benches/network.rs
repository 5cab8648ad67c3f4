//! Sums of clipped gradients of the convolutional network for MNIST.
fn main() {}
