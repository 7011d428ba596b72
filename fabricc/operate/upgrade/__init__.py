"""Plan another release of an operating system on switches: changes, support, order and the way back."""
