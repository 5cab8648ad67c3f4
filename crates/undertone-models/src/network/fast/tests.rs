//! Every instruction set of this processor gives what the reference gives.
