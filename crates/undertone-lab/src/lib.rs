//! undertone-lab
