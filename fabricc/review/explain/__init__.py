"""Why a number is what it is: an address, an ASN, a device, a threshold or an output line, traced to the spec."""
