"""The waist of the compiler: devices fully decided, and the facts they state."""
